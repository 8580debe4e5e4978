"""Connections between the nodes of a run, and checks of these connections."""
