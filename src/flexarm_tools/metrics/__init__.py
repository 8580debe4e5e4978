"""Metrics: numbers computed from a recording."""
