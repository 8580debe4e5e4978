"""MCAP files: recorded, replayed, read."""
