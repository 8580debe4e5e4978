"""Paths of the tool and the time laws along them."""
