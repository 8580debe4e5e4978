"""Paths of the tool and of the joints, and the time laws along them."""
