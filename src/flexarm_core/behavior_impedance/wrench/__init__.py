"""Measured and commanded wrenches of the tool."""
