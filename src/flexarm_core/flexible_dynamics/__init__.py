"""Articulated-body dynamics over bodies with deformation modes (MATHS: docs/flexible_dynamics.md)."""
