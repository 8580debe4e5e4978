"""Numerical core of flexarm: uses NumPy, SciPy and Pinocchio, and does not import ROS."""
