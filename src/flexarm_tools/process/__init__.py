"""Start, progress display and termination of processes."""
