"""BiasTracking: estimate the slow drift of the sensor bias while the arm is at rest and without contact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class BiasTrackingConfig:
    """When and how fast the drift estimate is updated.

    Attributes:
        time_constant: time constant with which the drift follows the residual wrench at rest [s]; 0: no tracking.
        rest_velocity: a joint counts as at rest up to this velocity [rad/s | m/s].
        rest_time: time for which the arm must have been at rest before the drift is updated [s].
        max_force: largest force drift from the configured bias [N]; a larger residual is taken as a load, not as drift.
        max_torque: largest torque drift from the configured bias [N*m]; a larger residual is taken as a load.
    """

    time_constant: float = 0.0
    rest_velocity: float = 0.005
    rest_time: float = 1.0
    max_force: float = 2.0
    max_torque: float = 0.5

    def __post_init__(self) -> None:
        """Raise ConfigError for values that are negative or not finite."""
        for name in ("time_constant", "rest_velocity", "rest_time", "max_force", "max_torque"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"bias tracking {name} must be finite and >= 0, got {getattr(self, name)}")


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
