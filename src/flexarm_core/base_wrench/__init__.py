"""Estimate joint torques and friction with one force/torque sensor under the base (patent 003); close a torque loop."""
