"""What every node has: parameters, time, topics, diagnostics, inputs."""
