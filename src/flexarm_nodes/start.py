"""Entry points of the executables: one function for each node, named as its executable; those of added stages too.

Importing a node takes a second or more. Nothing moves yet in that time: an interrupt ends the process at once, without
a traceback.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from types import FrameType
from typing import NoReturn

from flexarm_nodes.registry import GROUP, NODES, node_maker


def __getattr__(name: str) -> Callable[[], NoReturn]:
    """Return the entry point of an executable."""
    if name not in NODES and not entry_points(group=GROUP, name=name):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return partial(_start, name)


def _start(name: str) -> NoReturn:
    """Import a node and run it; from then on it handles signals itself, and leaves the arm safe."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    # Matrices of an arm are too small to be shared between threads, and a thread of BLAS that waits for its next share
    # keeps a core busy. Read at NumPy's import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from flexarm_nodes.node.arm_node import run

    run(node_maker(name))


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)  # an exception could be caught by what is being imported
