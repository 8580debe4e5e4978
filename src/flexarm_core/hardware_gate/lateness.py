"""Lateness: how late the gate's own process was, which must not be taken for a loss of states."""

from __future__ import annotations

from collections import deque

import numpy as np

from flexarm_core.types import ArmState, Array

RECENT = 1.0  # [s] for which lateness is kept, and shows a busy machine
LEAST = 0.002  # [s] shorter waits are usual
AT_REST = 0.02  # fraction of the velocity limit below which a joint counts as at rest


class Lateness:
    """Keeps when the process of the gate was late, and until when a stop lasts that lateness caused.

    The caller of the gate reports how long its threads waited for a processor, see :meth:`note`. States that are
    missing meanwhile need not be lost: they wait to be read. So this time does not count where missing states trip the
    gate. If the process was late by more than effort mode tolerates within the last RECENT, the machine is *busy*: then
    states that are late, or stops in a row, are no reason for a trip either. Such a stop is *suspended*: it ends when
    the arm has been at rest, states have been on time and the machine has not been busy for a while.

    Attributes:
        suspended: whether a stop waits for that.
    """

    def __init__(self, velocity_limit: Array, bearable: float, quiet: float) -> None:
        """Set the limits.

        Args:
            velocity_limit: (n,) velocity limits [rad/s | m/s].
            bearable: lateness that effort mode bears [s].
            quiet: time for which a suspended stop needs a resting arm and a punctual machine [s].
        """
        self._slow, self._bearable, self._quiet = AT_REST * velocity_limit, bearable, quiet
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._late: deque[tuple[float, float]] = deque()  # intervals in which the process was late, in order [s]
        self.suspended = False
        self._quiet_since: float | None = None

    def note(self, now: float, late: float) -> None:
        """Record that the process has been late by ``late`` [s], until ``now`` [s]."""
        if late < LEAST:
            return
        begin = now - late
        while self._late and self._late[-1][1] >= begin:
            begin = min(begin, self._late.pop()[0])
        self._late.append((begin, now))
        while self._late[0][1] < now - RECENT:
            self._late.popleft()

    def within(self, now: float, span: float) -> float:
        """Return for how long the process was late in the ``span`` [s] before ``now`` [s]; at most RECENT is known."""
        return sum(max(min(end, now) - max(begin, now - span), 0.0) for begin, end in self._late)

    def is_busy(self, now: float) -> bool:
        """Return whether the machine is busy."""
        return self.within(now, RECENT) >= self._bearable

    def suspend(self) -> None:
        """Let the present stop last until :meth:`recovers`."""
        self.suspended, self._quiet_since = True, None

    def recovers(self, state: ArmState, now: float, *, on_time: bool) -> bool:
        """Return whether a suspended stop ends with this state, as the arm rests and all has been on time for a while.

        Args:
            state: believed state.
            now: current time [s].
            on_time: whether states and commands are on time.
        """
        rests = bool((np.abs(state.velocity) <= self._slow).all())
        if not (rests and on_time) or self.within(now, self._quiet) >= self._bearable:
            self._quiet_since = None
        elif self._quiet_since is None:
            self._quiet_since = now
        elif now - self._quiet_since >= self._quiet:
            self.suspended = False
        return not self.suspended
