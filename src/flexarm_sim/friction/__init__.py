"""Joint friction of the plant."""
