"""Node base_wrench_torque_estimator."""
