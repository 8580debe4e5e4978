"""Gazebo: a robot description as the model, the world and the start that Gazebo is given."""
