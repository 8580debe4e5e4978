"""The load at the tool that nobody told the model."""
