"""Sweeps: many runs of one scenario in which values vary, as one table."""
