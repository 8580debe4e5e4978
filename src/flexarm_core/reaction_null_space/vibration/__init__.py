"""The law that damps a swinging base while the arm moves."""
