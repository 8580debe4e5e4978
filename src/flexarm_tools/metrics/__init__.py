"""What is measured of a recording."""
