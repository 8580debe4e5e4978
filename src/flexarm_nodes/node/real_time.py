"""Real time: a scheduling priority from the operating system, and garbage collection only when no message waits."""

from __future__ import annotations

import gc
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TASKS = Path("/proc/self/task")
TIDY_PERIOD = 1.0  # [s] of wall time between two collections of garbage
_behind: set[int] = set()  # threads that compute while the others process samples


class Tidiness:
    """Collects garbage when a node has time for it, instead of at a time that Python chooses.

    Objects that existed before are never examined again: of a node with compiled code these are some hundred thousand
    objects, which a full collection goes through in 0.1 s. Without them one takes less than a millisecond.
    """

    def __init__(self) -> None:
        """Leave it to Python."""
        self._tidied, self._on = 0.0, False

    def begin(self) -> None:
        """Exclude all existing objects from collection, and collect only at :meth:`tidy` from now on."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self._tidied, self._on = time.monotonic(), True

    def tidy(self, period: float = TIDY_PERIOD) -> None:
        """Collect garbage, unless that was done less than ``period`` [s] ago."""
        if self._on and time.monotonic() - self._tidied > period:
            gc.collect()
            self._tidied = time.monotonic()

    def end(self) -> None:
        """Leave it to Python again."""
        if self._on:
            self._on = False
            gc.unfreeze()
            gc.enable()


def ask_for_priority(priority: int) -> str:
    """Set ``SCHED_FIFO`` for the threads of this process, above all ordinary threads, as controller_manager does.

    The threads of the middleware are included: a message that they do not deliver is not processed. Workers are not.

    Args:
        priority: 1 to 99; 0: nothing is requested.

    Returns:
        Why the request was refused; empty string: it was granted.
    """
    if priority == 0:
        return ""
    try:
        for task in TASKS.iterdir():
            if int(task.name) in _behind:
                continue
            os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(priority))
    except ProcessLookupError:  # a thread has ended in the meantime
        return ask_for_priority(priority)
    except OSError as error:
        return f"thread_priority {priority} is refused: {error.strerror}; `ulimit -r` says what this user may have"
    return ""


def background_worker(name: str) -> ThreadPoolExecutor:
    """Return a thread for long computations, which have no priority: they must not keep samples waiting."""
    return ThreadPoolExecutor(1, thread_name_prefix=name, initializer=_step_back)


def _step_back() -> None:
    """Give up the priority that this thread has inherited."""
    _behind.add(threading.get_native_id())
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
