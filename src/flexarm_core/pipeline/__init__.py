"""Stages of one arm in one process, in the same order as the separate nodes."""
