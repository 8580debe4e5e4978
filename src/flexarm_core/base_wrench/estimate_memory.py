"""Memory of the estimate: flat arrays, the cheapest arguments of a kernel, and the functions that know their layout.

Sizes: ``n`` actuated joints, ``N`` coordinates (with the elastic joints), ``B`` bodies, ``t`` nodes of a gravity table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.base_wrench.newton_euler import ROWS, STATE, WIDTH
from flexarm_core.base_wrench.sensed_bodies import COLUMNS
from flexarm_core.compiled import kernel, view
from flexarm_core.types import Array

if TYPE_CHECKING:
    from flexarm_core.base_wrench.estimator import BaseWrenchEstimatorConfig

KEPT = 64  # number of stored samples, from which the sample of a delayed wrench is selected
HEADER = 5


class Constants(NamedTuple):
    """Arm, sensor and gravity table; made once."""

    n: int
    size: int  # number N of coordinates
    gravity: Array  # (3,) in the root link frame [m/s^2]
    sensor: Array  # (13,) see ``newton_euler``
    armature: Array  # (n,) rotor inertias
    turning: Array  # (n,) 1 for an endless joint
    links: Array  # (B, 32) see ``SensedBodies``
    change: Array  # (B, 32) the same with calibrated minus described gravity parameters; (0, 32) if there is no change
    counts: Array  # (n,) number of nodes of the gravity table; (0,) if there is none
    ends: Array  # (n, 2) nodes of prismatic joints; (0, 2) without a table
    table: Array  # (6 t,) values of the table


class Settings(NamedTuple):
    """Settings; see ``BaseWrenchEstimatorConfig``, ``ContactDetectionConfig`` and ``BiasTrackingConfig``."""

    sign: float  # 1: wrench of the robot on its base, -1: of the base on the robot
    delay: float  # [ns] age of the wrench
    frozen_samples: float
    velocity_bandwidth: float
    acceleration_bandwidth: float  # 0: accelerations are neglected
    force: float
    torque: float
    bandwidth: float
    time_constant: float
    rest_velocity: float
    rest_time: float
    max_force: float
    max_torque: float
    bias: Array  # (6,) configured bias


class State(NamedTuple):
    """What lasts from sample to sample, and room for the recursion."""

    samples: Array  # (1,) number of samples so far; sample k is stored at row k modulo KEPT
    motion: Array  # (KEPT, 3, N) positions, velocities and accelerations of the stored samples
    effort: Array  # (KEPT, n) efforts of the stored samples; NaN: unknown
    before: Array  # (n,) motion filter: last position
    velocity: Array  # (n,) filtered velocity
    slow: Array  # (n,) low-passed velocity
    acceleration: Array  # (n,) filtered acceleration
    reading: Array  # (6,) last usable reading
    frozen: Array  # (1,) number of equal readings in a row
    moved: Array  # (1,) whether the efforts changed from the sample before to the last one
    low: Array  # (6,) low-passed residual wrench
    touching: Array  # (1,) whether there is a contact
    rested: Array  # (1,) time for which the arm has been at rest [s]
    drift: Array  # (6,) tracked drift of the bias, robot on base
    speed: Array  # (1,) largest filtered joint velocity
    still: Array  # (3, N) a motion without velocities and accelerations
    given: Array  # (16,) see ``newton_euler``
    bodies: Array  # (B, 36)
    torques: Array  # (4, max(N, 12))
    changes: Array  # (4, max(N, 12))
    work: Array  # (max(3 t, 6),) of the gravity table


class Inputs(NamedTuple):
    """One sample; see ``BaseWrenchSample``."""

    position: Array  # (n,)
    velocity: Array  # (n,)
    effort: Array  # (n,) NaN if unknown
    deflection: Array  # (N - n,)
    deflection_rate: Array  # (N - n,)
    deflection_acceleration: Array  # (N - n,)
    wrench: Array  # (6,) NaN if missing


class Joints(NamedTuple):
    """Results by joint, rows of one array; see ``BaseWrenchEstimate`` and ``BaseWrenchEstimator``."""

    torque: Array  # (n,)
    friction: Array  # (n,)
    gravity: Array  # (n,)
    model_torque: Array  # (n,)
    velocity: Array  # (n,)
    acceleration: Array  # (n,)
    gravity_change: Array  # (n,)


class Wrenches(NamedTuple):
    """Wrenches, rows of one array; see ``BaseWrenchEstimate``."""

    wrench: Array  # (6,)
    gravity: Array  # (6,)
    residual: Array  # (6,)
    bias: Array  # (6,)


@kernel
def view_constants(memory: Array) -> Constants:
    """View the array of :func:`pack_constants`."""
    n, size, bodies, changed, nodes = (
        int(memory[0]), int(memory[1]), int(memory[2]), int(memory[3]), int(memory[4])
    )  # fmt: skip
    tabled = n if nodes > 0 else 0
    gravity, i = view(memory, HEADER, (3,)), HEADER + 3
    sensor, i = view(memory, i, (13,)), i + 13
    armature, i = view(memory, i, (n,)), i + n
    turning, i = view(memory, i, (n,)), i + n
    links, i = view(memory, i, (bodies, COLUMNS)), i + bodies * COLUMNS
    change, i = view(memory, i, (changed, COLUMNS)), i + changed * COLUMNS
    counts, i = view(memory, i, (tabled,)), i + tabled
    ends, i = view(memory, i, (tabled, 2)), i + 2 * tabled
    return Constants(
        n, size, gravity, sensor, armature, turning, links, change, counts, ends, view(memory, i, (nodes,))
    )  # fmt: skip


@kernel
def view_settings(memory: Array) -> Settings:
    """Read the array of :func:`pack_settings`."""
    return Settings(
        memory[0], memory[1], memory[2], memory[3], memory[4], memory[5], memory[6], memory[7], memory[8], memory[9],
        memory[10], memory[11], memory[12], view(memory, 13, (6,)),
    )  # fmt: skip


@kernel
def view_state(memory: Array, n: int, size: int, bodies: int, nodes: int) -> State:
    """View one flat array as the state of an estimate; ``nodes``: number 6 t of table values."""
    width = max(size, WIDTH)
    samples, i = view(memory, 0, (1,)), 1
    motion, i = view(memory, i, (KEPT, 3, size)), i + KEPT * 3 * size
    effort, i = view(memory, i, (KEPT, n)), i + KEPT * n
    before, i = view(memory, i, (n,)), i + n
    velocity, i = view(memory, i, (n,)), i + n
    slow, i = view(memory, i, (n,)), i + n
    acceleration, i = view(memory, i, (n,)), i + n
    reading, i = view(memory, i, (6,)), i + 6
    frozen, i = view(memory, i, (1,)), i + 1
    moved, i = view(memory, i, (1,)), i + 1
    low, i = view(memory, i, (6,)), i + 6
    touching, i = view(memory, i, (1,)), i + 1
    rested, i = view(memory, i, (1,)), i + 1
    drift, i = view(memory, i, (6,)), i + 6
    speed, i = view(memory, i, (1,)), i + 1
    still, i = view(memory, i, (3, size)), i + 3 * size
    given, i = view(memory, i, (16,)), i + 16
    moving, i = view(memory, i, (bodies, STATE)), i + bodies * STATE
    torques, i = view(memory, i, (ROWS, width)), i + ROWS * width
    changes, i = view(memory, i, (ROWS, width)), i + ROWS * width
    return State(
        samples, motion, effort, before, velocity, slow, acceleration, reading, frozen, moved, low, touching, rested,
        drift, speed, still, given, moving, torques, changes, view(memory, i, (max(nodes // 2, 6),)),
    )  # fmt: skip


@kernel
def view_inputs(memory: Array, n: int, m: int) -> Inputs:
    """View one flat array as a sample for n joints and m elastic joints."""
    position, i = view(memory, 0, (n,)), n
    velocity, i = view(memory, i, (n,)), i + n
    effort, i = view(memory, i, (n,)), i + n
    deflection, i = view(memory, i, (m,)), i + m
    rate, i = view(memory, i, (m,)), i + m
    acceleration, i = view(memory, i, (m,)), i + m
    return Inputs(position, velocity, effort, deflection, rate, acceleration, view(memory, i, (6,)))


def input_size(n: int, m: int) -> int:
    """Return the length of the array that :func:`view_inputs` views."""
    return 3 * n + 3 * m + 6


@kernel
def view_joints(memory: Array) -> Joints:
    """View an array (7, n) as results by joint."""
    n = memory.shape[1]
    return Joints(
        view(memory, 0, (n,)), view(memory, n, (n,)), view(memory, 2 * n, (n,)), view(memory, 3 * n, (n,)),
        view(memory, 4 * n, (n,)), view(memory, 5 * n, (n,)), view(memory, 6 * n, (n,)),
    )  # fmt: skip


@kernel
def view_wrenches(memory: Array) -> Wrenches:
    """View an array (4, 6) as wrenches."""
    return Wrenches(view(memory, 0, (6,)), view(memory, 6, (6,)), view(memory, 12, (6,)), view(memory, 18, (6,)))


def pack_constants(
    n: int, size: int, gravity: Array, sensor: Array, armature: Array, turning: Array, links: Array, described: Array,
    table: tuple[NDArray, Array, Array] | None,
) -> Array:  # fmt: skip
    """Return :class:`Constants` as one array.

    Args:
        n: number of actuated joints.
        size: number of coordinates; further arguments as in :class:`Constants`.
        gravity: (3,).
        sensor: (13,).
        armature: (n,).
        turning: (n,).
        links: (B, 32).
        described: (B, 32) links with the gravity parameters of the robot description.
        table: counts, ends and values of a gravity table.
    """
    change = links - described
    change[:, : COLUMNS - 4] = links[:, : COLUMNS - 4]  # weight and first moment are the last
    if np.array_equal(links, described):
        change = change[:0]
    parts = (np.zeros(0), np.zeros((0, 2)), np.zeros(0)) if table is None else table
    header = (n, size, len(links), len(change), parts[2].size)
    return np.concatenate(
        [np.ravel(part) for part in (header, gravity, sensor, armature, turning, links, change, *parts)]
    ).astype(np.float64)


def pack_settings(config: BaseWrenchEstimatorConfig) -> Array:
    """Return :class:`Settings` as one array."""
    contact, bias = config.contact, config.bias
    numbers = (
        1.0 if config.wrench_convention == "robot_on_base" else -1.0,
        round(config.wrench_delay * 1e9),
        config.frozen_samples,
        config.velocity_bandwidth,
        config.acceleration_bandwidth if config.joint_acceleration == "derivative" else 0.0,
        contact.force,
        contact.torque,
        contact.bandwidth,
        bias.time_constant,
        bias.rest_velocity,
        bias.rest_time,
        bias.max_force,
        bias.max_torque,
    )
    return np.array((*numbers, *config.wrench_bias), dtype=np.float64)
