"""The inertial coupling of the arm with its base, and its null space."""
