"""The ROS 2 nodes of flexarm: one thin node a file around objects of flexarm_core and flexarm_sim."""
