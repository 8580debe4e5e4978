"""MotionFilter: joint velocities and accelerations from encoder readings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.entrance import finite
from flexarm_core.types import Array

LONGEST_GAP = 0.1  # [s] between two samples over which a difference still means something


class MotionFilter:
    """Velocity of the joints and its derivative, both low-passed.

    Velocity: differences of the positions through a first-order low-pass of bandwidth ``w_v``. The differences of an
    encoder are right on average however slowly a joint creeps, where a velocity that is rounded to its resolution is
    zero. Acceleration: ``a = s v / (1 + s / w_a)^2``, exact at any sample time for a velocity that grows evenly.
    """

    def __init__(self, continuous: Sequence[bool], velocity_bandwidth: float, acceleration_bandwidth: float) -> None:
        """Set the bandwidths.

        Args:
            continuous: (n) whether a joint turns without end: its position may jump by a turn.
            velocity_bandwidth: w_v [rad/s]; 0: the measured velocity is taken as it is.
            acceleration_bandwidth: w_a [rad/s]; 0: no acceleration.
        """
        self._turning = np.array(continuous, dtype=bool)
        self._velocity_bandwidth, self._acceleration_bandwidth = velocity_bandwidth, acceleration_bandwidth
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples."""
        self._stamp: int | None = None

    def update(self, stamp: int, position: Array, velocity: Array) -> tuple[Array, Array]:
        """Velocity (n,) [rad/s | m/s] and acceleration (n,) [rad/s^2 | m/s^2] at one sample.

        Args:
            stamp: of the sample [ns]; after a gap of more than 0.1 s or a step back the filter begins anew.
            position: (n,) measured [rad | m].
            velocity: (n,) measured [rad/s | m/s].
        """
        n = len(self._turning)
        position, velocity = finite("position", position, n), finite("velocity", velocity, n)
        dt = -1.0 if self._stamp is None else (stamp - self._stamp) * 1e-9
        self._stamp = stamp
        if not 0.0 < dt <= LONGEST_GAP:
            self._position, self._velocity = position.copy(), velocity.copy()
            self._slow, self._acceleration = velocity.copy(), np.zeros(len(position))
            return self._velocity.copy(), self._acceleration.copy()
        if self._velocity_bandwidth == 0.0:
            self._velocity = velocity.copy()
        _filter(
            dt, self._velocity_bandwidth, self._acceleration_bandwidth, self._turning, position, self._position,
            self._velocity, self._slow, self._acceleration,
        )  # fmt: skip
        return self._velocity.copy(), self._acceleration.copy()


@kernel
def _filter(
    dt: float, velocity_bandwidth: float, acceleration_bandwidth: float, turning: NDArray[np.bool_], position: Array,
    before: Array, velocity: Array, slow: Array, acceleration: Array,
) -> None:  # fmt: skip
    """One sample: velocity, slower velocity and acceleration (n,) in place; ``before`` is replaced by the position."""
    fast, share = 1.0 - math.exp(-velocity_bandwidth * dt), 1.0 - math.exp(-acceleration_bandwidth * dt)
    for i in range(position.shape[0]):
        if velocity_bandwidth > 0.0:
            moved = position[i] - before[i]
            if turning[i]:
                moved -= 2.0 * math.pi * np.round(moved / (2.0 * math.pi))
            velocity[i] += fast * (moved / dt - velocity[i])
        before[i] = position[i]
        if acceleration_bandwidth > 0.0:
            grown = share * (velocity[i] - slow[i])
            slow[i] += grown
            acceleration[i] += share * (grown / dt - acceleration[i])
