"""SpeedWatch: checks whether joints are too fast, and whether a stop slows them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flexarm_core.hardware_gate.belief import CONFIRMED
from flexarm_core.hardware_gate.limits import VELOCITY, JointLimits, fastest
from flexarm_core.hardware_gate.softness import Softness
from flexarm_core.types import ArmState

OVERSPEED = 1.05  # multiple of the velocity limit at which a run is stopped, once it is confirmed
FASTER = 0.1  # fraction of the velocity limit by which a joint may become faster during a stop
FASTER_STATES = 2  # consecutive states in which it is faster
SHARE, REACTION = 1.5, 0.3  # a stop may take this multiple of the shortest stopping time, plus this time [s]
CREEPING = 0.1  # fraction of the velocity limit below which a stop counts as successful


class SpeedWatch:
    """Checks the speed of the joint that is fastest relative to its limit."""

    def __init__(self, limits: JointLimits, names: Sequence[str], soft: Softness | None = None) -> None:
        """Check joints with these limits and names; ``soft``: bounds of the stops of an arm that bends."""
        self._limits, self._names, self._soft = limits, tuple(names), soft
        self._in_a_row = 0
        self.begin_stop()

    def reset(self) -> None:
        """Forget earlier states."""
        self._in_a_row = 0
        self.begin_stop()

    def begin_stop(self) -> None:
        """Treat the next state as the first one of a stop."""
        self._began, self._until = math.nan, math.inf
        self._faster = 0  # consecutive states

    def _fastest(self, state: ArmState) -> tuple[str, float]:
        place, share = fastest(self._limits.table[VELOCITY], state.velocity)
        return self._names[place], share

    def overspeed(self, state: ArmState) -> str:
        """Return why the run must stop: a joint was too fast for CONFIRMED consecutive states; empty string if not."""
        _, share = self._fastest(state)
        self._in_a_row = self._in_a_row + 1 if share > OVERSPEED else 0
        return self.speed(state) if self._in_a_row >= CONFIRMED else ""

    def speed(self, state: ArmState) -> str:
        """Return how fast the joint is that is fastest relative to its velocity limit, in words."""
        name, share = self._fastest(state)
        return f"{name} moves at {share:.2f} times its velocity limit"

    def failing_stop(self, state: ArmState, now: float, *, late: bool) -> str:
        """Return the name of a joint that a stop does not slow, empty string if it slows all.

        Args:
            state: received state.
            now: current time [s].
            late: whether states or commands are late: then a joint may exceed only its initial speed, not OVERSPEED.
        """
        name, share = self._fastest(state)
        if math.isnan(self._began):
            slowest = float((np.abs(state.velocity) / self._limits.acceleration).max())
            if self._soft is not None:
                slowest = self._soft.stopping_time(state.velocity, self._limits.acceleration)
            self._began, self._until = share, now + SHARE * slowest + REACTION
        if share < CREEPING:
            self._until = math.inf
        most = FASTER + (self._began if late else max(self._began, OVERSPEED))
        self._faster = self._faster + 1 if share > most else 0
        if self._faster < FASTER_STATES and not (now > self._until and share > 0.5 * self._began):
            return ""
        self.begin_stop()
        return name
