"""Simulation of the plant in MuJoCo."""
