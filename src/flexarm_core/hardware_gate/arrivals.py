"""Arrivals: checks whether states arrive on time, in order, and often enough for effort mode."""

from __future__ import annotations

import math
from collections import deque

OVERTAKEN = 2  # consecutive older states, each newer than the one before, after which the clock was set back
BORNE = 2.5  # allowed gap in periods: efforts are computed for two periods, so one state may be lost
LATE = 3  # consecutive states of which the median age is the delay of the states
GAPS = 3.0  # number of long gaps that are allowed, forgotten with a time constant of 1 s


class Arrivals:
    """Count states that are late, lost, or out of order.

    Attributes:
        age: median age on arrival of the newest LATE states, 0 if unknown [s].
    """

    def __init__(self, patience: float, period: float) -> None:
        """Set the longest allowed gap: ``patience``, or BORNE periods if that is longer.

        Args:
            patience: time between two states that is always allowed [s].
            period: nominal time between two states [s].
        """
        self.longest = max(patience, BORNE * period)
        self.reset()

    def reset(self) -> None:
        """Forget all arrivals."""
        self._ages: deque[float] = deque(maxlen=LATE)
        self._gaps = 0.0
        self.age = 0.0
        self._overtaken, self._newest_overtaken = 0, -math.inf

    def is_step_back(self, stamp: int, back: float, since: float, bound: float) -> bool:
        """Return whether a stamp [ns] that is ``back`` [s] older than the newest one shows that the clock was set back.

        A state older by at most ``bound`` [s] may only be out of order. OVERTAKEN such states, each newer than the one
        before, show a clock step if no newer state has arrived for longer than half of the allowed gap (``since`` [s]):
        before states count as lost.
        """
        if back > bound:
            return True
        if back > 0.0 and stamp > self._newest_overtaken:
            self._overtaken, self._newest_overtaken = self._overtaken + 1, stamp
        return self._overtaken >= OVERTAKEN and since > 0.5 * self.longest

    def came(self, age: float | None) -> None:
        """Record the age [s] of a state on arrival; None: unknown."""
        self._ages.append(0.0 if age is None else max(age, 0.0))
        self.age = sorted(self._ages)[LATE // 2] if len(self._ages) == LATE else 0.0

    def lost(self, gap: float) -> str:
        """Record a state ``gap`` [s] after the previous one; return why too many were lost, empty string if not."""
        self._overtaken, self._newest_overtaken = 0, -math.inf
        self._gaps += (1.0 if gap > self.longest else 0.0) - min(gap, 1.0) * self._gaps
        if self._gaps > GAPS:
            return f"joint states are lost, the last for {gap:.3f} s; effort mode bears {self.longest:.3f} s"
        return ""
