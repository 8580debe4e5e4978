"""The built-in behaviors, one class per file."""
