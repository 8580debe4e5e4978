"""A live ROS graph: its nodes, topics and packages."""
