"""`flexarm check`: whether flexarm can run a robot, and a first run of it."""
