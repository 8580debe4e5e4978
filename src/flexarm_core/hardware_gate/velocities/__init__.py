"""Whether measured velocities are right and in time, and whether they swing more and more."""
