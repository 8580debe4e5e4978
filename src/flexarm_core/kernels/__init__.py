"""Compiled functions that several concerns use: rotations, and Cholesky factors of small matrices."""
