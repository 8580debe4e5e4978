"""The mathematics of flexarm: numpy, scipy and Pinocchio, no ROS import."""
