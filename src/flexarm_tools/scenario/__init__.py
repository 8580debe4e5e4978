"""Scenario and study files."""
