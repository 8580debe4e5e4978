"""The behaviours of the suite, one class a file."""
