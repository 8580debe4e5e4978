"""Node control_loop: several stages in one process."""
