"""Flexible bodies from the matrices of finite-element programs."""
