"""Execution of a scenario as running nodes, from its file to the report."""
