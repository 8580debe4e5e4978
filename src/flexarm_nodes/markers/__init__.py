"""Node state_markers: markers of the arm for RViz."""
