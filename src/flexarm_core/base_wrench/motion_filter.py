"""MotionFilter: joint velocities and accelerations from encoder readings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from flexarm_core.compiled import allocate, kernel, pack, views
from flexarm_core.entrance import finite
from flexarm_core.kernels.shortest_way import shortest_way
from flexarm_core.types import Array

LONGEST_GAP = 0.1  # longest time between two samples over which positions are differentiated [s]


class MotionFilter:
    """Low-passed joint velocities and accelerations.

    Velocity: position differences, filtered by a first-order low-pass of bandwidth ``w_v``. Differences of encoder
    positions have the correct mean even at very low velocity, where a velocity rounded to its resolution is zero.
    Acceleration: ``a = s v / (1 + s / w_a)^2``, which converges to the exact value for constant acceleration at any
    sampling period.
    """

    def __init__(self, endless: Sequence[bool], velocity_bandwidth: float, acceleration_bandwidth: float) -> None:
        """Set the bandwidths.

        Args:
            endless: (n) whether a joint is endless, so that its position may jump by a full turn.
            velocity_bandwidth: w_v [rad/s]; 0: measured velocities are used without filter.
            acceleration_bandwidth: w_a [rad/s]; 0: accelerations are zero.
        """
        self._settings = pack(FilterSettings(velocity_bandwidth, acceleration_bandwidth))
        self._turning = np.array(endless, dtype=bool)
        self._memory, self._state = allocate(view_filter, len(self._turning))
        self.reset()

    def reset(self) -> None:
        """Discard earlier samples."""
        self._stamp: int | None = None

    def update(self, stamp: int, position: Array, velocity: Array) -> tuple[Array, Array]:
        """Process one sample; return velocity (n,) [rad/s | m/s] and acceleration (n,) [rad/s^2 | m/s^2].

        Args:
            stamp: stamp of the sample; the filter restarts after a gap of more than 0.1 s or if the stamp is not newer
                than the previous one [ns].
            position: (n,) measured joint positions [rad | m].
            velocity: (n,) measured joint velocities [rad/s | m/s].
        """
        n = len(self._turning)
        position, velocity = finite("position", position, n), finite("velocity", velocity, n)
        dt = -1.0 if self._stamp is None else (stamp - self._stamp) * 1e-9
        self._stamp = stamp
        update_filter(self._settings, self._turning, self._memory, position, velocity, dt)
        return self._state.velocity.copy(), self._state.acceleration.copy()


class FilterSettings(NamedTuple):
    """Bandwidths [rad/s]; see :class:`MotionFilter`."""

    velocity_bandwidth: float
    acceleration_bandwidth: float


class FilterState(NamedTuple):
    """What lasts from sample to sample."""

    before: Annotated[Array, "n"]  # last position
    velocity: Annotated[Array, "n"]  # filtered velocity
    slow: Annotated[Array, "n"]  # low-passed velocity
    acceleration: Annotated[Array, "n"]  # filtered acceleration


view_settings, view_filter = views(FilterSettings), views(FilterState, "n")


@kernel
def update_filter(settings: Array, turning: Any, memory: Array, position: Array, measured: Array, dt: float) -> None:
    """Do :func:`filter_motion` with :class:`FilterSettings` and :class:`FilterState` in flat arrays."""
    filter_motion(view_settings(settings), turning, view_filter(memory, len(turning)), position, measured, dt)


@kernel
def filter_motion(
    settings: FilterSettings, turning: Any, state: FilterState, position: Array, measured: Array, dt: float
) -> None:
    """Update the filtered motion by a sample, ``dt`` [s] after the last one.

    ``turning`` (n,): true for endless joints; ``measured`` (n,): measured velocities. The filter restarts unless 0 <
    ``dt`` <= LONGEST_GAP.
    """
    velocity_bandwidth, acceleration_bandwidth = settings
    before, velocity, slow, acceleration = state
    if not 0.0 < dt <= LONGEST_GAP:
        for i in range(position.shape[0]):
            before[i], velocity[i], slow[i], acceleration[i] = position[i], measured[i], measured[i], 0.0
        return
    fast, share = 1.0 - math.exp(-velocity_bandwidth * dt), 1.0 - math.exp(-acceleration_bandwidth * dt)
    for i in range(position.shape[0]):
        if velocity_bandwidth > 0.0:
            moved = shortest_way(position[i] - before[i], turning[i])
            velocity[i] += fast * (moved / dt - velocity[i])
        else:
            velocity[i] = measured[i]
        before[i] = position[i]
        if acceleration_bandwidth > 0.0:
            grown = share * (velocity[i] - slow[i])
            slow[i] += grown
            acceleration[i] += share * (grown / dt - acceleration[i])
