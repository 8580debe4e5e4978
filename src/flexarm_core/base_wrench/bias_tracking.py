"""BiasTracking: estimate the slow drift of the sensor bias while the arm is at rest and without contact."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flexarm_core.compiled import kernel
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


@kernel
def track_bias(
    dt: float, time_constant: float, rest_velocity: float, rest_time: float, max_force: float, max_torque: float,
    residual: Array, velocity: Array, rested: Array, drift: Array,
) -> bool:  # fmt: skip
    """Update the drift from a residual wrench while the arm is at rest; return whether it was updated.

    Args:
        dt: time since the last sample [s].
        time_constant: this and the following settings: see :class:`BiasTrackingConfig`.
        rest_velocity: velocity below which a coordinate counts as at rest [rad/s | m/s].
        rest_time: time that the arm must have been at rest [s].
        max_force: largest drift of the force [N].
        max_torque: largest drift of the torque [N*m].
        residual: (6,) ``[f; n]`` measured wrench minus bias, drift and model, in the sensor frame [N, N*m].
        velocity: (n,) velocities of all moving coordinates [rad/s | m/s].
        rested: (1,) time for which the arm has been at rest; changed in place. Set it to zero if something touched the
            arm, or samples of its motion are missing [s].
        drift: (6,) drift of the bias; changed in place [N, N*m].
    """
    if time_constant <= 0.0:
        return False
    still = True
    for rate in velocity:
        still = still and abs(rate) <= rest_velocity
    rested[0] = rested[0] + dt if still else 0.0
    if not still or rested[0] < rest_time:
        return False
    force = torque = 0.0
    for i in range(3):
        force, torque = force + (drift[i] + residual[i]) ** 2, torque + (drift[3 + i] + residual[3 + i]) ** 2
    if math.sqrt(force) > max_force or math.sqrt(torque) > max_torque:
        return False
    share = 1.0 - math.exp(-dt / time_constant)
    for i in range(6):
        drift[i] += share * residual[i]
    return True
