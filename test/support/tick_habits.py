"""What a tick in real time must not do: compile, or keep memory."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event


class _Compiled(event.Listener):
    def __init__(self) -> None:
        self.kernels: list[str] = []

    def on_start(self, event: event.Event) -> None:
        self.kernels.append(str(event.data["dispatcher"].py_func.__qualname__))

    def on_end(self, event: event.Event) -> None:
        """Nothing."""


@contextmanager
def compiled() -> Iterator[list[str]]:
    """The kernels that are compiled or loaded from the cache meanwhile, by this or another thread."""
    listener = _Compiled()
    with event.install_listener("numba:compile", listener):
        yield listener.kernels


def grown(run: Callable[[], None]) -> int:
    """Blocks of memory that a run adds while no garbage is collected."""
    gc.collect()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        run()
        return sys.getallocatedblocks() - before
    finally:
        gc.enable()
