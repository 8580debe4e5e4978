"""The simulated plant of flexarm: a backend interface, sensors and disturbances; imports no ROS package."""
