"""Node control_loop: runs several stages in one process."""
