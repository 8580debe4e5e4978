"""Estimate joint torques and friction with one force/torque sensor under the base; close a torque loop."""
