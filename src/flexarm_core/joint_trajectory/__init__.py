"""Following of joint trajectories that a planner sends: rules, interpolation, tolerances, preemption, stops."""
