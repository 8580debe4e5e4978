"""BiasTracking: the sensor's bias drifts slowly; an arm at rest that nothing touches shows by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class BiasTrackingConfig:
    """When and how fast the bias follows.

    Attributes:
        time_constant: with which it follows the residual wrench at rest [s]; 0: never.
        rest_velocity: below which every joint counts as at rest [rad/s | m/s].
        rest_time: for which the arm must have been at rest [s].
        max_force: largest drift from the bias that was given [N]; more is no drift, it is a load.
        max_torque: likewise [N*m].
    """

    time_constant: float = 0.0
    rest_velocity: float = 0.005
    rest_time: float = 1.0
    max_force: float = 2.0
    max_torque: float = 0.5

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        for name in ("time_constant", "rest_velocity", "rest_time", "max_force", "max_torque"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"bias tracking {name} must be finite and >= 0, got {getattr(self, name)}")


class BiasTracking:
    """Adds to a bias what the residual wrench shows while the arm rests."""

    def __init__(self, config: BiasTrackingConfig) -> None:
        """Begin without any drift."""
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Forget the drift and the rest."""
        self.drift = np.zeros(6)
        self.interrupt()

    def interrupt(self) -> None:
        """Wait for a new rest: something touched the arm, or what it did meanwhile is not known."""
        self._rested = 0.0

    def update(self, residual: Array, velocity: Array, dt: float) -> bool:
        """Take a residual wrench (6,) ``[f; n]`` in the sensor's frame; whether it was learned from.

        Args:
            residual: what is left when bias, drift and model are taken off [N, N*m].
            velocity: (n,) of all that moves [rad/s | m/s].
            dt: since the last sample [s].
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
