"""Compile in two processes what a first run needs: the gate's kernels here, those of the stages in a fork."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from flexarm_core import hardware_gate
from flexarm_core.compilation import progress, where_kept
from flexarm_core.pipeline.warm import MANY, is_kept


@contextlib.contextmanager
def compile_beside(rehearse: Callable[[], None]) -> Iterator[None]:
    """Let a fork of this process rehearse while the block runs, if the gate's kernels are still to be compiled.

    What the fork compiles is kept in the cache, where this process finds it; all else that it does stays its own. No
    other kernel waits for it: where it fails, this process compiles for itself.

    Args:
        rehearse: calls kernels that the block does not call; not called if nothing is to be compiled.
    """
    fork = _fork(rehearse) if _is_worth_it() else 0
    try:
        yield
    finally:
        if fork:
            os.waitpid(fork, 0)


def _is_worth_it() -> bool:
    own = [kernel for kernel in progress.kernels if kernel.py_func.__module__.startswith(f"{hardware_gate.__name__}.")]
    if not hasattr(os, "fork") or len(os.sched_getaffinity(0)) < 2 or not where_kept(own):
        return False
    return sum(not is_kept(kernel) for kernel in own) > MANY


def _fork(rehearse: Callable[[], None]) -> int:
    """Return the number of the process that rehearses."""
    if fork := os.fork():
        return fork
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        rehearse()
    finally:
        os._exit(0)  # nothing of the parent's ends here
