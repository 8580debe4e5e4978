"""Gazebo: converts a robot description to the model, the world and the start state of Gazebo."""
