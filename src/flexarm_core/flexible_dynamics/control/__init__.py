"""Joint efforts that cause the accelerations that are wanted, and the check of their gains."""
