r"""Forces that the model of an arm does not include: white disturbances, and lasting loads on base and modes.

White disturbances ``d`` = [efforts of the actuated joints (n); accelerations of the unmeasured coordinates (N); changes
of the loads (p)] are constant over a sampling period. As forces on all coordinates, with the mobility ``L`` of the
unmeasured coordinates::

    T = G d,    G = [e_actuated,  e_unmeasured L^-1,  J^T]

A disturbance that accelerates the state also changes the reading of every sensor that depends on accelerations. An
estimator that models only the first effect rejects the readings during a push as outliers.

Loads ``w`` are states of the filter: wrenches on the link that carries the arm, such as an error of the modeled weight,
the bias of the force/torque sensor under the arm, a push, a spring that is stiffer than modeled; and forces on the
modes whose strain is measured, from errors of the weight and of a link's stiffness. They change slowly (``drift``),
those on the base also suddenly if a sensor of the base is surprised (``push``). Without such states a constant load
would be explained by a constant rate of the base that does not exist, or by accelerations of base and modes at rest.
The force/torque sensor under the arm measures a load outboard of it. It does not measure a load inboard of it: only an
IMU can distinguish such a load from a deflection. The reading shows loads on the modes by accelerations only::

    w+ = (1 - t f) w + change,    forces on base and modes J^T w,    reading + through w
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

PLACE = 1e-6  # [m | rad] influence of the unmeasured coordinates on the base link below which the link is fixed
FADING = 2.0  # [1/s] of inboard loads: if they last, no sensor tells them from a deflection
WEIGHT_ERROR = 0.2  # initial deviation of a load, as share of the weight
LEVER = 0.3  # [m] lever of that share


@dataclass(frozen=True, slots=True)
class Loads:
    """Wrenches on the link that carries the arm, outboard and inboard of its sensor, then forces on the modes.

    Attributes:
        onto: (N, p) forces on the unmeasured coordinates per unit of each load.
        push: (p,) variances of a sudden change.
        drift: (p,) squared spectral densities of slow changes.
        fading: (p,) rates at which they fade [1/s].
        initial: (p,) initial variances.
        through: by force/torque sensor, reading (6, p) per unit load, without accelerations; only outboard ones pass.
    """

    onto: Array
    push: Array
    drift: Array
    fading: Array
    initial: Array
    through: dict[str, Array]


def loads_on(model: FlexibleModel, config: EstimatorConfig) -> Loads:
    """Find out what loads on an arm do: p is 0, 6 or 12, and one for each mode.

    Args:
        model: model of the arm.
        config: deviations and densities; if all are 0 there are no loads. Loads inboard of the sensors under the arm
            are only considered with an IMU; force/torque sensors alone cannot distinguish them. Loads on modes are only
            considered with strain gauges.
    """
    c, still = config, np.zeros(model.size)
    base = model.description.base_frame
    onto = np.zeros((len(model.unmeasured), 6))  # J^T at the undeflected base: deflections are small
    for row, coordinate in enumerate(model.unmeasured):
        rate = np.zeros(model.size)
        rate[coordinate] = 1.0
        onto[row] = model.frame_motion(base, still, rate).velocity
    push = np.repeat(np.square((c.push_force, c.push_torque)), 3)
    drift = np.repeat(np.square((c.drift_force, c.drift_torque)), 3)
    carried = bool(np.abs(onto).max() > PLACE) and bool(push.any() or drift.any())
    felt = carried and c.use_wrench and c.correct
    sides = np.array([True] * (felt or not c.use_imu) + [False] * c.use_imu)[: 2 * carried]  # outboard
    mass = sum(link.mass for link in model.description.links.values())
    weight = WEIGHT_ERROR * mass * float(np.linalg.norm(model.tree.root))
    initial = np.repeat(np.square((weight, LEVER * weight)), 3)
    free, modes = len(model.unmeasured), len(model.modal)
    strained = c.correct and c.use_strain and c.drift_modal > 0.0 and len(model.strain_map) > 0
    bent = np.eye(free)[:, free - modes * strained :]  # a force on each mode
    none, modal = np.zeros(bent.shape[1]), np.ones(bent.shape[1])
    through = _through_sensors(model, base, 6 * len(sides)) if felt else {}
    return Loads(
        np.hstack((np.tile(onto, len(sides)), bent)),
        np.concatenate((np.tile(push, len(sides)), none)),
        np.concatenate((np.tile(drift, len(sides)), c.drift_modal**2 * modal)),
        np.concatenate((np.repeat(np.where(sides, 0.0, FADING), 6), none)),
        np.concatenate(
            (np.ravel(np.outer(sides, initial)), weight**2 / mass * modal)
        ),  # a mode's share is <= sqrt(mass)
        {name: np.hstack((reading, np.zeros((6, bent.shape[1])))) for name, reading in through.items()},
    )


def _through_sensors(model: FlexibleModel, base: str, count: int) -> dict[str, Array]:
    """Compute the reading (6, count) of each sensor per unit wrench on the base link, in axes of the root link."""
    still = np.zeros(model.size)
    unmoved = model.sensor_wrenches(still, still, still)
    through = {name: np.zeros((6, count)) for name in unmoved}
    for axis, wrench in enumerate(np.eye(6)):
        for name, reading in model.sensor_wrenches(still, still, still, {base: wrench}).items():
            through[name][:, axis] = reading - unmoved[name]
    return through
