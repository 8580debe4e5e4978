"""Node joint_trajectory_follower: executes the joint trajectories of a planner."""
