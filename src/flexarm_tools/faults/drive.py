"""The drive of the campaign: holds the last command, has a watchdog or none, and brakes where it is told to."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm_core.types import Array
from flexarm_sim.drives import DriveConfig, Drives

BRAKE = 40.0  # [rad/s] bandwidth of its own brake
STEP = 0.001  # [s] longest between two updates of its servo


class Drive:
    """One command mode, and the fallback: a servo of its own that brakes and holds.

    Attributes:
        braking: whether the fallback is in force.
    """

    def __init__(self, mode: str, backend: Any, limits: Array, deceleration: float, bandwidth: float) -> None:
        """Drive a plant.

        Args:
            mode: of its commands.
            backend: the plant.
            limits: (n,) of effort.
            deceleration: of the fallback [rad/s^2 | m/s^2].
            bandwidth: of the velocity and position servo [rad/s].
        """
        self._drives = Drives(DriveConfig(mode, bandwidth, clip_effort=False, period=STEP), limits)
        self._drives.reset(backend.sensed().position)
        self._mode, self._backend, self._limits, self._deceleration = mode, backend, limits, deceleration
        self._command: Array | None = None
        self._hold: Array | None = None
        self.braking = False

    def take(self, command: Array) -> None:
        """A command arrives."""
        self._command = command

    def advance(self, duration: float) -> None:
        """Let the plant move."""
        steps = max(1, round(duration / STEP + 0.49))
        for _ in range(steps):
            effort = self._effort(duration / steps)
            finite = np.isfinite(effort).all()
            self._backend.step(effort if finite else np.copysign(self._limits, effort), duration / steps)

    def _effort(self, step: float) -> Array:
        state = self._backend.sensed()
        if self.braking or self._command is None:
            if self._hold is None and np.all(np.abs(state.velocity) < self._deceleration / BRAKE):
                self._hold = state.position + state.velocity / BRAKE
            wanted = -2.0 * BRAKE * state.velocity
            if self._hold is not None:
                wanted = wanted + BRAKE**2 * (self._hold - state.position)
            inertia, bias = self._backend.joint_dynamics()
            self._drives.reset(state.position)
            braking: Array = inertia @ np.clip(wanted, -self._deceleration, self._deceleration) + bias
            return np.clip(braking, -self._limits, self._limits)
        self._hold = None
        if self._mode == "effort":
            return np.clip(self._command, -self._limits, self._limits)
        return self._drives.effort(self._command, self._backend, step)
