"""What is recorded of a run."""
