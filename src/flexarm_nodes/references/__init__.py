"""Node reference_generator, and the action that follows a path."""
