"""Output of stages: what is published, and to whom."""
