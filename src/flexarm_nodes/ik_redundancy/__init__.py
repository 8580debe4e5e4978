"""Node ik_redundancy_solver."""
