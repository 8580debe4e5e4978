"""Motions that do not shake the base, and the postures in which they exist."""
