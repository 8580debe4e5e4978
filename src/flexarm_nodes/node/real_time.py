"""Requests a real-time scheduling priority from the operating system."""

from __future__ import annotations

import os
from pathlib import Path

TASKS = Path("/proc/self/task")


def ask_for_priority(priority: int) -> str:
    """Set ``SCHED_FIFO`` for every thread of this process, above all ordinary threads, as controller_manager does.

    The threads of the middleware are included: a message that they do not deliver is not processed.

    Args:
        priority: 1 to 99; 0: nothing is requested.

    Returns:
        Why the request was refused; empty string: it was granted.
    """
    if priority == 0:
        return ""
    try:
        for task in TASKS.iterdir():
            os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(priority))
    except ProcessLookupError:  # a thread has ended in the meantime
        return ask_for_priority(priority)
    except OSError as error:
        return f"thread_priority {priority} is refused: {error.strerror}; `ulimit -r` says what this user may have"
    return ""
