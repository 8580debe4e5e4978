"""The share of a processor that a node asks the operating system for."""

from __future__ import annotations

import os
from pathlib import Path

TASKS = Path("/proc/self/task")


def ask_for_priority(priority: int) -> str:
    """Let every thread of this process go before all ordinary ones: ``SCHED_FIFO``, as controller_manager does.

    The threads of the middleware count too: a message that they do not hand over is not answered.

    Args:
        priority: 1 to 99; 0: nothing is asked for.

    Returns:
        Why it was refused; empty: it was not.
    """
    if priority == 0:
        return ""
    try:
        for task in TASKS.iterdir():
            os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(priority))
    except ProcessLookupError:  # a thread that has ended meanwhile
        return ask_for_priority(priority)
    except OSError as error:
        return f"thread_priority {priority} is refused: {error.strerror}; `ulimit -r` says what this user may have"
    return ""
