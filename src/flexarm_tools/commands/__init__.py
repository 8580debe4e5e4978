"""The commands of `flexarm`: a module each, with its help, its arguments, and `run(options)`, its exit status."""
