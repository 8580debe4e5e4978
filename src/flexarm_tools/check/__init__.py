"""`flexarm check`: determine whether flexarm can run a robot, and propose a first run."""
