"""Arrivals: how states reach the gate, and whether its command mode bears that."""

from __future__ import annotations

import math
from collections import deque

OVERTAKEN = 3  # states in a row, each newer than the one before, after which an older time is the right one
BORNE = 2.5  # periods between two states: efforts are judged for two, so one state may be lost
LATE = 3  # states in a row of which the youngest tells how late states are
GAPS = 3.0  # gaps that are too long, each forgotten with a time constant of 1 s, that are borne


class Arrivals:
    """Counts what is late, lost, or of another time.

    Attributes:
        age: smallest age of the newest states when they arrived, 0 where it is not known [s].
    """

    def __init__(self, patience: float, period: float) -> None:
        """Judge arrivals.

        Args:
            patience: time between two states that is borne every time, as two periods and a half are [s].
            period: between two states [s].
        """
        self._longest = max(patience, BORNE * period)
        self.reset()

    def reset(self) -> None:
        """Forget what came."""
        self._ages: deque[float] = deque(maxlen=LATE)
        self._gaps = 0.0
        self.age = 0.0
        self._overtaken, self._newest_overtaken = 0, -math.inf

    def is_step_back(self, stamp: int, back: float, since: float, bound: float) -> bool:
        """Whether a stamp [ns] that is ``back`` [s] older than the newest one says that the clock was set back.

        One that is older by no more than ``bound`` [s] may have been overtaken on its way; several in a row, each newer
        than the one before, have not where no newer one has come for longer than is borne, ``since`` [s].
        """
        if back > bound:
            return True
        if back > 0.0 and stamp > self._newest_overtaken:
            self._overtaken, self._newest_overtaken = self._overtaken + 1, stamp
        return self._overtaken >= OVERTAKEN and since > self._longest

    def came(self, age: float | None) -> None:
        """A state came that was this old [s]; None: not known."""
        self._ages.append(0.0 if age is None else max(age, 0.0))
        self.age = min(self._ages) if len(self._ages) == LATE else 0.0

    def lost(self, gap: float) -> str:
        """Why a state that comes ``gap`` [s] after the one before is not borne, as too many did; empty where it is."""
        self._overtaken, self._newest_overtaken = 0, -math.inf
        self._gaps += (1.0 if gap > self._longest else 0.0) - min(gap, 1.0) * self._gaps
        if self._gaps > GAPS:
            return f"joint states are lost, the last for {gap:.3f} s; effort mode bears {self._longest:.3f} s"
        return ""
