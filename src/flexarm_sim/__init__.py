"""The simulated plant of flexarm: one Backend interface, sensors and disturbances; no ROS import."""
