"""Stability of the controller gains at a given sampling rate and delay."""
