"""A scenario as running nodes, from its file to its report."""
