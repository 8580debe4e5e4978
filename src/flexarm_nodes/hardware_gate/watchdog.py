"""Watchdog: checks a gate from a separate thread, independent of the executor and of the system clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PERIOD = 0.01  # [s] between two looks
LAST_LOOK = 1.0  # [s] longest wait for the thread to end


class Watchdog:
    """Calls a function every PERIOD.

    Timers of rclpy wait on CLOCK_REALTIME (``pthread_cond_timedwait``), independent of the clock they were made with: a
    step of the system clock delays them by as much. They also wait for the executor, which may hang in a callback.
    ``time.sleep`` waits on CLOCK_MONOTONIC. A thread that holds Python's global lock holds up this one, too.
    """

    def __init__(self, look: Callable[[float], None]) -> None:
        """Call ``look`` with the time by which the call is late [s]; it must not raise."""
        self._look = look
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def begin(self) -> None:
        """Start to look."""
        self.end()
        self._ended = ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ended,), name="watchdog", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop to look. The caller must hold no lock that ``look`` waits for."""
        thread, self._thread = self._thread, None
        self._ended.set()
        if thread is not None:
            thread.join(LAST_LOOK)

    def _run(self, ended: threading.Event) -> None:
        while not ended.is_set():
            due = time.monotonic() + PERIOD
            time.sleep(PERIOD)
            if not ended.is_set():
                self._look(time.monotonic() - due)
