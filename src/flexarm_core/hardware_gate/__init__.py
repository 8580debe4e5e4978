"""Last stage before the hardware: limits, rate limits, and a controlled stop when the input is unusable."""
