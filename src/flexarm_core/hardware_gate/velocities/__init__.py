"""Whether measured velocities are right and in time."""
