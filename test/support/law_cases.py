"""Random arms in motion under the impedance law, and what its tests measure on them."""

from __future__ import annotations

from functools import cache

import numpy as np
from robots import chain, find
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

MIDDLE = {
    "panda": [0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.5],
    "iiwa": [0.0, 0.5, 0.0, -1.4, 0.0, 0.8, 0.0],
    "arm_7r": [0.3, 0.5, -0.3, -1.5, 0.0, -0.43, 0.0],
    "arm_6r": [0.2, 0.4, 1.0, 0.3, 0.9, 0.1],
}
UNLIMITED = 1e6  # [rad/s, rad/s^2] so that the law itself is seen, not the limits of the joints


@cache
def arm(name: str, acceleration: float = UNLIMITED, velocity: float | None = UNLIMITED) -> Arm:
    """What behaviors know of a robot; limits of its joints as given, velocities of its description with None."""
    text, _ = find(name)
    links = chain(name)
    fastest = links.velocity_limit if velocity is None else np.full(links.n, velocity)
    limits = MotionLimits(links.lower, links.upper, fastest, np.full(links.n, acceleration))
    return Arm(links, build_arm_shape(parse_robot_description(text, massless=True), links), limits)


def controller(one: Arm, position: Array, config: ImpedanceConfig | None = None) -> BehaviorImpedanceController:
    """A controller that has begun, at rest."""
    made = BehaviorImpedanceController(one, config or ImpedanceConfig(), RedundancyConfig(objective_time_constant=0.0))
    made.begin(np.array(position, dtype=float))
    return made


def definite(rng: np.random.Generator, diagonal: Array, coupling: float) -> Array:
    """Random coupled matrix, symmetric and positive, with the size of a diagonal (k,)."""
    k = len(diagonal)
    A = rng.normal(size=(k, k))
    unit = (1.0 - coupling) * np.eye(k) + coupling * (A @ A.T) / k
    return unit * np.sqrt(np.outer(diagonal, diagonal))


def coupled(rng: np.random.Generator, inertia: Array, damping: Array, stiffness: Array) -> ImpedanceConfig:
    """Law with coupled matrices of these sizes (6,)."""
    M, B, K = (definite(rng, size, 0.5) for size in (inertia, damping, stiffness))
    return ImpedanceConfig(tuple(M.ravel()), tuple(B.ravel()), tuple(K.ravel()))


def displace(made: BehaviorImpedanceController, way: Array, turn: Array) -> None:
    """Put the set-point of a controller without behaviors ``-way`` (3,), ``-turn`` (3,) from the tool [m, rad]."""
    state = made._state
    state.anchor_position[:] = state.set_position[:] = made._position - way
    state.anchor_rotation[:] = state.set_rotation[:] = Rotation.from_rotvec(-turn).as_matrix() @ made._rotation
    state.changed[0], state.known[0] = 0.0, 1.0
