"""EstimatorConfig: settings of the estimator of the flexible state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class EstimatorConfig:
    """Measurements that correct the estimate, and noise levels.

    Attributes:
        correct: False: open loop, measurements are not used.
        use_strain: correct by the strain gauges.
        use_deflection: correct by measured elastic joints of the base.
        use_wrench: correct by force/torque sensors.
        use_imu: correct by IMUs.
        contact_sensor: force/torque sensor behind the tool that measures the contact wrench; the wrench is then a known
            input, and this sensor does not correct the estimate. Empty: the arm is assumed free of contact.
        effort_noise: spectral density of unknown hinge efforts [N*m/sqrt(Hz) | N/sqrt(Hz)].
        modal_noise: spectral density of unknown modal accelerations [sqrt(kg)*m/s^2/sqrt(Hz)].
        base_noise: spectral density of unknown accelerations of elastic joints [rad/s^2/sqrt(Hz) | m/s^2/sqrt(Hz)].
        push_force: standard deviation of the force of a push on the link that carries the arm [N].
        push_torque: standard deviation of the torque of such a push [N*m]; both 0: pushes are not considered.
        push_gate: innovation of a force/torque sensor or an IMU above which a push is assumed in this sampling period,
            in standard deviations.
        strain_noise: standard deviation of a strain gauge [1].
        strain_error: relative error of the gauge calibration and of strain that the modes do not model [1].
        deflection_noise: standard deviation of an elastic joint's position [rad | m].
        deflection_rate_noise: standard deviation of an elastic joint's rate [rad/s | m/s].
        force_noise: standard deviation of a force, including effects that the modes do not model [N].
        torque_noise: standard deviation of a torque [N*m].
        acceleration_noise: standard deviation of a specific force, including effects that the modes do not model
            [m/s^2].
        gyro_noise: standard deviation of an angular velocity [rad/s].
        initial_energy: initial energy of every coordinate, strain and kinetic each, at one standard deviation [J]; 0:
            derived from the arm, as the energy that a share of its effort limits and an error of its weight put into
            the softest coordinate.
        gate: innovation above which a channel is rejected, in standard deviations.
        gate_patience: number of consecutive rejections after which a channel is accepted again.
        frozen_samples: number of consecutive equal readings after which a gauge may count as frozen.
        max_gap: time between samples after which the estimate is reset to its initial covariance [s].
    """

    correct: bool = True
    use_strain: bool = True
    use_deflection: bool = True
    use_wrench: bool = False
    use_imu: bool = False
    contact_sensor: str = ""
    effort_noise: float = 0.1
    modal_noise: float = 0.6
    base_noise: float = 0.003
    push_force: float = 100.0
    push_torque: float = 30.0
    push_gate: float = 5.0
    strain_noise: float = 6e-5
    strain_error: float = 0.03
    deflection_noise: float = 1e-5
    deflection_rate_noise: float = 1e-3
    force_noise: float = 2.0
    torque_noise: float = 1.0
    acceleration_noise: float = 0.5
    gyro_noise: float = 0.03
    initial_energy: float = 0.0
    gate: float = 6.0
    gate_patience: int = 50
    frozen_samples: int = 20
    max_gap: float = 0.1

    def wrench_sensors(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the force/torque sensors that the estimator reads."""
        return tuple(name for name in names if name == self.contact_sensor or (self.correct and self.use_wrench))

    def __post_init__(self) -> None:
        positive = (
            "strain_noise", "deflection_noise", "deflection_rate_noise", "force_noise", "torque_noise",
            "acceleration_noise", "gyro_noise", "push_gate", "gate", "max_gap",
        )  # fmt: skip
        for name in positive:
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f"{name} is {getattr(self, name)}, expected a positive number")
        for name in (
            "effort_noise", "modal_noise", "base_noise", "push_force", "push_torque", "strain_error", "initial_energy",
        ):  # fmt: skip
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"{name} is {getattr(self, name)}, expected a number of at least 0")
        for name in ("gate_patience", "frozen_samples"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, expected at least 1")
