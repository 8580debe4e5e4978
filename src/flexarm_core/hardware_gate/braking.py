"""Braking: how a stop decelerates every joint at its limit, and then holds it."""

from __future__ import annotations

import numpy as np

from flexarm_core.types import ArmState, Array

PER_SAMPLE = 0.2  # radians of the servo's bandwidth that a sample and its age may last: phase for twice that is lost
SLOWEST = 1.0  # [rad/s] bandwidth that is left in any case


class Braking:
    """The law of one stop: of efforts by a servo, of set points by a ramp.

    Attributes:
        gain: share of the servo's bandwidth, made smaller where a stop does not slow the arm.
    """

    def __init__(self, acceleration: Array, frequency: float, period: float) -> None:
        """Brake at most this hard.

        Args:
            acceleration: (n,) deceleration of each joint [rad/s^2 | m/s^2].
            frequency: bandwidth of the servo that brakes and holds [rad/s].
            period: between two commands [s].
        """
        self._most, self._frequency, self._period = acceleration, frequency, period
        self.reset()

    def reset(self) -> None:
        """Begin another stop."""
        self.gain = 1.0
        self.release()

    def release(self) -> None:
        """Hold where the joints come to rest from now on."""
        self._hold: Array | None = None

    def see(self, position: Array) -> None:
        """The joints are here (n,) after nothing was known: what the servo cannot gently take back is let go.

        Else an arm whose weight is not what the model says would sink a little whenever a measurement is missing.
        """
        if self._hold is not None and (np.abs(position - self._hold) > self._most / self._frequency**2).any():
            self.release()

    def acceleration(self, state: ArmState, most: Array, push: Array, age: float = 0.0) -> Array:
        """Acceleration (n,) of the servo: ``-2 w v`` until the joints are slow, then also towards where they rest.

        Args:
            state: of the arm.
            most: deceleration (n,).
            push: accelerations (n,) that a base adds: against them the servo may give as much more.
            age: of the state when its command arrives, beyond a period [s]: the servo is the slower, the older it is.
        """
        w = max(min(self._frequency, PER_SAMPLE / (self._period + age)) * self.gain, SLOWEST)
        if self._hold is None and np.all(np.abs(state.velocity) <= self._most / w):
            # From here the critically damped servo decelerates by w v at most: within the limit.
            self._hold = state.position + state.velocity / w
        wanted = -2.0 * w * state.velocity
        if self._hold is not None:
            wanted += w**2 * (self._hold - state.position)
        return np.clip(wanted, -most - np.maximum(push, 0.0), most - np.minimum(push, 0.0))

    def rate(self, rate: Array, dt: float) -> Array:
        """Rate (n,) of the set point after ``dt`` [s]: nearer to zero, at the limit."""
        most = self._most * dt
        return rate - np.clip(rate, -most, most)
