"""Recording of a run: data, recorder and conversion of messages."""
