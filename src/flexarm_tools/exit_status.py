"""Exit statuses of `flexarm`; 0 means that every expectation holds."""

EXIT_FAILED = 1  # an expectation does not hold, or a node died
EXIT_ERROR = 2  # could not be run
EXIT_INTERRUPTED = 130
