"""First run: a small motion that `flexarm check` proposes for an unknown arm and verifies in a dry run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.reaction_null_space.stability.stability import largest_stable_damping_ratio
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.static_equilibrium import static_equilibrium
from flexarm_core.types import ArmState, Array
from flexarm_tools.check.description import random_postures, state_at, usual_range
from flexarm_tools.check.posture import RobotBodies
from flexarm_tools.check.stages import soft_selection
from flexarm_tools.metrics.modal_frequencies import modal_frequencies

Gravity = tuple[float, float, float]

RATES = (250.0, 500.0, 1000.0)  # [Hz]
SAMPLES_PER_PERIOD = 40  # samples per period of the fastest vibration to be damped
LARGEST_ACCELERATION = 20.0  # [rad/s^2 | m/s^2] upper bound for the first run
POSTURES = 100  # number of postures; the run starts in the best one
TRIED = 1000  # number of random postures of which those are the first that are clear of mounting plane and arm
CHOICES = 5  # start postures within the reaction null space
DAMPING_RATIO = 0.3  # of the base, upper bound for the first run
TRAVEL = 0.06  # of the tool, relative to its distance from the base
TURN, SLIDE = 0.2, 0.05  # [rad], [m] travel of a joint in a joint motion
EFFORT_SHARE = 0.7  # largest gravity effort of a joint at the start, relative to its effort limit
LEVEL = 1e-6  # [m]
ROOM = 0.9  # part of a joint's range, around its middle, for start postures
SPEED_SHARE = 0.4  # part of the joint limits that a motion uses
SHORTEST, LONGEST = 1.0, 8.0  # [s] duration of a motion
RANK = 1e-3  # relative singular value below which a tool direction counts as not movable
PEAK_SPEED, PEAK_ACCELERATION = 1.875, 5.774  # of the quintic time law with unit distance and duration
SIZES = (1.0, 0.5, 0.25, 0.1)  # scale factors of the motion, tried in this order


@dataclass(frozen=True, slots=True)
class FirstRun:
    """A motion and the stages that control it."""

    stages: str  # stages between reference and gate: `flexible`, `null_space`, `ik` or `joints`
    gravity: Gravity  # (3,) in axes of the root link [m/s^2]
    rate: float  # control rate [Hz]
    max_acceleration: float  # acceleration limit of every joint [rad/s^2 | m/s^2]
    posture: Array  # (n,) joint positions at the start [rad | m]
    displacement: Array  # (3,) of the tool in the base link's frame [m], or (n,) of the joints [rad | m]
    axes: tuple[bool, ...]  # (6,) controlled tool axes; empty for a joint motion
    time: float  # duration of the motion [s]
    rest: float  # time at rest after the motion [s]
    auto: bool = False  # whether only the soft modes of the base are selected
    realization: str = "computed_torque"  # realization of the accelerations, with stages `null_space`
    damping_ratio: float = 0.0  # damping ratio of the base; 0 without vibration damping
    law: str = "reactionless"  # control law, with stages `null_space`
    choice: int = 0  # rank of its start posture among those that are tried

    @property
    def command_mode(self) -> str:
        """Command mode of the gate."""
        return "effort" if self.stages in ("flexible", "null_space") else "position"

    @property
    def tolerance(self) -> float:
        """Largest allowed error of the tool or the joints, one twentieth of the displacement [m | rad]."""
        return rounded_down(0.05 * float(np.abs(self.displacement).max()))

    @property
    def duration(self) -> float:
        """Duration of the whole run [s]."""
        return math.ceil(2.0 * (0.2 + self.time + self.rest)) / 2.0


def first_runs(
    model: ArmModel, gravity: Gravity, flexible: dict[str, ModalData], postures: Array
) -> Iterator[FirstRun]:
    """Yield proposals in order of preference: by stages, and for each kind of stages with a decreasing size of motion.

    The stages are ``null_space`` (with an elastic base) and ``ik`` for an arm with rigid links, ``flexible`` for an arm
    with flexible links, and finally ``joints``. Smaller motions are also slower. ``null_space`` starts in ``CHOICES``
    postures, one after the other (``choice``).

    Args:
        model: model of a robot that can be simulated, under this gravity.
        gravity: (3,) in axes of the root link [m/s^2].
        flexible: modal data of its flexible links.
        postures: (p, n) joint positions at which a run may start, of :func:`clear_postures`.
    """
    states = _resting_postures(model, postures)
    selection = soft_selection(model)
    ways: list[BaseSelection | None] = [] if flexible else [None] if selection is None else [selection, None]
    for kept in ways:
        for choice in range(1 if kept is None else min(CHOICES, len(states))):
            usual = _tool_run(model, states, gravity, kept, choice)
            if usual is not None:
                yield from (_smaller(usual, size) for size in SIZES)
    if flexible:
        usual = _joint_run(model, states, gravity, flexible, "flexible")
        yield from (_smaller(usual, size) for size in SIZES)
    usual = _joint_run(model, states, gravity, flexible, "joints")
    yield from (_smaller(usual, size) for size in SIZES)


def rounded_down(value: float) -> float:
    """Round down to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit) * unit:.2g}")


