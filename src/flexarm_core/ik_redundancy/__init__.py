"""Redundancy resolution with a fixed operation count: passes singularities, and returns to the same joint positions."""
