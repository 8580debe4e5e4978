"""Conversions between messages and core records."""
