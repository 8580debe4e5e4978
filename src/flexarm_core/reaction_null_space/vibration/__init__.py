"""Control law that damps base vibrations while the arm moves."""
