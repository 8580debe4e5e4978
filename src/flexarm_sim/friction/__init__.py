"""Joint friction of the simulated plant."""
