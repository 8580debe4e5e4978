"""The estimator of modes and base deflection, and its measurements."""
