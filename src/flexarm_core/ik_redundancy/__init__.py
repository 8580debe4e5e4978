"""Redundancy resolution at a fixed cost: through singularities, and back to the same joints."""
