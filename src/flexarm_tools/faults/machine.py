"""Machine: whether the machine itself was late, so that a case in real time says nothing of what is under test."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path

MOST = 0.02  # [s] by which anything may be late once: effort mode bears states and commands of that age
OFTEN = 3  # times in a second that anything may be late by more than BORNE periods: the gate bears as many lost states
BORNE = 1.5


class Machine:
    """Looks at what waits for a processor: the loop of the campaign, and every thread of these processes.

    A thread of the middleware that does not run keeps messages from a node whose own thread does. How long a thread
    waited for a processor says Linux (``schedstat``); elsewhere only the loop is looked at.

    Attributes:
        longest: that something was late so far [s].
    """

    def __init__(self, processes: Iterable[int], period: float) -> None:
        """Look at processes by their numbers; ``period``: of states [s]."""
        self._often = BORNE * period
        self._times: deque[float] = deque([-1.0] * (OFTEN + 1), maxlen=OFTEN + 1)  # at which something was late
        self._too_often = False
        self.longest = 0.0
        self._files: list[int] = []
        for process in processes:
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{process}/task").iterdir():
                    self._files.append(os.open(task / "schedstat", os.O_RDONLY))
        self._waited = [self._read(file) for file in self._files]

    def close(self) -> None:
        """Look no more."""
        for file in self._files:
            os.close(file)
        self._files = []

    @property
    def late(self) -> bool:
        """Whether it was late."""
        return self._too_often or self.longest > MOST

    def look(self, now: float, loop: float) -> None:
        """Look at a time [s], the loop being late by ``loop`` [s]."""
        waited = [self._read(file) for file in self._files]
        by = max((after - before for before, after in zip(self._waited, waited, strict=True)), default=0.0)
        self._waited = waited
        by = max(by, loop)
        self.longest = max(self.longest, by)
        if by > self._often:
            self._times.append(now)
            self._too_often |= self._times[0] >= 0.0 and now - self._times[0] < 1.0

    @staticmethod
    def _read(file: int) -> float:
        """How long a thread has waited so far [s]; nothing is known of one that has ended."""
        try:
            return int(os.pread(file, 80, 0).split()[1]) * 1e-9
        except OSError:
            return 0.0
