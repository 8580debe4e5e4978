"""The load at the tool that the model does not contain."""
