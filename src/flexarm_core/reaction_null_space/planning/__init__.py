"""Planning of motions between two postures that do not excite the base."""
