"""BiasTracking: estimate the slow drift of the sensor bias while the arm is at rest and without contact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

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


class BiasSettings(NamedTuple):
    """See :class:`BiasTrackingConfig`."""

    time_constant: float
    rest_velocity: float
    rest_time: float
    max_force: float
    max_torque: float


class BiasState(NamedTuple):
    """What lasts from sample to sample."""

    # time for which the arm has been at rest; to set to zero if something touched it, or samples are missing [s]
    rested: Annotated[Array, 1]
    drift: Annotated[Array, 6]  # drift of the bias [N, N*m]


@kernel
def track_bias(settings: BiasSettings, state: BiasState, residual: Array, velocity: Array, dt: float) -> bool:
    """Update the drift from a residual wrench while the arm is at rest; return whether it was updated.

    Args:
        settings: settings.
        state: changed in place.
        residual: (6,) ``[f; n]`` measured wrench minus bias, drift and model, in the sensor frame [N, N*m].
        velocity: (n,) velocities of all moving coordinates [rad/s | m/s].
        dt: time since the last sample [s].
    """
    rested, drift = state
    if settings.time_constant <= 0.0:
        return False
    still = True
    for rate in velocity:
        still = still and abs(rate) <= settings.rest_velocity
    rested[0] = rested[0] + dt if still else 0.0
    if not still or rested[0] < settings.rest_time:
        return False
    force = torque = 0.0
    for i in range(3):
        force, torque = force + (drift[i] + residual[i]) ** 2, torque + (drift[3 + i] + residual[3 + i]) ** 2
    if math.sqrt(force) > settings.max_force or math.sqrt(torque) > settings.max_torque:
        return False
    share = 1.0 - math.exp(-dt / settings.time_constant)
    for i in range(6):
        drift[i] += share * residual[i]
    return True