def resting_state(model: ArmModel, position: Array) -> ArmState:
    """Return the arm at rest in a posture (n,), with its base in static equilibrium.

    Raises:
        RobotDescriptionError: the springs of the base cannot carry the arm.
    """
    return replace(state_at(model, position), deflection=static_equilibrium(model, position))


def _smaller(run: FirstRun, size: float) -> FirstRun:
    """Return the run with a scaled displacement and, if scaled, a longer duration."""
    whole = float(np.abs(run.displacement).max())
    way = np.where(np.abs(run.displacement) > 1e-6 * whole, size * run.displacement, 0.0)
    moved = np.array([float(f"{value:.2g}") for value in way])
    return replace(run, displacement=moved, time=run.time * (1.0 if size == 1.0 else 1.5))


def _resting_postures(model: ArmModel, postures: Array) -> list[ArmState]:
    """Return the arm at rest in some of the postures (p, n), if possible those that motors and base springs carry."""
    states = []
    for q in postures:
        with suppress(RobotDescriptionError):  # the base is too soft for this posture
            states.append(resting_state(model, q))
    if not states:
        free = model.description.free
        raise RobotDescriptionError(
            f"no spring holds {', '.join(free)} (stiffness 0) against the weight: give the stiffness of one that does"
            if free
            else "the springs of the base cannot carry the arm in any posture that was tried: make them stiffer"
        )
    lower, upper = (
        np.array([getattr(model.description.joints[name], side) for name in model.elastic_joint_names])
        for side in ("lower", "upper")
    )

    def borne(state: ArmState) -> bool:
        x = state.deflection
        inside = bool(np.all(x >= ROOM * lower) and np.all(x <= ROOM * upper)) if model.m else True
        weight = np.abs(model.gravity_effort(state))
        return inside and bool(np.all(weight <= EFFORT_SHARE * model.effort_limit))

    return [state for state in states if borne(state)] or states


def clear_postures(model: ArmModel, bodies: RobotBodies) -> Array:
    """Return random postures (p, n) away from the joint limits, if possible over the ground and clear of the robot.

    If there are any, only those with room for the motion.

    Args:
        model: the arm.
        bodies: bodies of its robot.
    """
    middle = _middle(model)
    postures: Array = np.round(middle + ROOM * (random_postures(model, TRIED) - middle), 3)
    room = TRAVEL * max(float(np.ptp(values)) for values in bodies.heights(postures).values())
    touching, under = bodies.touches(postures), bodies.low(postures, -LEVEL)
    for bad in (touching | under | bodies.low(postures, room), touching | under, touching):
        clear = postures[~bad]
        if len(clear):
            near = bodies.touches(clear, 0.5 * room)
            return (clear if near.all() else clear[~near])[:POSTURES]
    return postures[:POSTURES]


