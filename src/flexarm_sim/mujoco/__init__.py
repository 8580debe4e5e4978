"""The plant in MuJoCo."""
