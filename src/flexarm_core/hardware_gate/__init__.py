"""The last step before the hardware: limits, rate limits, and a controlled stop when the input is not usable."""
