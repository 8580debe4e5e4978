"""Reaction null space: motion that does not shake the base, and damping of a base that shakes (MATHS.md section 5)."""
