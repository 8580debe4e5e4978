"""The order of one tick, written once: stages in one process, as the nodes are in several."""
