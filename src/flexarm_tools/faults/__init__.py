"""The campaign of faults: what never may happen, tried on random arms, at random moments, with random sizes."""
