"""Stages: kinds of them, their node, their parameters."""
