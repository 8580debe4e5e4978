"""EstimatorConfig: settings of the estimator of all that bends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class EstimatorConfig:
    """What corrects the estimate, and how much is known of what.

    Attributes:
        correct: False: open loop, readings are not looked at.
        use_strain: correct by the strain gauges.
        use_deflection: correct by measured elastic joints of the base.
        use_wrench: correct by force/torque sensors.
        use_imu: correct by IMUs.
        contact_sensor: force/torque sensor behind the tool whose reading says what touches it; that is then a known
            force, and the sensor corrects nothing. Empty: nothing touches the arm.
        effort_noise: spectral density of unknown hinge efforts [N*m/sqrt(Hz) | N/sqrt(Hz)].
        modal_noise: that of modal accelerations [sqrt(kg)*m/s^2/sqrt(Hz)].
        base_noise: that of accelerations of elastic joints [rad/s^2/sqrt(Hz) | m/s^2/sqrt(Hz)].
        push_force: deviation of the force of a push on the link that carries the arm [N].
        push_torque: that of its torque [N*m]; both 0: no pushes are looked for.
        push_gate: innovation of a force/torque sensor or an IMU from which on a tick counts as pushed, in deviations.
        strain_noise: standard deviation of a strain gauge [1].
        strain_error: relative one, of its calibration and of what the modes leave out of the strain [1].
        deflection_noise: of an elastic joint's position [rad | m].
        deflection_rate_noise: of its rate [rad/s | m/s].
        force_noise: of a force, what the modes leave out included [N].
        torque_noise: of a torque [N*m].
        acceleration_noise: of a specific force, what the modes leave out included [m/s^2].
        gyro_noise: of an angular velocity [rad/s].
        initial_energy: that every coordinate may hold at first, as strain and as motion, at one standard deviation [J];
            0: by the arm, what a part of its effort limits and an error of its weight put into the softest coordinate.
        gate: innovation at which a channel is left out, in standard deviations.
        gate_patience: ticks in a row after which it is believed again.
        frozen_samples: equal readings in a row after which a gauge may be frozen.
        max_gap: time between samples after which the estimate starts over with its initial covariance [s].
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
        """Those of an arm's force/torque sensors that are read."""
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
