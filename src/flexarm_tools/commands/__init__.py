"""Subcommands of `flexarm`: each module defines the help text, the arguments and `run(options)`, the exit status."""
