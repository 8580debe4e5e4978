"""Generalized impedance law that combines several behaviors."""
