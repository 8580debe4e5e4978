"""Motions that do not excite the base, and the postures in which they exist."""
