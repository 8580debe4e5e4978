"""Exit statuses of `flexarm`; 0 means that every expectation holds."""

EXIT_FAILED = 1  # an expectation does not hold, or something happened that was not expected
EXIT_ERROR = 2  # could not be run
EXIT_INTERRUPTED = 130  # Ctrl-C or SIGTERM; what was there until then is kept
