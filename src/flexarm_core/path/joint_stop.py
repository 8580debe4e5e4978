"""JointStop: brings moving joints to rest with a continuous acceleration."""

from __future__ import annotations

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array, JointReference

SHORTEST = 0.05  # shortest duration of a stop [s]


class JointStop:
    """Velocity as a cubic polynomial of time, from the velocity of a reference to rest; all joints stop simultaneously.

    With ``s = t / T``: ``v = v_0 (1 - s)^2 (1 + 2 s) + a_0 T s (1 - s)^2``. ``T`` is chosen so that the part due to
    ``v_0`` respects the acceleration limits.

    Attributes:
        duration: T [s].
    """

    def __init__(self, reference: JointReference, acceleration: Array) -> None:
        """Plan the stop.

        Args:
            reference: reference at the start of the stop, with position, velocity and acceleration.
            acceleration: (n,) acceleration limit of each joint, > 0 [rad/s^2 | m/s^2].

        Raises:
            ConfigError: an acceleration limit is not positive, or the reference is incomplete.
        """
        if reference.position is None or reference.velocity is None or reference.acceleration is None:
            raise ConfigError("a stop begins with position, velocity and acceleration of the reference")
        if not np.all(acceleration > 0.0):
            raise ConfigError(f"the acceleration of a stop must be > 0 for every joint, got {acceleration}")
        self._stamp = reference.stamp
        self._position, self._velocity = reference.position, reference.velocity
        self._acceleration = reference.acceleration
        self.duration = max(1.5 * float((np.abs(self._velocity) / acceleration).max()), SHORTEST)

    def done(self, stamp: int) -> bool:
        """Return whether the joints are at rest at a stamp [ns]."""
        return (stamp - self._stamp) * 1e-9 >= self.duration

    def update(self, stamp: int) -> JointReference:
        """Return the reference at a stamp [ns]: position and its exact first and second derivatives."""
        T = self.duration
        s = min(max((stamp - self._stamp) * 1e-9 / T, 0.0), 1.0)
        v, a = self._velocity, self._acceleration
        return JointReference(
            stamp,
            self._position + v * T * (s - s**3 + 0.5 * s**4) + a * T**2 * (s**2 / 2.0 - 2.0 * s**3 / 3.0 + s**4 / 4.0),
            v * (1.0 - s) ** 2 * (1.0 + 2.0 * s) + a * T * s * (1.0 - s) ** 2,
            v / T * 6.0 * (s**2 - s) + a * (1.0 - 4.0 * s + 3.0 * s**2),
        )
