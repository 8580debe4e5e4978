"""Waits until a model is in Gazebo: `create` of ros_gz_sim answers success before Gazebo has read the model."""

from __future__ import annotations

import subprocess
import sys
import time

PATIENCE = 15.0  # [s] from the request to put a model in until it is there
PAUSE = 0.5  # [s]


def models_in(said: str) -> list[str]:
    """Return the names of the models in what `gz model --list` says."""
    return [line.strip()[2:] for line in said.splitlines() if line.strip().startswith("- ")]


def wait_for(model: str, patience: float = PATIENCE) -> str:
    """Wait for a model; return why it is not there, or nothing."""
    until, last = time.monotonic() + patience, ""
    while True:
        try:
            done = subprocess.run(["gz", "model", "--list"], capture_output=True, text=True, timeout=10.0, check=False)
            there = models_in(done.stdout)
            last = f"models there: {', '.join(there) or 'none'}" if done.returncode == 0 else done.stderr.strip()
        except (OSError, subprocess.TimeoutExpired) as error:
            there, last = [], f"`gz model --list`: {error}"
        if model in there:
            return ""
        if time.monotonic() > until:
            return f"Gazebo did not take model '{model}' within {patience:g} s; its messages above say why; {last}"
        time.sleep(PAUSE)


if __name__ == "__main__":
    sys.exit(wait_for(sys.argv[1]) or 0)
