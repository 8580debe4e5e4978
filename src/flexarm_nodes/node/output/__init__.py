"""Output of stages: publishers and their subscribers."""
