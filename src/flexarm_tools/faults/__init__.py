"""Fault campaign: random faults at random times on random arms, to find violations of the safety requirements."""
