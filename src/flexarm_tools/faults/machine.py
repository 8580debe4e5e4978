"""Machine: detects whether the machine itself was late, so that a real-time case says nothing about the gate."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from flexarm_nodes.hardware_gate.processor import ProcessorWaits

MOST = 0.02  # [s] largest single delay: effort mode tolerates states and commands of that age
OFTEN = 3  # delays of more than BORNE periods per second: the gate tolerates as many lost states
BORNE = 1.5


class Machine:
    """Monitors waiting times for a CPU core: of the campaign's loop, and of every thread of these processes.

    A middleware thread that does not run holds back messages from a node even if the node's own thread runs. Linux
    reports how long a thread waited for a core (``schedstat``); on other systems only the loop is monitored.

    Attributes:
        longest: longest delay so far [s].
    """

    def __init__(self, processes: Iterable[int], period: float) -> None:
        """Monitor processes by their IDs; ``period`` is the period of joint states [s]."""
        self._often = BORNE * period
        self._times: deque[float] = deque([-1.0] * (OFTEN + 1), maxlen=OFTEN + 1)  # times of the latest delays
        self._too_often = False
        self.longest = 0.0
        self._waits = ProcessorWaits(processes)

    def close(self) -> None:
        """End the monitoring."""
        self._waits.close()

    @property
    def late(self) -> bool:
        """Whether the machine was late."""
        return self._too_often or self.longest > MOST

    def look(self, now: float, loop: float) -> None:
        """Update at a time [s] at which the loop is late by ``loop`` [s]."""
        by = max(self._waits.look(), loop)
        self.longest = max(self.longest, by)
        if by > self._often:
            self._times.append(now)
            self._too_often |= self._times[0] >= 0.0 and now - self._times[0] < 1.0