def _middle(model: ArmModel) -> Array:
    """Return the middle (n,) of the joint ranges, as far as they are usual."""
    lower, upper = usual_range(model)
    middle: Array = 0.5 * (lower + upper)
    return middle


def _max_acceleration(model: ArmModel, states: list[ArmState]) -> float:
    """Return the acceleration that every joint may have, and can have beside the arm's weight in all postures."""
    room = min(LARGEST_ACCELERATION, float(model.acceleration_limit.min()))
    for state in states:
        blocks = model.blocks(state)
        spare, inertia = model.effort_limit - np.abs(blocks.c_m), np.diag(blocks.H_m)
        moved = inertia > 0.0  # a point mass on its axis takes no effort
        room = min(room, float((spare[moved] / inertia[moved]).min(initial=room)))
    return rounded_down(max(room, 0.1))


def _rate(frequencies: list[float]) -> float:
    wanted = SAMPLES_PER_PERIOD * max(frequencies, default=0.0)
    return next((rate for rate in RATES if rate >= wanted), RATES[-1])


def _rest(model: ArmModel, state: ArmState) -> float:
    """Return the time to observe the arm after its motion, two periods of the base within bounds [s]."""
    period = model.longest_period(state) if model.m else 0.0
    return min(max(0.5, 2.0 * period), 4.0)


def _tool_run(
    model: ArmModel, states: list[ArmState], gravity: Gravity, selection: BaseSelection | None, choice: int = 0
) -> FirstRun | None:
    """Return a motion of the tool along an axis with good mobility; None if the tool cannot move.

    It starts in the posture of best mobility, or with a ``choice`` above 0 in one after it.
    """
    jacobians = [_tool_motions(model, selection, state) for state in states]
    singular = [np.linalg.svd(J[:3], compute_uv=False) for J in jacobians]
    rank = max(int((s > RANK * max(s[0], 1e-12)).sum()) if s.size else 0 for s in singular)
    if rank == 0 or max(s[0] for s in singular) < 1e-6:
        return None
    whole = selection is None and model.n >= 6 and max(np.linalg.matrix_rank(J, tol=RANK) for J in jacobians) == 6

    def quality(i: int) -> float:
        if whole:  # rotations are scaled by the distance of the tool
            return float(np.linalg.svd(_scaled(model, states[i], jacobians[i]), compute_uv=False)[5])
        return float(singular[i][rank - 1]) * (1.0 if _above(model, states[i]) else 0.3)

    best = sorted(range(len(states)), key=quality, reverse=True)[choice]
    state, J = states[best], jacobians[best] if whole else jacobians[best][:3]
    turns, _, _ = np.linalg.svd(J[:3])
    plane = turns[:, :rank]  # directions in which the tool can move
    led = tuple(bool(np.linalg.norm(plane[i]) > 1.0 - 1e-6) for i in range(3))
    back = np.linalg.pinv(J, rcond=RANK)[:, :3]
    ways = [np.eye(3)[i] for i in range(3) if led[i]] or [plane[:, 0]]
    way = max((sign * w for w in ways for sign in (1.0, -1.0)), key=lambda w: _room(model, state, back @ w))
    reaches = [float(np.linalg.norm(model.tool_kinematics(s, model.base_frame).position)) for s in states]
    travel = min(TRAVEL * max(reaches[best], 0.3 * max(reaches)), 0.3 * _room(model, state, back @ way))
    acceleration = _max_acceleration(model, states)
    frequencies = []
    if selection is not None:
        frequencies = [float(np.sort(model.natural_frequencies(state))[selection.count - 1] / (2.0 * np.pi))]
    run = FirstRun(
        stages="ik" if selection is None else "null_space",
        gravity=gravity,
        rate=_rate(frequencies),
        max_acceleration=acceleration,
        posture=state.position,
        displacement=travel * way,
        axes=(*(led if any(led) else (True, True, True)), *(3 * (whole,))),
        time=_time(model, travel * (back @ way), acceleration),
        rest=_rest(model, state),
        auto=selection is not None and selection.count < model.m,
        choice=choice,
    )
    return run if selection is None else _with_damping(model, run, selection)


