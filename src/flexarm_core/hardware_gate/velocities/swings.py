"""Swings: notices a joint that efforts drive to and fro, more and more."""

from __future__ import annotations

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.entrance import finite
from flexarm_core.hardware_gate.limits import VELOCITY, JointLimits
from flexarm_core.types import ArmState, Array

ESCAPES, LARGE = 0.02, 0.1  # fractions of the velocity limits: excess of a swing, and of the last one
GROWS, TIMES = 1.5, 2  # factor by which a swing exceeds the one before, and swings in a row that do
LASTS = 0.3  # [s] longest time between two swings
PEAK, BEFORE, GREW, COUNTED, AGE = range(5)  # rows of the memory


class Swings:
    """Looks at the speeds of each joint beyond what its acceleration limit allows.

    A swing is a time in which this excess has one sign. Efforts that act late, or too strongly, brake a joint that
    escapes until it escapes the other way, each time farther. So if each of TIMES swings in a row, within LASTS of the
    one before, exceeds it by GROWS, the efforts throw the joint, whatever the model and the load.
    """

    def __init__(self, limits: JointLimits) -> None:
        """Watch joints with these limits."""
        self._table, n = limits.table, limits.table.shape[1]
        self._memory = np.zeros((AGE + 1, n))
        _swing(self._memory, self._table, np.zeros(n), 0.001, TIMES)  # compiles or loads
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self._memory[:], self._stamp, self._times = 0.0, 0, TIMES

    def find(self, state: ArmState, excess: Array) -> int | None:
        """Return the joint whose swings grow; None: none does.

        Args:
            state: the state.
            excess: (n,) speeds beyond what the acceleration limits allow [rad/s | m/s].
        """
        excess = finite("excess", excess, self._table.shape[1])
        dt, self._stamp = (state.stamp - self._stamp) * 1e-9, state.stamp
        if not 0.0 < dt <= LASTS:
            self._memory[:] = 0.0
            return None
        joint = _swing(self._memory, self._table, excess, dt, self._times)
        if joint < 0:
            return None
        self._times = 1
        return joint


@kernel
def _swing(memory: Array, table: Array, excess: Array, dt: float, times: int) -> int:
    """Add a sample of excess (n,); return a joint whose swings grow, or -1."""
    found = -1
    for j in range(excess.shape[0]):
        part = excess[j] / table[VELOCITY, j]
        memory[AGE, j] += dt
        if not abs(part) > ESCAPES:
            continue
        if memory[AGE, j] > LASTS:
            memory[PEAK, j] = memory[BEFORE, j] = memory[GREW, j] = memory[COUNTED, j] = 0.0
        memory[AGE, j] = 0.0
        if part * memory[PEAK, j] < 0.0:
            memory[BEFORE, j], memory[PEAK, j] = abs(memory[PEAK, j]), 0.0
            memory[GREW, j] *= memory[COUNTED, j]
            memory[COUNTED, j] = 0.0
        if abs(part) > abs(memory[PEAK, j]):
            memory[PEAK, j] = part
        grows = 0.0 < GROWS * memory[BEFORE, j] < abs(memory[PEAK, j])
        if grows and memory[COUNTED, j] == 0.0:
            memory[COUNTED, j] = 1.0
            memory[GREW, j] += 1.0
        if memory[COUNTED, j] > 0.0 and memory[GREW, j] >= times and abs(part) > LARGE:
            found = j
    return found
