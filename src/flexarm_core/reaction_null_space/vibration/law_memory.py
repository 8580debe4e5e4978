"""Memory of the law: flat arrays, the cheapest arguments of a kernel, and the only functions that know their layout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexarm_core.compiled import kernel, view
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import LAWS, VibrationControllerConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

REACTIONLESS, TORQUE, RESOLVED_ACCELERATION = 0, 1, 2  # places in LAWS
NO_GOAL, JOINT_GOAL, TOOL_GOAL = 0, 1, 2
GOALS = {"none": NO_GOAL, "hold": JOINT_GOAL, "joint_path": JOINT_GOAL, "tool_path": TOOL_GOAL}
GAINS = (
    "damping_ratio", "vibration_gain", "coupling_threshold", "tool_threshold", "position_gain", "velocity_gain",
    "posture_gain", "servo_position_gain", "servo_velocity_gain",
)  # fmt: skip
UNKNOWN = 2.0  # value of ``absolute`` for a tool goal in an unknown frame
BRAKING = 4.0  # [1/s] rate at which joints are brought to rest, each in proportion to its velocity


class Constants(NamedTuple):
    """Arm, selected motions and limits; made once."""

    n: int  # number of joints
    m: int  # number of base directions
    selected: int  # number k of selected motions
    soft: bool  # whether the k softest modes are selected, not S
    bounded: bool  # whether there are limits
    weighs: bool  # whether gravity acts on the arm
    K_b: Array  # (m, m) base stiffness
    D_b: Array  # (m, m) base damping
    D_m: Array  # (n,) viscous damping of the joints
    S: Array  # (k, m) selected motions; (0, m) for soft modes
    limits: Array  # (4, n) lower and upper position, velocity, effort


class Settings(NamedTuple):
    """Settings of the law; made when the config changes. For the gains see ``VibrationControllerConfig``."""

    law: int
    goal: int
    led: bool  # whether joint servos follow a reference that is integrated from the law
    damped: bool  # whether the base feedback is active
    projected: bool  # whether the goal is restricted to the null space
    wholly: bool  # whether acceleration deficits are compensated in all directions
    damping_ratio: float
    vibration_gain: float
    joint_damping: float
    coupling_threshold: float
    tool_threshold: float
    position_gain: float
    velocity_gain: float
    posture_gain: float
    servo_position_gain: float
    servo_velocity_gain: float
    load_bandwidth: float
    rests: bool  # whether the arm is brought to rest
    yields: bool  # whether the reference of the joint servos yields to the base


class Inputs(NamedTuple):
    """Inputs of one sample; see ``DynamicsBlocks``, ``ArmState``, ``ToolKinematics`` and ``CartesianReference``.

    The caller writes the first part, as far as ``approach_time``; the step computes the rest from it.
    """

    measured_position: Array  # (n,)
    measured_velocity: Array  # (n,)
    deflection: Array  # (m,)
    deflection_rate: Array  # (m,)
    joint_position: Array  # (n,) joint reference: the goal, or the posture for what TOOL_GOAL leaves free
    joint_velocity: Array  # (n,) this and all velocities and accelerations of references: at rate 1 of the path clock
    joint_acceleration: Array  # (n,)
    goal_position: Array  # (3,) tool reference
    goal_rotation: Array  # (3, 3)
    goal_velocity: Array  # (6,)
    goal_acceleration: Array  # (6,)
    axes: Array  # (6,) 1 for a tracked axis of the tool, else 0
    # (1,) 1 if the joint goal is the total acceleration, or the tool goal stands in the inertial frame. If 0, the joint
    # goal is added to the law, and the tool goal excludes the motion of the base. UNKNOWN: the frame is neither.
    absolute: Array
    since_led: Array  # (1,) time since the reference of the joint servos was integrated [s]; negative: none is known
    since_last: Array  # (1,) time since the last sample [s]
    forgets: Array  # (1,) 1 if load estimates start again
    watched: Array  # (1,) bandwidth of load estimation where none is configured [rad/s]
    damps: Array  # (1,) 0 if base damping has ended
    rate: Array  # (1,) rate of the path clock
    # (3,) wanted, smallest and largest rate change r' of the path clock [1/s]
    rate_change: Array
    approach_time: Array  # (1,) time in which a velocity limit is approached [s]
    H_b: Array  # (m, m)
    H_bm: Array  # (m, n)
    H_m: Array  # (n, n)
    c_b: Array  # (m,)
    c_m: Array  # (n,)
    dH_bm_qd: Array  # (m,)
    weight: Array  # (m,) gravity terms of the base rows
    position: Array  # (n,) joint positions at which the law is evaluated
    velocity: Array  # (n,) joint velocities at which the law is evaluated
    carrying: Array  # (n,) accelerations by which joint servos carry an unknown load
    lacking: Array  # (n,) estimated acceleration deficits due to an unknown load of joints without servos
    base_lacking: Array  # (m,) estimated acceleration deficits of the base
    tool_position: Array  # (3,) tool at ``position``
    tool_rotation: Array  # (3, 3)
    tool_velocity: Array  # (6,)
    dJ_v: Array  # (6,)
    J_m: Array  # (6, n)
    J_b: Array  # (6, m)


class Observed(NamedTuple):
    """Load estimate of k coordinates; see ``load_observer``."""

    known: Array  # (1,) 1 if there is an expected motion
    lacking: Array  # (k,) estimated acceleration deficits
    position: Array  # (k,) expected position
    velocity: Array  # (k,) expected velocity


class State(NamedTuple):
    """What is kept from sample to sample; zeros at the start."""

    led: Array  # (1,) 1 if there is a reference of the joint servos
    led_position: Array  # (n,) reference of the last sample
    led_velocity: Array  # (n,)
    led_acceleration: Array  # (n,)
    led_rate: Array  # (m,) base rate at that sample
    gives: Array  # (n, m) map from the base rate to the joint velocity that it causes in a reference that yields
    joints_known: Array  # (1,) this and the next three fields: load of the joints, see ``Observed``
    joints_lacking: Array  # (n,)
    joints_position: Array  # (n,)
    joints_velocity: Array  # (n,)
    base_known: Array  # (1,) this and the next three fields: load of the base
    base_lacking: Array  # (m,)
    base_position: Array  # (m,)
    base_velocity: Array  # (m,)


class Outputs(NamedTuple):
    """Results of one sample."""

    acceleration: Array  # (n,) joint accelerations
    effort: Array  # (n,) joint efforts that realize them
    base: Array  # (m,) expected base acceleration
    reaction: Array  # (m,) force and torque on the base
    momentum: Array  # (m,) coupling momentum
    uncompensated: Array  # (n,) joint acceleration deficits that remain uncompensated
    position: Array  # (n,) joint positions at which the law was evaluated
    velocity: Array  # (n,) joint velocities at which the law was evaluated
    wrench: Array  # (6,) wrench of the arm on the base link, at its origin and in its axes
    rank: Array  # (1,) rank of the coupling
    singular_values: Array  # (min(k, n),) of the coupling
    damping: Array  # (1,) largest damping factor of an inverse
    restricted: Array  # (1,) smallest singular value of the restricted Jacobian, 0 without a tool goal
    lost: Array  # (1,) share of the path velocity, or of the path correction, that the tool cannot attain
    distance: Array  # (1,) tool error along the tracked axes; TURN of orientation error count as 1 m
    # (4,) applied rate change r' of the path clock, share of base feedback, share against braking, limit that held back
    bounding: Array


@kernel
def view_constants(memory: Array) -> Constants:
    """View the array of :func:`pack_constants`."""
    n, m, k, soft, bounded, weighs = int(memory[0]), int(memory[1]), int(memory[2]), memory[3], memory[4], memory[5]
    K_b, i = view(memory, 6, (m, m)), 6 + m * m
    D_b, i = view(memory, i, (m, m)), i + m * m
    D_m, i = view(memory, i, (n,)), i + n
    S, i = view(memory, i, (0 if soft > 0.0 else k, m)), i + (0 if soft > 0.0 else k * m)
    limits = view(memory, i, (4, n if bounded > 0.0 else 0))
    return Constants(n, m, k, soft > 0.0, bounded > 0.0, weighs > 0.0, K_b, D_b, D_m, S, limits)


@kernel
def view_settings(memory: Array) -> Settings:
    """Read the array of :func:`pack_settings`."""
    law, goal, led, damped, projected, wholly = memory[:6]
    load_bandwidth, rests, yields = memory[16:19]
    return Settings(
        int(law), int(goal), led > 0.0, damped > 0.0, projected > 0.0, wholly > 0.0, memory[6], memory[7], memory[8],
        memory[9], memory[10], memory[11], memory[12], memory[13], memory[14], memory[15],
        load_bandwidth, rests > 0.0, yields > 0.0,
    )  # fmt: skip


@kernel
def view_inputs(memory: Array, n: int, m: int) -> Inputs:
    """View one flat array as the inputs for n joints on m base directions."""
    measured_position, i = view(memory, 0, (n,)), n
    measured_velocity, i = view(memory, i, (n,)), i + n
    deflection, i = view(memory, i, (m,)), i + m
    deflection_rate, i = view(memory, i, (m,)), i + m
    joint_position, i = view(memory, i, (n,)), i + n
    joint_velocity, i = view(memory, i, (n,)), i + n
    joint_acceleration, i = view(memory, i, (n,)), i + n
    goal_position, i = view(memory, i, (3,)), i + 3
    goal_rotation, i = view(memory, i, (3, 3)), i + 9
    goal_velocity, i = view(memory, i, (6,)), i + 6
    goal_acceleration, i = view(memory, i, (6,)), i + 6
    axes, i = view(memory, i, (6,)), i + 6
    absolute, i = view(memory, i, (1,)), i + 1
    since_led, i = view(memory, i, (1,)), i + 1
    since_last, i = view(memory, i, (1,)), i + 1
    forgets, i = view(memory, i, (1,)), i + 1
    watched, i = view(memory, i, (1,)), i + 1
    damps, i = view(memory, i, (1,)), i + 1
    rate, i = view(memory, i, (1,)), i + 1
    rate_change, i = view(memory, i, (3,)), i + 3
    approach_time, i = view(memory, i, (1,)), i + 1
    H_b, i = view(memory, i, (m, m)), i + m * m
    H_bm, i = view(memory, i, (m, n)), i + m * n
    H_m, i = view(memory, i, (n, n)), i + n * n
    c_b, i = view(memory, i, (m,)), i + m
    c_m, i = view(memory, i, (n,)), i + n
    dH_bm_qd, i = view(memory, i, (m,)), i + m
    weight, i = view(memory, i, (m,)), i + m
    position, i = view(memory, i, (n,)), i + n
    velocity, i = view(memory, i, (n,)), i + n
    carrying, i = view(memory, i, (n,)), i + n
    lacking, i = view(memory, i, (n,)), i + n
    base_lacking, i = view(memory, i, (m,)), i + m
    tool_position, i = view(memory, i, (3,)), i + 3
    tool_rotation, i = view(memory, i, (3, 3)), i + 9
    tool_velocity, i = view(memory, i, (6,)), i + 6
    dJ_v, i = view(memory, i, (6,)), i + 6
    J_m, i = view(memory, i, (6, n)), i + 6 * n
    J_b = view(memory, i, (6, m))
    return Inputs(
        measured_position, measured_velocity, deflection, deflection_rate, joint_position, joint_velocity,
        joint_acceleration, goal_position, goal_rotation, goal_velocity, goal_acceleration, axes, absolute, since_led,
        since_last, forgets, watched, damps, rate, rate_change, approach_time, H_b, H_bm, H_m, c_b, c_m, dH_bm_qd,
        weight, position, velocity, carrying, lacking, base_lacking, tool_position, tool_rotation, tool_velocity,
        dJ_v, J_m, J_b,
    )  # fmt: skip


@kernel
def are_finite(inputs: Array, n: int, m: int) -> bool:
    """Return whether all inputs that the caller writes are finite; they precede those that the step computes."""
    total = 0.0
    for i in range(5 * n + 2 * m + 41):
        total += 0.0 * inputs[i]
    return total == 0.0


@kernel
def view_state(memory: Array, n: int, m: int) -> State:
    """View one flat array as the state for n joints on m base directions."""
    led, i = view(memory, 0, (1,)), 1
    led_position, i = view(memory, i, (n,)), i + n
    led_velocity, i = view(memory, i, (n,)), i + n
    led_acceleration, i = view(memory, i, (n,)), i + n
    led_rate, i = view(memory, i, (m,)), i + m
    gives, i = view(memory, i, (n, m)), i + n * m
    joints_known, i = view(memory, i, (1,)), i + 1
    joints_lacking, i = view(memory, i, (n,)), i + n
    joints_position, i = view(memory, i, (n,)), i + n
    joints_velocity, i = view(memory, i, (n,)), i + n
    base_known, i = view(memory, i, (1,)), i + 1
    base_lacking, i = view(memory, i, (m,)), i + m
    base_position, i = view(memory, i, (m,)), i + m
    base_velocity = view(memory, i, (m,))
    return State(
        led, led_position, led_velocity, led_acceleration, led_rate, gives, joints_known, joints_lacking,
        joints_position, joints_velocity, base_known, base_lacking, base_position, base_velocity,
    )  # fmt: skip


@kernel
def view_outputs(memory: Array, n: int, m: int, k: int) -> Outputs:
    """View one flat array as the results for n joints, m base directions and k selected motions."""
    acceleration, i = view(memory, 0, (n,)), n
    effort, i = view(memory, i, (n,)), i + n
    base, i = view(memory, i, (m,)), i + m
    reaction, i = view(memory, i, (m,)), i + m
    momentum, i = view(memory, i, (m,)), i + m
    uncompensated, i = view(memory, i, (n,)), i + n
    position, i = view(memory, i, (n,)), i + n
    velocity, i = view(memory, i, (n,)), i + n
    wrench, i = view(memory, i, (6,)), i + 6
    rank, i = view(memory, i, (1,)), i + 1
    singular_values, i = view(memory, i, (min(k, n),)), i + min(k, n)
    damping, i = view(memory, i, (1,)), i + 1
    restricted, i = view(memory, i, (1,)), i + 1
    lost, i = view(memory, i, (1,)), i + 1
    distance, i = view(memory, i, (1,)), i + 1
    bounding = view(memory, i, (4,))
    return Outputs(
        acceleration, effort, base, reaction, momentum, uncompensated, position, velocity, wrench, rank,
        singular_values, damping, restricted, lost, distance, bounding,
    )  # fmt: skip


def pack_constants(model: ArmModel, selection: BaseSelection, limits: Array | None, weighs: bool) -> Array:
    """Return :class:`Constants` as one array; ``limits`` (4, n), None: the motion is not bounded."""
    sizes = (model.n, model.m, selection.count, selection.soft > 0, limits is not None, weighs)
    bounds = np.empty((4, 0)) if limits is None else limits
    return np.concatenate([np.ravel(part) for part in (sizes, model.K_b, model.D_b, model.D_m, selection.rows, bounds)])


def pack_settings(config: VibrationControllerConfig, rests: bool) -> Array:
    """Return :class:`Settings` as one array; ``rests``: the arm is brought to rest and held there."""
    law = "reactionless" if rests and config.law == "torque" else config.law
    settings = Settings(
        law=LAWS.index(law),
        goal=NO_GOAL if rests else GOALS[config.task],
        led=rests or config.realization == "joint_servo",
        damped=config.vibration_damping,
        projected=config.law != "resolved_acceleration" or config.task == "hold",
        wholly=config.load_bandwidth > 0.0,
        joint_damping=BRAKING if rests else config.joint_damping,
        load_bandwidth=config.load_bandwidth,
        rests=rests,
        yields=config.law == "torque",
        **{name: getattr(config, name) for name in GAINS},
    )
    return np.array(settings, dtype=np.float64)
