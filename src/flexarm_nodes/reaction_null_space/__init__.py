"""Nodes rns_vibration_controller and reactionless_path_controller."""
