"""Drive of the campaign: holds the last command, and brakes on its own when requested."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm_core.types import Array

BRAKE = 40.0  # [rad/s] bandwidth of the fallback brake


class Drive:
    """Servo drive in one command mode, with a fallback that brakes and holds on its own.

    In position mode it enforces the speed limits of the joints, as real drives do; in velocity and effort mode it does
    not. In velocity mode it tracks the integral of the command, so that friction leaves no lasting error.

    Attributes:
        braking: whether the fallback is active.
    """

    def __init__(
        self,
        mode: str,
        backend: Any,
        effort: Array,
        velocity: Array,
        deceleration: Array,
        bandwidth: float,
        step: float = 0.001,
    ) -> None:
        """Create the drive of a plant.

        Args:
            mode: command mode.
            backend: simulated plant.
            effort: (n,) effort limits [N*m | N].
            velocity: (n,) velocity limits [rad/s | m/s].
            deceleration: (n,) deceleration of the fallback [rad/s^2 | m/s^2].
            bandwidth: bandwidth of the velocity and position servo [rad/s].
            step: longest time between two updates of the servo [s].
        """
        self._mode, self._backend, self._limits, self._fastest = mode, backend, effort, velocity
        self._deceleration, self._bandwidth, self._step = deceleration, bandwidth, step
        self._command: Array | None = None
        self._hold: Array | None = None
        self._integral: Array | None = None  # integral of the velocity commands
        self.braking = False

    @property
    def ahead(self) -> float:
        """Lead of a position command over the arm, as a travel time at the speed limit [s]."""
        if self._mode != "position" or self._command is None or self.braking:
            return 0.0
        return float(np.max(np.abs(self._command - self._backend.sensed().position) / self._fastest))

    def drive(self, backend: Any) -> None:
        """Drive another plant from now on."""
        self._backend = backend

    def take(self, command: Array) -> None:
        """Store a new command."""
        self._command = command

    def advance(self, duration: float) -> None:
        """Advance the plant by a duration [s]."""
        steps = max(1, round(duration / self._step + 0.49))
        for _ in range(steps):
            effort = self._effort(duration / steps)
            finite = np.isfinite(effort).all()
            self._backend.step(effort if finite else np.copysign(self._limits, effort), duration / steps)

    def _effort(self, step: float) -> Array:
        if self.braking or self._command is None:
            self._integral = None
            return self._within_limits(self._brake())
        self._hold = None
        if self._mode == "effort":
            return np.clip(self._command, -self._limits, self._limits)
        # Without effort limits: enforcing these is left to the real drives.
        state, w = self._backend.sensed(), self._bandwidth
        if self._mode == "position":
            speed = np.clip(0.5 * w * (self._command - state.position), -self._fastest, self._fastest)
            return self._moved(2.0 * w * (speed - state.velocity))
        self._integral = (state.position if self._integral is None else self._integral) + step * self._command
        servo = w**2 * (self._integral - state.position) - 2.0 * w * state.velocity
        return self._moved(servo + w * self._command)

    def _brake(self) -> Array:
        """Return the acceleration (n,) that brakes the arm and then holds it."""
        state = self._backend.sensed()
        if self._hold is None and np.all(np.abs(state.velocity) < self._deceleration / BRAKE):
            self._hold = state.position + state.velocity / BRAKE
        wanted = -2.0 * BRAKE * state.velocity
        if self._hold is not None:
            wanted = wanted + BRAKE**2 * (self._hold - state.position)
        return np.clip(wanted, -self._deceleration, self._deceleration)

    def _within_limits(self, acceleration: Array) -> Array:
        """Return the effort (n,) for an acceleration (n,), scaled so that no motor exceeds its limit."""
        inertia, bias = self._backend.joint_dynamics()
        change = inertia @ acceleration
        room = np.where(change > 0.0, self._limits - bias, self._limits + bias)
        share = float(np.clip(room / np.maximum(np.abs(change), 1e-12), 0.0, 1.0).min())
        return np.clip(bias + share * change, -self._limits, self._limits)

    def _moved(self, acceleration: Array) -> Array:
        """Return the effort (n,) that produces an acceleration (n,)."""
        inertia, bias = self._backend.joint_dynamics()
        effort: Array = inertia @ acceleration + bias
        return effort
