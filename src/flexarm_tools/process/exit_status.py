"""Exit statuses of `flexarm`; 0 means that every expectation is met."""

EXIT_FAILED = 1  # an expectation is not met, or an unexpected event occurred
EXIT_ERROR = 2  # the command could not be run
EXIT_BUSY = 3  # what could be judged holds, but this machine was too busy for a run in real time
EXIT_INTERRUPTED = 130  # Ctrl-C or SIGTERM; results up to that point are kept
