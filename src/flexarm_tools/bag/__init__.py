"""Recording, replaying and reading MCAP files."""
