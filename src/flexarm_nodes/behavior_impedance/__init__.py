"""Node behavior_impedance_controller."""
