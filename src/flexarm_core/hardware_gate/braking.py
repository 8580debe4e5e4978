"""Braking: decelerates every joint at its limit during a stop, and then holds it."""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import number, numbers
from flexarm_core.hardware_gate.softness import Softness
from flexarm_core.types import ArmState, Array

PER_SAMPLE = 0.2  # [rad] largest bandwidth times (period + age); the phase lag is twice that
SLOWEST = 1.0  # [rad/s] lowest bandwidth


class Braking:
    """Control law of a stop: a servo for efforts, a ramp for set points.

    Attributes:
        gain: factor on the bandwidth of the servo, reduced if a stop does not slow the arm.
    """

    def __init__(self, acceleration: Array, frequency: float, period: float, soft: Softness | None = None) -> None:
        """Set the limits of the stop.

        Args:
            acceleration: (n,) deceleration of each joint [rad/s^2 | m/s^2].
            frequency: bandwidth of the servo that brakes and holds [rad/s].
            period: nominal time between two commands [s].
            soft: bounds of a stop of an arm that bends; None: it does not.
        """
        self._soft, self._elapsed = soft, 0.0
        self._most, self._frequency, self._period = acceleration, frequency, period
        self.reset()

    def reset(self) -> None:
        """Begin a new stop."""
        self.gain, self._elapsed = 1.0, 0.0
        self.release()

    def release(self) -> None:
        """Release the hold position: the joints are held where they next come to rest."""
        self._hold: Array | None = None

    @property
    def bends(self) -> bool:
        """Whether links bend: efforts fade while nothing is measured, and the servo does not rely on accelerations."""
        return self._soft is not None and self._soft.fading > 0.0

    def fade(self, before: Array, kept: Array, unseen: float, dt: float) -> Array:
        """Return the effort (n,) while nothing is measured: straight from the one before to the one that is kept.

        ``before + dt / max(fading - unseen + dt, dt) (kept - before)``: they are equal after the fading time.

        Args:
            before: (n,) effort in force.
            kept: (n,) effort that keeps the velocity, or holds the arm against gravity.
            unseen: time for which nothing has been measured [s].
            dt: time since the last command [s].
        """
        dt, unseen = number("dt", dt, 1e-9), number("unseen", unseen, 0.0)
        left = 0.0 if self._soft is None else self._soft.fading - (unseen - dt)
        faded: Array = before + dt / max(left, dt) * (kept - before)
        return faded

    def see(self, position: Array) -> None:
        """Check the hold position against the first measured position (n,) after missing states.

        The hold position is released if the servo cannot return to it within the deceleration limit. Otherwise it is
        kept: if it were always released, an arm with a wrong gravity model would sink a little after each gap.
        """
        if self._hold is not None and (np.abs(position - self._hold) > self._most / self._frequency**2).any():
            self.release()

    def deceleration(self, most: Array, needed: Array, dt: float) -> Array:
        """Return the largest deceleration (n,) of this command of the stop, ``dt`` [s] after the last one."""
        self._elapsed += dt
        return most if self._soft is None else self._soft.deceleration(most, needed, self._elapsed)

    def acceleration(self, state: ArmState, most: Array, age: float = 0.0) -> Array:
        """Return the servo acceleration (n,): ``-2 w v`` until the joints are slow, then to the hold position too.

        Args:
            state: arm state.
            most: (n,) largest deceleration.
            age: age of the state when its command arrives, beyond one period [s]; the older, the lower the bandwidth.
        """
        most = numbers("most", most, state.velocity.size)
        w = np.full(most.size, max(min(self._frequency, PER_SAMPLE / (self._period + age)) * self.gain, SLOWEST))
        stiffness = w**2
        if self._soft is not None:
            w = np.minimum(w, self._soft.bandwidth * self._period / (self._period + age))
            stiffness = np.maximum(w**2, self._soft.stiffness)
        if self._hold is None and np.all(np.abs(state.velocity) <= np.minimum(most, self._most) / w):
            # From here the critically damped servo decelerates by at most w v: within the limit.
            self._hold = state.position + state.velocity / w
        wanted = -2.0 * w * state.velocity
        if self._hold is not None:
            wanted += stiffness * (self._hold - state.position)
        return np.clip(wanted, -most, most)

    def rate(self, rate: Array, dt: float, needed: Array) -> Array:
        """Return the rate (n,) of the set point after ``dt`` [s], decreased towards zero at the deceleration limit."""
        most = self.deceleration(self._most, needed, dt) * dt
        return rate - np.clip(rate, -most, most)
