"""EstimatorConfig: settings of the estimator of the flexible state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flexarm_core.settings import Settings, setting


@dataclass(frozen=True, slots=True)
class EstimatorConfig(Settings):
    """Measurements that correct the estimate, and noise levels.

    A sensor of contact does not correct the estimate. An initial energy that is derived from the arm is the one that a
    share of its effort limits and an error of its weight put into the softest coordinate.
    """

    # fmt: off
    correct: bool = setting(True, "correct the estimate by measurements; false: open-loop prediction by the model")
    use_strain: bool = setting(True, "correct the estimate by the strain gauges")
    use_deflection: bool = setting(True, "correct the estimate by the elastic joints of the base in the joint states")
    use_wrench: bool = setting(False, "correct the estimate by the force/torque sensors")
    use_imu: bool = setting(False, "correct the estimate by the inertial measurement units")
    contact_sensor: str = setting("",
        "force/torque sensor of the tool whose reading is taken as the contact wrench; empty: no contact assumed")
    effort_noise: float = setting(0.1,
        "spectral density of unknown efforts of the joints (process noise)", "N*m/sqrt(Hz)", 0.0)
    modal_noise: float = setting(0.6,
        "spectral density of unknown accelerations of the modes of flexible links (process noise)",
        "sqrt(kg)*m/s^2/sqrt(Hz)", 0.0)
    base_noise: float = setting(0.003,
        "spectral density of unknown accelerations of the elastic joints (process noise)", "rad/s^2/sqrt(Hz)", 0.0)
    push_force: float = setting(100.0,
        "standard deviation of push forces on the base; both push deviations 0 disable push detection", "N", 0.0)
    push_torque: float = setting(30.0,
        "standard deviation of push torques on the base; both push deviations 0 disable push detection", "N*m", 0.0)
    drift_force: float = setting(5.0,
        "spectral density of the drift of lasting unknown forces on the base: weight, sensor bias", "N/sqrt(s)", 0.0)
    drift_torque: float = setting(2.0,
        "spectral density of the drift of lasting unknown torques on the base", "N*m/sqrt(s)", 0.0)
    drift_modal: float = setting(0.0,
        "spectral density of the drift of lasting unknown forces on the modes, if strain gauges show them: weight,"
        " stiffness; 0: there are none", "sqrt(kg)*m/s^2/sqrt(s)", 0.0)
    push_gate: float = setting(5.0,
        "innovation of a sensor of the base, in standard deviations, from which a push on the base is assumed", "", 1.0)
    strain_noise: float = setting(6e-5, "standard deviation of the noise of a strain gauge", "", 1e-12)
    strain_error: float = setting(0.03,
        "standard deviation of the relative error of strain gauges, from calibration and neglected modes", "", 0.0)
    deflection_noise: float = setting(1e-5,
        "standard deviation of a measured position of an elastic joint", "rad | m", 1e-12)
    deflection_rate_noise: float = setting(1e-3,
        "standard deviation of a measured velocity of an elastic joint", "rad/s | m/s", 1e-12)
    force_noise: float = setting(2.0,
        "standard deviation of a measured force, including the effect of neglected modes", "N", 1e-12)
    torque_noise: float = setting(1.0, "standard deviation of a measured torque", "N*m", 1e-12)
    acceleration_noise: float = setting(0.5,
        "standard deviation of a specific force of an IMU, including the effect of neglected modes", "m/s^2", 1e-12)
    gyro_noise: float = setting(0.03, "standard deviation of an angular velocity of an IMU", "rad/s", 1e-12)
    initial_energy: float = setting(0.0,
        "energy, at one standard deviation, that each flexible coordinate may hold at first; 0: derived from the arm",
        "J", 0.0)
    gate: float = setting(6.0,
        "innovation, in standard deviations, beyond which a reading is left out as an outlier", "", 1.0)
    gate_patience: int = setting(50, "number of consecutive outliers after which a sensor is trusted again", "", 1)
    frozen_samples: int = setting(20,
        "number of consecutive equal readings after which a strain gauge may be considered frozen", "", 1)
    max_gap: float = setting(0.1,
        "gap between samples after which the estimate restarts with its initial covariance", "s", 1e-4)
    # fmt: on

    def wrench_sensors(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the force/torque sensors that the estimator reads."""
        return tuple(name for name in names if name == self.contact_sensor or (self.correct and self.use_wrench))
