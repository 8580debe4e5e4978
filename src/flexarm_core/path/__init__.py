"""Tool paths, joint paths, and time laws along them."""
