"""The ROS 2 nodes of flexarm: each file holds one thin node that wraps objects of flexarm_core and flexarm_sim."""
