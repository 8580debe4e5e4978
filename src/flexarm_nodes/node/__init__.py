"""Code that all nodes share: parameters, time, topics, diagnostics, inputs."""
