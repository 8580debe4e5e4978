"""Access to a running ROS graph: its nodes, topics and packages."""
