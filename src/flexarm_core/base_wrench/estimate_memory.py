"""Memory of the estimate: flat arrays, the cheapest arguments of a kernel, and what lies in them.

Sizes: ``n`` actuated and ``m`` elastic joints, ``size`` coordinates N = n + m, ``nodes`` values of a gravity table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.base_wrench.bias_tracking import BiasSettings, BiasState
from flexarm_core.base_wrench.contact_detection import ContactSettings, ContactState
from flexarm_core.base_wrench.motion_filter import FilterSettings, FilterState
from flexarm_core.base_wrench.newton_euler import ROWS, STATE, WIDTH
from flexarm_core.base_wrench.sensed_bodies import COLUMNS, RATIO, WEIGHT
from flexarm_core.compiled import pack, views
from flexarm_core.types import Array

if TYPE_CHECKING:
    from flexarm_core.base_wrench.estimator import BaseWrenchEstimatorConfig

KEPT = 64  # number of stored samples, from which the sample of a delayed wrench is selected


class Constants(NamedTuple):
    """Arm, sensor and gravity table; made once."""

    n: int
    size: int  # number N of coordinates
    bodies: int
    changed: int  # number of bodies, or 0 if their calibrated gravity parameters are those of the description
    nodes: int  # number 6 t of values of the gravity table, 0 if there is none
    gravity: Annotated[Array, 3]  # in the root link frame [m/s^2]
    sensor: Annotated[Array, 13]  # see ``newton_euler``
    armature: Annotated[Array, "n"]  # rotor inertias
    turning: Annotated[Array, "n"]  # 1 for an endless joint
    links: Annotated[Array, "bodies", COLUMNS]  # this and ``structure``: see ``SensedBodies``
    structure: Annotated[NDArray[np.int64], "bodies", 5]
    change: Annotated[Array, "changed", COLUMNS]  # the same with calibrated minus described gravity parameters
    counts: Annotated[Array, "n if nodes else 0"]  # number of nodes of the gravity table
    ends: Annotated[Array, "n if nodes else 0", 2]  # nodes of prismatic joints
    table: Annotated[Array, "nodes"]  # values of the table


view_constants = views(Constants)


class Settings(NamedTuple):
    """Settings; see ``BaseWrenchEstimatorConfig``, ``ContactDetectionConfig`` and ``BiasTrackingConfig``."""

    sign: float  # 1: wrench of the robot on its base, -1: of the base on the robot
    delay: float  # [ns] age of the wrench
    frozen_samples: float
    filter: FilterSettings  # acceleration_bandwidth 0: accelerations are neglected
    contact: ContactSettings
    tracking: BiasSettings
    bias: Annotated[Array, 6]  # configured bias


class State(NamedTuple):
    """What lasts from sample to sample, and room for the recursion."""

    samples: Annotated[Array, 1]  # number of samples so far; sample k is stored at row k modulo KEPT
    stamps: Annotated[NDArray[np.int64], KEPT]  # of the stored samples [ns]
    motion: Annotated[Array, KEPT, 3, "size"]  # positions, velocities and accelerations of the stored samples
    effort: Annotated[Array, KEPT, "n"]  # efforts of the stored samples; NaN: unknown
    filtered: FilterState
    reading: Annotated[Array, 6]  # last usable reading
    frozen: Annotated[Array, 1]  # number of equal readings in a row
    moved: Annotated[Array, 1]  # whether the efforts changed from the sample before to the last one
    contact: ContactState
    tracked: BiasState  # robot on base
    speed: Annotated[Array, 1]  # largest filtered joint velocity
    still: Annotated[Array, 3, "size"]  # a motion without velocities and accelerations
    given: Annotated[Array, 16]  # this, the bodies and the torques: see ``newton_euler.Sensing``
    bodies: Annotated[Array, "bodies", STATE]
    torques: Annotated[Array, ROWS, f"max(size, {WIDTH})"]
    changes: Annotated[Array, ROWS, f"max(size, {WIDTH})"]
    work: Annotated[Array, "max(nodes // 2, 6)"]  # of the gravity table


view_state = views(State, "n", "size", "bodies", "nodes")


class Estimator(NamedTuple):
    """All that lasts longer than a sample."""

    constants: Constants
    settings: Settings
    state: State


view_estimator = views(Estimator, "n", "size", "bodies", "nodes")


class Inputs(NamedTuple):
    """One sample; see ``BaseWrenchSample``."""

    known: bool  # whether there are efforts
    position: Annotated[Array, "n"]
    velocity: Annotated[Array, "n"]
    effort: Annotated[Array, "n"]
    deflection: Annotated[Array, "m"]
    deflection_rate: Annotated[Array, "m"]
    deflection_acceleration: Annotated[Array, "m"]
    wrench: Annotated[Array, 6]  # NaN if missing


view_inputs = views(Inputs, "n", "m")


class Joints(NamedTuple):
    """Results by joint, rows of one array; see ``BaseWrenchEstimate`` and ``BaseWrenchEstimator``."""

    torque: Annotated[Array, "n"]
    friction: Annotated[Array, "n"]
    gravity: Annotated[Array, "n"]
    model_torque: Annotated[Array, "n"]
    velocity: Annotated[Array, "n"]
    acceleration: Annotated[Array, "n"]
    gravity_change: Annotated[Array, "n"]


class Wrenches(NamedTuple):
    """Wrenches, rows of one array; see ``BaseWrenchEstimate``."""

    wrench: Annotated[Array, 6]
    gravity: Annotated[Array, 6]
    residual: Annotated[Array, 6]
    bias: Annotated[Array, 6]


view_joints, view_wrenches = views(Joints, "n"), views(Wrenches)


def pack_constants(
    n: int, size: int, gravity: Array, sensor: Array, armature: Array, turning: Array, links: Array, described: Array,
    table: tuple[NDArray, Array, Array] | None,
) -> Array:  # fmt: skip
    """Return the numbers and arrays of :class:`Constants` that are no integers as one array.

    Args:
        n: number of actuated joints.
        size: number of coordinates; further arguments as in :class:`Constants`.
        gravity: (3,).
        sensor: (13,).
        armature: (n,).
        turning: (n,).
        links: (B, 33).
        described: (B, 33) links with the gravity parameters of the robot description.
        table: counts, ends and values of a gravity table.
    """
    change = links - described
    change[:, :WEIGHT], change[:, RATIO] = links[:, :WEIGHT], links[:, RATIO]
    if np.array_equal(links, described):
        change = change[:0]
    parts = (np.zeros(0), np.zeros((0, 2)), np.zeros(0)) if table is None else table
    sizes = (n, size, len(links), len(change), parts[2].size)
    return pack((*sizes, gravity, sensor, armature, turning, links, change, *parts))


def pack_settings(config: BaseWrenchEstimatorConfig) -> Array:
    """Return :class:`Settings` as one array."""
    contact, bias = config.contact, config.bias
    settings = Settings(
        1.0 if config.wrench_convention == "robot_on_base" else -1.0,
        round(config.wrench_delay * 1e9),
        config.frozen_samples,
        FilterSettings(
            config.velocity_bandwidth,
            config.acceleration_bandwidth if config.joint_acceleration == "derivative" else 0.0,
        ),
        ContactSettings(contact.force, contact.torque, contact.bandwidth),
        BiasSettings(bias.time_constant, bias.rest_velocity, bias.rest_time, bias.max_force, bias.max_torque),
        np.array(config.wrench_bias),
    )
    return pack(settings)
