"""Memory of the law: flat arrays, the cheapest arguments of a kernel, and what lies in them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import kernel, pack, views
from flexarm_core.reaction_null_space.vibration.arm_dynamics import Terms, ToolMotion
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
    K_b: Annotated[Array, "m", "m"]  # base stiffness
    D_b: Annotated[Array, "m", "m"]  # base damping
    D_m: Annotated[Array, "n"]  # viscous damping of the joints
    S: Annotated[Array, "0 if soft else selected", "m"]  # selected motions; (0, m) for soft modes
    limits: Annotated[Array, 4, "n if bounded else 0"]  # lower and upper position, velocity, effort


view_constants = views(Constants)


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
    base_bandwidth: float
    rests: bool  # whether the arm is brought to rest
    yields: bool  # whether the reference of the joint servos yields to the base


view_settings = views(Settings)


class Inputs(NamedTuple):
    """Inputs of one sample; see ``DynamicsBlocks``, ``ArmState``, ``ToolKinematics`` and ``CartesianReference``.

    The caller writes the first part, as far as ``approach_time``; the step computes the rest from it.
    """

    measured_position: Annotated[Array, "n"]
    measured_velocity: Annotated[Array, "n"]
    deflection: Annotated[Array, "m"]
    deflection_rate: Annotated[Array, "m"]
    joint_position: Annotated[Array, "n"]  # joint reference: the goal, or the posture for what TOOL_GOAL leaves free
    # this and all velocities and accelerations of references: at rate 1 of the path clock
    joint_velocity: Annotated[Array, "n"]
    joint_acceleration: Annotated[Array, "n"]
    goal_position: Annotated[Array, 3]  # tool reference
    goal_rotation: Annotated[Array, 3, 3]
    goal_velocity: Annotated[Array, 6]
    goal_acceleration: Annotated[Array, 6]
    axes: Annotated[Array, 6]  # 1 for a tracked axis of the tool, else 0
    # 1 if the joint goal is the total acceleration, or the tool goal stands in the inertial frame. If 0, the joint
    # goal is added to the law, and the tool goal excludes the motion of the base. UNKNOWN: the frame is neither.
    absolute: Annotated[Array, 1]
    # time since the reference of the joint servos was integrated [s]; negative: none is known
    since_led: Annotated[Array, 1]
    since_last: Annotated[Array, 1]  # time since the last sample [s]
    forgets: Annotated[Array, 1]  # 1 if load estimates start again
    watched: Annotated[Array, 1]  # bandwidth of load estimation where none is configured [rad/s]
    damps: Annotated[Array, 1]  # 0 if base damping has ended
    rate: Annotated[Array, 1]  # rate of the path clock
    # wanted, smallest and largest rate change r' of the path clock [1/s]
    rate_change: Annotated[Array, 3]
    approach_time: Annotated[Array, 1]  # time in which a velocity limit is approached [s]
    terms: Terms
    position: Annotated[Array, "n"]  # joint positions at which the law is evaluated
    velocity: Annotated[Array, "n"]  # joint velocities at which the law is evaluated
    carrying: Annotated[Array, "n"]  # accelerations by which joint servos carry an unknown load
    lacking: Annotated[Array, "n"]  # estimated acceleration deficits due to an unknown load of joints without servos
    base_lacking: Annotated[Array, "m"]  # estimated forces on the base that the model does not contain
    tool: ToolMotion  # at ``position``


view_inputs = views(Inputs, "n", "m")


class Observed(NamedTuple):
    """Load estimate of k coordinates; see ``load_observer``."""

    known: Array  # (1,) 0 if there is no expected motion, else 1 + the time since it began [s]
    lacking: Array  # (k,) estimated acceleration deficits
    position: Array  # (k,) expected position
    velocity: Array  # (k,) expected velocity


class State(NamedTuple):
    """State between samples; zeros at the start."""

    led: Annotated[Array, 1]  # 1 if there is a reference of the joint servos
    led_position: Annotated[Array, "n"]  # reference of the last sample
    led_velocity: Annotated[Array, "n"]
    led_acceleration: Annotated[Array, "n"]
    led_rate: Annotated[Array, "m"]  # base rate at that sample
    gives: Annotated[
        Array, "n", "m"
    ]  # map from the base rate to the joint velocity that it causes in a reference that yields
    joints_known: Annotated[Array, 1]  # this and the next three fields: load of the joints, see ``Observed``
    joints_lacking: Annotated[Array, "n"]
    joints_position: Annotated[Array, "n"]
    joints_velocity: Annotated[Array, "n"]
    base_known: Annotated[Array, 1]  # this and the next three fields: load of the base
    base_lacking: Annotated[Array, "m"]
    base_position: Annotated[Array, "m"]
    base_velocity: Annotated[Array, "m"]


view_state = views(State, "n", "m")


class Outputs(NamedTuple):
    """Results of one sample."""

    acceleration: Annotated[Array, "n"]  # joint accelerations
    effort: Annotated[Array, "n"]  # joint efforts that realize them
    base: Annotated[Array, "m"]  # expected base acceleration
    observed: Annotated[Array, "m"]  # the same if the joints accelerated as commanded, for the observer of the base
    reaction: Annotated[Array, "m"]  # force and torque on the base
    momentum: Annotated[Array, "m"]  # coupling momentum
    uncompensated: Annotated[Array, "n"]  # joint acceleration deficits that remain uncompensated
    position: Annotated[Array, "n"]  # joint positions at which the law was evaluated
    velocity: Annotated[Array, "n"]  # joint velocities at which the law was evaluated
    wrench: Annotated[Array, 6]  # wrench of the arm on the base link, at its origin and in its axes
    rank: Annotated[Array, 1]  # rank of the coupling
    singular_values: Annotated[Array, "min(k, n)"]  # of the coupling
    damping: Annotated[Array, 1]  # largest damping factor of an inverse
    restricted: Annotated[Array, 1]  # smallest singular value of the restricted Jacobian, 0 without a tool goal
    lost: Annotated[Array, 1]  # share of the path velocity, or of the path correction, that the tool cannot attain
    distance: Annotated[Array, 1]  # tool error along the tracked axes; TURN of orientation error count as 1 m
    # applied rate change r' of the path clock, share of base feedback, share against braking, limit that held back
    bounding: Annotated[Array, 4]


class Sample(NamedTuple):
    """One sample of the law."""

    inputs: Inputs
    outputs: Outputs


view_sample = views(Sample, "n", "m", "k")


def base_bandwidth(config: VibrationControllerConfig, rests: bool = False) -> float:
    """Return the bandwidth at which the base is observed [rad/s]; 0: it is not."""
    if rests or config.realization == "joint_servo":
        return config.load_bandwidth
    return max(config.base_bandwidth, config.load_bandwidth)


@kernel
def are_finite(inputs: Array, n: int, m: int) -> bool:
    """Return whether all inputs that the caller writes are finite; they precede those that the step computes."""
    total, computed = 0.0, view_inputs(inputs, n, m).terms.H_b
    for i in range((computed.ctypes.data - inputs.ctypes.data) // 8):
        total += 0.0 * inputs[i]
    return total == 0.0


def pack_constants(model: ArmModel, selection: BaseSelection, limits: Array | None, weighs: bool) -> Array:
    """Return :class:`Constants` as one array; ``limits`` (4, n), None: the motion is not bounded."""
    numbers = (model.n, model.m, selection.count, selection.soft > 0, limits is not None, weighs)
    bounds = np.empty((4, 0)) if limits is None else limits
    return pack(Constants(*numbers, model.K_b, model.D_b, model.D_m, selection.rows, bounds))


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
        base_bandwidth=base_bandwidth(config, rests),
        rests=rests,
        yields=config.law == "torque",
        **{name: getattr(config, name) for name in GAINS},
    )
    return pack(settings)
