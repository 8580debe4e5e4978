"""Motion of the base from odometry."""