def _joint_run(
    model: ArmModel, states: list[ArmState], gravity: Gravity, flexible: dict[str, ModalData], stages: str
) -> FirstRun:
    """Return a small motion of every joint towards the middle of its range."""
    state = states[0]
    kinds = [model.description.joints[name].kind for name in model.joint_names]
    usual = np.array([SLIDE if kind == "prismatic" else TURN for kind in kinds])
    room = 0.2 * (model.upper - model.lower)
    middle = _middle(model)
    step = np.where(state.position > middle, -1.0, 1.0) * np.minimum(usual, room)
    acceleration = _max_acceleration(model, states)
    rest = _rest(model, state)
    return FirstRun(
        stages=stages,
        gravity=gravity,
        rate=_rate([float(f) for data in flexible.values() for f in modal_frequencies(data)[0][:1]]),
        max_acceleration=acceleration,
        posture=state.position,
        displacement=step,
        axes=(),
        time=min(max(_time(model, step, acceleration), 2.0, rest if model.m else 0.0), LONGEST),
        rest=rest,
    )


def _tool_motions(model: ArmModel, selection: BaseSelection | None, state: ArmState) -> Array:
    """Return the tool Jacobian (6, n) in the base link's frame, for motions that do not excite the selection."""
    J = model.tool_kinematics(state, model.base_frame).J_m
    if selection is None:
        return J
    A = selection.at(model.blocks(state), DAMPING_RATIO, 0.0).coupling
    restricted: Array = J @ (np.eye(model.n) - np.linalg.pinv(A) @ A)
    return restricted


def _scaled(model: ArmModel, state: ArmState, J: Array) -> Array:
    return np.vstack((J[:3], J[3:] * np.linalg.norm(model.tool_kinematics(state, model.base_frame).position)))


def _above(model: ArmModel, state: ArmState) -> bool:
    """Return whether the tool is not below the base link."""
    return bool(model.tool_kinematics(state, model.base_frame).position[2] >= -1e-6)


def _room(model: ArmModel, state: ArmState, rate: Array) -> float:
    """Return how far joints can move along a direction (n,) until one reaches its limit, at most 1 rad or 1 m each."""
    ahead = np.where(rate > 0.0, model.upper - state.position, state.position - model.lower)
    share = np.minimum(ahead, 1.0) / np.maximum(np.abs(rate), 1e-9)
    return float(share.min())


def _time(model: ArmModel, step: Array, acceleration: float) -> float:
    """Return the time in which the joints move by a step (n,) at a fraction of their limits [s]."""
    size = np.abs(step)
    by_speed = PEAK_SPEED * float((size / model.velocity_limit).max()) / SPEED_SHARE
    by_acceleration = math.sqrt(PEAK_ACCELERATION * float(size.max()) / (SPEED_SHARE * acceleration))
    return min(max(SHORTEST, math.ceil(10.0 * max(by_speed, by_acceleration)) / 10.0), LONGEST)


def _with_damping(model: ArmModel, run: FirstRun, selection: BaseSelection) -> FirstRun:
    """Select the realization and the damping ratio: half the largest stable value, at most DAMPING_RATIO."""
    sampling = Sampling(period=1.0 / run.rate, delay=1.0 / run.rate)
    ways = ("computed_torque", "joint_servo") if selection.count == model.m else ("joint_servo",)
    for realization in ways:
        config = VibrationControllerConfig(
            task="hold", realization=realization, position_gain=100.0, velocity_gain=20.0, damping_ratio=DAMPING_RATIO
        )
        largest = largest_stable_damping_ratio(model, run.posture, config, selection, sampling)
        if largest > 0.0:
            ratio = rounded_down(min(DAMPING_RATIO, 0.5 * largest))
            return replace(run, realization=realization, damping_ratio=ratio)
    return replace(run, realization=ways[-1])
