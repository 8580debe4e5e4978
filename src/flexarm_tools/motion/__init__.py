"""Implementation of `flexarm plan`, `flexarm map` and `flexarm calibrate`."""
