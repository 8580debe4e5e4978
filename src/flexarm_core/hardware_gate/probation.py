"""Probation: after a sensor was found to lie, each joint must move as commanded before it is trusted again."""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import ANY, number, numbers
from flexarm_core.types import Array

FORGOTTEN = 0.3  # [s] time constant with which differences are forgotten
MISSED = 0.15  # fraction of the velocity limit by which a joint may differ from what was asked of it
EXERCISED = 0.5  # fraction of the velocity limit: changes of the velocity, in sum, after which a joint is trusted


class Probation:
    """Compare the acceleration that the command asks for with the one seen, ``sum (a_asked - a_0 - a_seen) dt``.

    ``a_0`` is the acceleration that the command requested when the arm was first held at rest: payload and errors of
    the model. This detects a sensor that counts backward, is stuck or belongs to another joint before the joint is
    fast.
    """

    def __init__(self, velocity_limit: Array) -> None:
        """Judge joints with these velocity limits (n,) [rad/s | m/s]."""
        self._limit = numbers("velocity_limit", velocity_limit, ANY)
        self.end()

    def begin(self) -> None:
        """Trust no joint."""
        n = self._limit.size
        self.active = True
        self._at_rest: Array | None = None
        self._missed, self._exercised = np.zeros((2, n))

    def end(self) -> None:
        """Trust all joints."""
        self.begin()
        self.active = False

    def on_motion(self, asked: Array, change: Array, dt: float) -> int:
        """Return the first joint that does not move as commanded, or -1.

        Args:
            asked: (n,) acceleration that the command asks for [rad/s^2 | m/s^2].
            change: (n,) change of the measured velocity [rad/s | m/s].
            dt: time between the two states [s].
        """
        n = self._limit.size
        asked, change, dt = numbers("asked", asked, n), numbers("change", change, n), number("dt", dt)
        if self._at_rest is None:
            self._at_rest = asked.copy()
        wanted = (asked - self._at_rest) * dt
        self._missed += wanted - change - min(dt / FORGOTTEN, 1.0) * self._missed
        self._exercised += np.abs(wanted)
        trusted = self._exercised >= EXERCISED * self._limit
        missed = ~trusted & (np.abs(self._missed) > MISSED * self._limit)
        self.active = not trusted.all()
        return int(np.argmax(missed)) if missed.any() else -1
