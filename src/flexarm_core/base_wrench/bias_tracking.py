"""BiasTracking: estimate the slow drift of the sensor bias while the arm is at rest and without contact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class BiasTrackingConfig(Settings):
    """When and how fast the drift estimate is updated."""

    # fmt: off
    time_constant: float = setting(0.0,
        "time constant with which the sensor bias follows the residual wrench at rest; 0: bias is fixed", "s", 0.0)
    rest_velocity: float = setting(0.005,
        "joint velocity below which the arm counts as at rest for bias tracking", "rad/s | m/s", 0.0)
    rest_time: float = setting(1.0,
        "time that the arm must have been at rest before its sensor bias is tracked", "s", 0.0)
    max_force: float = setting(2.0,
        "largest drift of the force bias from its configured value; larger residuals are not tracked", "N", 0.0)
    max_torque: float = setting(0.5,
        "largest drift of the torque bias from its configured value; larger residuals are not tracked", "N*m", 0.0)
    # fmt: on


class BiasTracking:
    """Estimate the drift of a sensor bias from the residual wrench while the arm is at rest."""

    def __init__(self, config: BiasTrackingConfig) -> None:
        """Start with zero drift."""
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Set the drift to zero and restart the rest timer."""
        self.drift = np.zeros(6)
        self.interrupt()

    def interrupt(self) -> None:
        """Restart the rest timer: something touched the arm, or samples of its motion are missing."""
        self._rested = 0.0

    def update(self, residual: Array, velocity: Array, dt: float) -> bool:
        """Update the drift from a residual wrench and return whether the drift was updated.

        Args:
            residual: (6,) ``[f; n]`` measured wrench minus bias, drift and model, in the sensor frame [N, N*m].
            velocity: (n,) velocities of all moving coordinates [rad/s | m/s].
            dt: time since the last sample [s].
        """
        config = self.config
        if config.time_constant <= 0.0:
            return False
        still = bool(np.all(np.abs(velocity) <= config.rest_velocity))
        self._rested = self._rested + dt if still else 0.0
        if not still or self._rested < config.rest_time:
            return False
        wanted = self.drift + residual
        if np.linalg.norm(wanted[:3]) > config.max_force or np.linalg.norm(wanted[3:]) > config.max_torque:
            return False
        self.drift = self.drift + (1.0 - np.exp(-dt / config.time_constant)) * residual
        return True
