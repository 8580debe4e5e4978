"""CalibrationConfig: what a calibration solves for, and which sets of poses it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flexarm_core.errors import ConfigError

MODELS = ("bias", "bias_and_gravity")


@dataclass(frozen=True, slots=True)
class CalibrationConfig:
    """Settings of a calibration.

    Attributes:
        model: ``bias`` of the sensor with the described masses, or ``bias_and_gravity``.
        max_condition: largest condition number of the identifiable directions over the poses; what even random poses
            over the whole range tell worse than this keeps its described value.
        min_poses: least number of poses, besides what the unknowns need.
        max_residual_force: largest residual that a pose may leave, as a norm [N].
        max_residual_torque: likewise [N*m].
        max_velocity: largest joint velocity that counts as rest [rad/s | m/s].
        force_noise: standard deviation of a sample of a force [N]; with the next it weighs forces against torques.
        torque_noise: of a torque [N*m].
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
        """Raise ConfigError for values that have no meaning."""
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
        """Noise of forces and torques [N, N*m]."""
        return self.force_noise, self.torque_noise
