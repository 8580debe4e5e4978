"""Node simulated_plant."""
