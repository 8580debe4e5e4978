"""CalibrationConfig: unknowns of a calibration, and requirements on its poses."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flexarm_core.errors import ConfigError

MODELS = ("bias", "bias_and_gravity")


@dataclass(frozen=True, slots=True)
class CalibrationConfig:
    """Settings of a calibration.

    Attributes:
        model: ``bias`` (sensor bias only, masses from the robot description) or ``bias_and_gravity``.
        max_condition: largest condition number of the identifiable directions over the poses. Directions that even
            random poses over the whole range determine worse than this keep the values of the robot description.
        min_poses: smallest number of poses; more are required if the unknowns need more.
        max_residual_force: largest norm of the residual force at a pose [N].
        max_residual_torque: largest norm of the residual torque at a pose [N*m].
        max_velocity: largest joint velocity that counts as rest [rad/s | m/s].
        force_noise: standard deviation of a force sample; its ratio to ``torque_noise`` weights forces against torques
            [N].
        torque_noise: standard deviation of a torque sample [N*m].
    """

    model: str = "bias_and_gravity"
    max_condition: float = 100.0
    min_poses: int = 4
    max_residual_force: float = 0.5
    max_residual_torque: float = 0.1
    max_velocity: float = 0.01
    force_noise: float = 0.1
    torque_noise: float = 0.01

    def __post_init__(self) -> None:
        """Raise ConfigError for values that are out of range or not finite, or an unknown model."""
        if self.model not in MODELS:
            raise ConfigError(f"model '{self.model}' is unknown; valid: {', '.join(MODELS)}")
        if not (math.isfinite(self.max_condition) and self.max_condition > 1.0):
            raise ConfigError(f"max_condition must be finite and > 1, got {self.max_condition}")
        if self.min_poses < 1:
            raise ConfigError(f"min_poses must be at least 1, got {self.min_poses}")
        for name in ("max_residual_force", "max_residual_torque", "max_velocity", "force_noise", "torque_noise"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f"{name} must be finite and > 0, got {getattr(self, name)}")

    @property
    def noise(self) -> tuple[float, float]:
        """Standard deviations of force and torque samples [N, N*m]."""
        return self.force_noise, self.torque_noise
