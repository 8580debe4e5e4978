"""Input of stages: joint states, readings and references, and which of them belong together."""
