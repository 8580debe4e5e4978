"""Motions between two postures that leave the base quiet."""
