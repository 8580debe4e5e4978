"""Node state_markers: what RViz shows."""
