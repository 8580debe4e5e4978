"""Inertial coupling between the arm and its base, and the null space of this coupling."""
