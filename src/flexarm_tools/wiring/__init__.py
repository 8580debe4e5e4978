"""Which node is connected to which, and whether that can work."""
