"""Joint torques and friction seen by one force/torque sensor under the base (patent 003), and a torque loop on them."""
