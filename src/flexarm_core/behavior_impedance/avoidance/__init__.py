"""Distances between the arm and obstacles, and what keeps them."""
