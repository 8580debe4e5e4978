"""Node reference_generator, and the action server that follows a Cartesian path."""
