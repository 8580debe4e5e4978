"""Processes: how they start, report progress and end."""
