"""Reaction null space: arm motion that does not excite the elastic base; vibration damping (Nenchev et al. 1999)."""
