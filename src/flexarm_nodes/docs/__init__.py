"""Writes docs/messages.md and docs/parameters.md."""
