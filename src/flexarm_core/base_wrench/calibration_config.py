"""CalibrationConfig: unknowns of a calibration, and requirements on its poses."""

from __future__ import annotations

from dataclasses import dataclass

from flexarm_core.settings import Settings, setting

MODELS = ("bias", "bias_and_gravity")


@dataclass(frozen=True, slots=True)
class CalibrationConfig(Settings):
    """Settings of a calibration.

    Directions that even random poses over the whole range determine worse than ``max_condition`` keep the values of the
    robot description. The ratio of the noises weights forces against torques.
    """

    # fmt: off
    model: str = setting("bias_and_gravity",
        "what is estimated: sensor bias with masses from the robot description, or also the gravity parameters",
        choices=MODELS)
    max_condition: float = setting(100.0,
        "largest condition number of the gravity parameters that a calibration identifies", "", 1.0 + 1e-9)
    min_poses: int = setting(4, "smallest number of poses; more are required if the unknowns need more", "", 1)
    max_residual_force: float = setting(0.5,
        "largest residual force that a pose of an accepted calibration may leave", "N", 1e-9)
    max_residual_torque: float = setting(0.1,
        "largest residual torque that a pose of an accepted calibration may leave", "N*m", 1e-9)
    max_velocity: float = setting(0.01, "largest joint velocity that counts as rest", "rad/s | m/s", 1e-9)
    force_noise: float = setting(0.1, "standard deviation of a force sample during calibration", "N", 1e-9)
    torque_noise: float = setting(0.01, "standard deviation of a torque sample during calibration", "N*m", 1e-9)
    # fmt: on

    @property
    def noise(self) -> tuple[float, float]:
        """Standard deviations of force and torque samples [N, N*m]."""
        return self.force_noise, self.torque_noise
