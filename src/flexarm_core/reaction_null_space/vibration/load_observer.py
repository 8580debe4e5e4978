"""LoadObserver: accelerations that an unknown constant load takes away from coordinates that are told how to move.

With ``r'' = `` what the coordinates x are believed to do, which is what they were told less ``d``,

    d = w^2 (r - x) + 2 w (r' - xd),      d -> what the load takes away, of second order with the bandwidth w

A load that changes with the posture is found late, by ``2 / w``. Where it pulls the arm further the farther it is gone,
with a stiffness k [1/s^2], joints that are damped by g [1/s] hold still only if ``w > 2 k / g``. What is found is told
to the coordinates again: a loop that is faster than 2 w, and so bears little delay.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import expect, finite, number, numbers
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.types import Array

LATE = 0.3  # [rad] of phase, ``w`` times by what the loop is late: a margin of 40 degrees is left


def fastest(sampling: Sampling) -> float:
    """Largest bandwidth w [rad/s] that a loop with such a period and delay bears."""
    expect("sampling", sampling, Sampling)
    return LATE / (sampling.delay + 1.5 * sampling.period)


class LoadObserver:
    """The load on some coordinates.

    Attributes:
        lacking: (k,) accelerations d.
    """

    def __init__(self, count: int) -> None:
        """Begin with ``count`` k coordinates."""
        self.lacking = np.zeros(int(number("count", count, 1.0, 1e4)))
        self._position: Array | None = None
        self._velocity = self.lacking

    def forget(self) -> None:
        """Begin anew with the next sample."""
        self._position, self.lacking = None, np.zeros(len(self.lacking))

    def find(self, position: Array, velocity: Array, bandwidth: float, most: Array) -> Array:
        """The load by what the coordinates did, (k,), at most ``most`` (k,); ``bandwidth`` w [rad/s]."""
        k = len(self.lacking)
        position, velocity = finite("position", position, k), finite("velocity", velocity, k)
        most, w = numbers("most", most, k), number("bandwidth", bandwidth, 1e-6)
        if self._position is None:
            self._position, self._velocity = position.copy(), velocity.copy()
        found = w * w * (self._position - position) + 2.0 * w * (self._velocity - velocity)
        over = np.abs(found) > most
        if over.any():
            found = np.clip(found, -most, most)
            self._position = np.where(over, position + found / (w * w), self._position)
            self._velocity = np.where(over, velocity, self._velocity)
        self.lacking = found
        return found

    def integrate(self, change: Array, most: Array) -> Array:
        """Change what was found by ``change`` (k,), to at most ``most`` (k,)."""
        k = len(self.lacking)
        change, most = finite("change", change, k), numbers("most", most, k)
        self.lacking = np.clip(self.lacking + change, -most, most)
        return self.lacking

    def advance(self, going: Array, dt: float) -> None:
        """Take the accelerations (k,) that the coordinates are believed to have for a time [s]."""
        going, dt = finite("going", going, len(self.lacking)), number("dt", dt)
        if self._position is not None:
            self._position = self._position + (self._velocity + 0.5 * going * dt) * dt
            self._velocity = self._velocity + going * dt
