r"""Disturbance forces that the model of an arm does not include: white, constant over a sampling period.

Unit disturbances ``d`` = [efforts of the actuated joints (n); accelerations of the unmeasured coordinates (N); wrench
on the link that carries the arm (6)]. As forces on all coordinates, with the mobility ``L`` of the unmeasured
coordinates::

    T = G d,    G = [e_actuated,  e_unmeasured L^-1,  J^T]

A disturbance that accelerates the state also changes the reading of every sensor that depends on accelerations. An
estimator that models only the first effect rejects the readings during a push as outliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

PLACE = 1e-6  # [m | rad] influence of the unmeasured coordinates on the base link below which the link is fixed


@dataclass(frozen=True, slots=True)
class Pushes:
    """Wrenches on the link that carries the arm, that act in single sampling periods.

    Attributes:
        onto: (N, p) forces on the unmeasured coordinates per unit of each push.
        variance: (p,) variances.
        through: by force/torque sensor, reading (6, p) per unit push, without accelerations; only outboard pushes pass.
    """

    onto: Array
    variance: Array
    through: dict[str, Array]


def pushes_on(model: FlexibleModel, push: tuple[float, float], inboard: bool) -> Pushes:
    """Find out what pushes on an arm do: p is 0, 6 or 12.

    Args:
        model: model of the arm.
        push: standard deviations of force [N] and torque [N*m] of a push; 0: no pushes.
        inboard: whether pushes inboard of the sensors under the arm are also considered; force/torque sensors alone
            cannot distinguish them.
    """
    still = np.zeros(model.size)
    base = model.description.base_frame
    onto = np.zeros((len(model.unmeasured), 6))  # J^T at the undeflected base: deflections are small
    for row, coordinate in enumerate(model.unmeasured):
        rate = np.zeros(model.size)
        rate[coordinate] = 1.0
        onto[row] = model.frame_motion(base, still, rate).velocity
    carried = bool(np.abs(onto).max() > PLACE) and any(push)
    sides = 0 if not carried else 2 if inboard else 1
    through = _through_sensors(model, base, 6 * sides) if carried else {}
    return Pushes(np.tile(onto, sides), np.tile(np.repeat(np.square(push), 3), sides), through)


def _through_sensors(model: FlexibleModel, base: str, count: int) -> dict[str, Array]:
    """Compute the reading (6, count) of each sensor per unit wrench on the base link, in axes of the root link."""
    still = np.zeros(model.size)
    unmoved = model.sensor_wrenches(still, still, still)
    through = {name: np.zeros((6, count)) for name in unmoved}
    for axis, wrench in enumerate(np.eye(6)):
        for name, reading in model.sensor_wrenches(still, still, still, {base: wrench}).items():
            through[name][:, axis] = reading - unmoved[name]
    return through
