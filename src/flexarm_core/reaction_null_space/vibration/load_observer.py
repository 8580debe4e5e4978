"""LoadObserver: estimates the accelerations that an unknown constant load takes from commanded coordinates.

With the expected acceleration ``r''`` of the coordinates x, that is, the commanded acceleration minus ``d``,

    d = w^2 (r - x) + 2 w (r' - xd),      d -> acceleration deficit, second-order convergence with bandwidth w

A load that changes with the posture is estimated with a delay of ``2 / w``. If the load grows with the displacement and
in the same direction, with a stiffness k [1/s^2], joints with damping g [1/s] hold still only if ``w > 2 k / g``. The
estimate is added to the command again; this loop is faster than 2 w and therefore tolerates little delay.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import expect, finite, number, numbers
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.types import Array

LATE = 0.3  # [rad] largest phase lag, ``w`` times the loop delay; it leaves a phase margin of 40 degrees


def fastest(sampling: Sampling) -> float:
    """Return the largest bandwidth w [rad/s] that a loop with this period and delay allows."""
    expect("sampling", sampling, Sampling)
    return LATE / (sampling.delay + 1.5 * sampling.period)


class LoadObserver:
    """Estimate of the load on some coordinates.

    Attributes:
        lacking: (k,) estimated acceleration deficits d.
    """

    def __init__(self, count: int) -> None:
        """Start with ``count`` k coordinates."""
        self.lacking = np.zeros(int(number("count", count, 1.0, 1e4)))
        self._position: Array | None = None
        self._velocity = self.lacking

    def forget(self) -> None:
        """Start again with the next sample."""
        self._position, self.lacking = None, np.zeros(len(self.lacking))

    def find(self, position: Array, velocity: Array, bandwidth: float, most: Array) -> Array:
        """Return the load (k,) estimated from the measured motion, limited to ``most`` (k,); bandwidth w [rad/s]."""
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
        """Add ``change`` (k,) to the estimate and limit it to ``most`` (k,)."""
        k = len(self.lacking)
        change, most = finite("change", change, k), numbers("most", most, k)
        self.lacking = np.clip(self.lacking + change, -most, most)
        return self.lacking

    def advance(self, going: Array, dt: float) -> None:
        """Integrate the expected accelerations (k,) of the coordinates over a time ``dt`` [s]."""
        going, dt = finite("going", going, len(self.lacking)), number("dt", dt)
        if self._position is not None:
            self._position = self._position + (self._velocity + 0.5 * going * dt) * dt
            self._velocity = self._velocity + going * dt
