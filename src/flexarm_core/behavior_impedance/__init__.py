"""Many behaviours in one generalised impedance law."""
