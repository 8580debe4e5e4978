"""Node hardware_gate."""
