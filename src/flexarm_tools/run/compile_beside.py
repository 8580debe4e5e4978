"""Compile in two processes what a first run needs: the kernels of the stages here, those of the gate in a fork."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator

from flexarm_core import hardware_gate
from flexarm_core.compilation import progress, where_kept
from flexarm_core.pipeline.warm import MANY, is_kept

PATIENCE = 120.0  # [s] for the fork, once everything else is built


@contextlib.contextmanager
def compile_beside(build_gate: Callable[[], object]) -> Iterator[None]:
    """Let a fork of this process build the gate while the block runs, if its kernels are still to be compiled.

    The fork stores its compiled kernels in the cache, where this process finds them; its other results are lost. Where
    it fails, this process compiles for itself.

    Args:
        build_gate: calls the kernels of the gate; not called if nothing is to be compiled.
    """
    fork = _fork(build_gate) if _is_worth_it() else 0
    try:
        yield
    finally:
        if fork:
            _end(fork)


def _end(fork: int) -> None:
    """Wait for the fork; a lock that another thread held when it was forked may keep it for ever."""
    until = time.monotonic() + PATIENCE
    while not os.waitpid(fork, os.WNOHANG)[0]:
        if time.monotonic() > until:
            os.kill(fork, signal.SIGKILL)
            os.waitpid(fork, 0)
            return
        time.sleep(0.02)


def _is_worth_it() -> bool:
    own = [kernel for kernel in progress.kernels if kernel.py_func.__module__.startswith(f"{hardware_gate.__name__}.")]
    if not hasattr(os, "fork") or len(os.sched_getaffinity(0)) < 2 or not where_kept(own):
        return False
    return sum(not is_kept(kernel) for kernel in own) > MANY


def _fork(build_gate: Callable[[], object]) -> int:
    """Return the number of the process that builds the gate."""
    if fork := os.fork():
        return fork
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        build_gate()
    finally:
        os._exit(0)  # nothing of the parent's ends here
