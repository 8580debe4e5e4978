"""Lets a paused world run, and waits until models are in it: `create` answers success before Gazebo has read a model.

Gazebo keeps requests in order. A world that is paused until its models are there begins with them at time zero, with
controllers, sensors and clock in step.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Sequence

PATIENCE = 15.0  # [s] from the request to put a model in until it is there
PAUSE = 0.5  # [s]
RUN = ["--reqtype", "gz.msgs.WorldControl", "--reptype", "gz.msgs.Boolean", "--timeout", "3000", "--req"]


def models_in(said: str) -> list[str]:
    """Return the names of the models in what `gz model --list` says."""
    return [line.strip()[2:] for line in said.splitlines() if line.strip().startswith("- ")]


def wait_for(models: Sequence[str], patience: float = PATIENCE) -> str:
    """Wait for models; return why one is not there, or nothing."""
    until, last = time.monotonic() + patience, ""
    while True:
        there, last = [], ""
        done = _ask("model", "--list")
        if isinstance(done, str):
            last = done
        else:
            there = models_in(done.stdout)
            last = f"models there: {', '.join(there) or 'none'}" if done.returncode == 0 else done.stderr.strip()
        missing = [model for model in models if model not in there]
        if not missing:
            return ""
        if time.monotonic() > until:
            named = f"model '{missing[0]}' within {patience:g} s"
            return f"Gazebo did not take {named}; its messages above say why; {last}"
        time.sleep(PAUSE)


def let_run(world: str, patience: float = PATIENCE) -> str:
    """Let a world run that was started paused; return why it does not, or nothing."""
    until = time.monotonic() + patience
    while True:
        done = _ask("service", "-s", f"/world/{world}/control", *RUN, "pause: false")
        said = done if isinstance(done, str) else (done.stdout + done.stderr).strip()
        if not isinstance(done, str) and done.returncode == 0 and "data: true" in done.stdout:
            return ""
        if time.monotonic() > until:
            return f"Gazebo's world '{world}' does not run: {said or 'no answer'}"
        time.sleep(PAUSE)


def _ask(*words: str) -> subprocess.CompletedProcess[str] | str:
    try:
        return subprocess.run(["gz", *words], capture_output=True, text=True, timeout=10.0, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`gz {' '.join(words[:2])}`: {error}"


def main(words: Sequence[str]) -> str:
    """``[--run WORLD] MODEL ...``: let the world run, and wait for the models; return what went wrong, or nothing."""
    world, models = (words[1], words[2:]) if words[0] == "--run" else ("", words)
    return (let_run(world) if world else "") or wait_for(models)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]) or 0)
