"""Nodes flexible_dynamics_controller and flexible_dynamics_estimator."""
