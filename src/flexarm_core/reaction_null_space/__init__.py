"""Reaction null space: arm motion that does not excite the elastic base, and vibration damping."""
