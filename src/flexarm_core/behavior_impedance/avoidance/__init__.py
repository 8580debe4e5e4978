"""Distances between the arm and obstacles, and avoidance of the obstacles."""
