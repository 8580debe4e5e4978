"""Whether gains are stable at a rate, with the delay of a sample."""
