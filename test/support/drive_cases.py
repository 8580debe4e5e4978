"""Random serial arms under random commands through their drives, for what must hold of every one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.static_equilibrium import static_equilibrium
from flexarm_core.types import ArmState, Array
from flexarm_sim.backend import Backend, PlantDivergedError, PlantState
from flexarm_sim.backends import make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.plant import Plant, PlantConfig

SHAKEN, QUIET = 1.0, 3.0  # [s] of changing commands, and of the last one beside the time that its motion needs
UNEVEN = 2.0  # times that: inertia changes on the way, friction and a swinging base take their part of the efforts
RESTING = 1.0  # [s] without motion after which an arm is taken to rest
HELD = 1.3  # times its largest gravity effort that a joint can give, at least, where the arm is not too heavy
TOO_HEAVY, ON_SPRINGS, RUBS, THROWN = 0.15, 0.6, 0.33, 0.2  # shares of the cases
PERIODS = (1_000_000, 2_000_000, 4_000_000, 10_000_000, 20_000_000)  # [ns]
POSTURES, FARTHEST = 40, 3.1  # in which motors can hold it, with each joint that far [rad | m]
SPARE = 0.1  # of its effort limit, which a joint is taken to have left in any posture
RANGE = 9.0  # [rad | m] to either side, in the URDF; nothing in the plant stops a joint there
RESTS = 0.1  # of its velocity limit, which no joint has after the last command


@dataclass(frozen=True, slots=True)
class DriveCase:
    """An arm, its drives and what they are commanded.

    Attributes:
        words: what it is, in short.
        model: of the arm.
        plant: at rest, or thrown.
        backend: of the plant.
        mode: of the drives.
        commands: (ticks, n).
        last: (n,) command after them.
        limits: (n,) of the velocity [rad/s | m/s].
        efforts: (n,) limits of the effort [N*m | N].
        holds: whether the motors can hold the arm in every posture, and stop its sliding joints within these.
        thrown: whether it moves at the beginning.
        calm: whether nothing but the drives moves the joints: a rigid base, no friction, not thrown.
    """

    words: str
    model: ArmModel
    plant: Plant
    backend: Backend
    mode: str
    commands: Array
    last: Array
    limits: Array
    efforts: Array
    holds: bool
    thrown: bool
    calm: bool


@dataclass(frozen=True, slots=True)
class DriveOutcome:
    """What came of a case.

    Attributes:
        diverged: whether the plant gave up, or an arm that its motors can hold was not at rest in the end.
        speed_ratio: largest speed of a joint over its limit, or over the speed with which it was thrown.
        drop: largest motion of an elastic joint before the first command [mm | mrad].
        rest: time after the last change of the commands until no joint was faster than ``RESTS``, inf for never [s].
        allowed: time by which that had to be [s].
    """

    diverged: bool
    speed_ratio: float
    drop: float
    rest: float
    allowed: float


def draw_case(seed: int) -> DriveCase:
    """Draw an arm, on springs or not, its drives, friction, and commands that no arm could follow."""
    draw = np.random.default_rng(seed)
    holds, springs = draw.random() > TOO_HEAVY, int(draw.integers(1, 7)) if draw.random() < ON_SPRINGS else 0
    text, model = draw_arm(draw, holds, springs)
    n = model.n
    start, mode = draw.uniform(-1.0, 1.0, n), str(draw.choice(["position", "velocity"]))
    bandwidth, period = float(np.exp(draw.uniform(np.log(10.0), np.log(500.0)))), int(draw.choice(PERIODS))
    engine = "mujoco" if draw.random() < 0.75 else "flexible_dynamics"
    rubs, thrown = draw.random() < RUBS, draw.random() < THROWN
    backend = make_backend(
        engine,
        model.description,
        tool_frame="tool0",
        max_step=_longest_step(text),
        friction=_friction(draw, model) if rubs else None,
    )
    velocity = draw.uniform(-6.0, 6.0, n) * model.velocity_limit if thrown else np.zeros(n)
    config = PlantConfig(
        period,
        tuple(start),
        initial_velocity=tuple(velocity),
        drive=DriveConfig(mode, bandwidth, clip_effort=True),
    )
    commands = _commands(draw, mode, start, model.velocity_limit, round(SHAKEN * 1e9 / period))
    plant = Plant(model.description, backend, config)
    lost = holds and thrown and _cannot_stop(model, plant.state(), backend.gravity_effort())
    words = f"{mode}, {n} joints, {springs} springs, {engine}, {bandwidth:.0f} rad/s, {period / 1e6:g} ms"
    marks = ("rubs", rubs), ("thrown", thrown), ("too heavy", not holds), ("too far", lost)
    words += "".join(f", {word}" for word, true in marks if true)
    last = commands[-1] if mode == "position" else np.zeros(n)
    calm = not (springs or rubs or thrown)
    limits = model.velocity_limit, model.effort_limit
    return DriveCase(words, model, plant, backend, mode, commands, last, *limits, holds and not lost, thrown, calm)


def run_case(case: DriveCase) -> DriveOutcome:
    """Hold still, then follow the commands, then the last one until the arm rests, for ``QUIET`` at least, or falls."""
    plant = case.plant
    first = plant.state()
    bounds = np.maximum(case.limits, np.abs(first.velocity))
    drop = worst = moved = allowed = 0.0
    try:
        for _ in range(5):
            plant.advance()
            drop = max(drop, float(np.abs(plant.state().deflection - first.deflection).max(initial=0.0)))
        for command in case.commands:
            plant.advance(command)
            worst = max(worst, float((np.abs(plant.state().velocity) / bounds).max()))
        changed, allowed, time = plant.stamp, QUIET + UNEVEN * least_time(case), 0.0
        while not has_fallen(case) and (time < QUIET or (moved <= allowed and time < moved + RESTING)):
            plant.advance(case.last)
            time = 1e-9 * (plant.stamp - changed)
            speeds = np.abs(plant.state().velocity)
            worst = max(worst, float((speeds / bounds).max()))
            if (speeds > RESTS * case.limits).any():
                moved = time
    except PlantDivergedError:
        return DriveOutcome(True, np.inf, 1e3 * drop, np.inf, allowed)
    rest = moved if moved <= allowed else np.inf
    return DriveOutcome(case.holds and rest == np.inf, worst, 1e3 * drop, rest, allowed)


def has_fallen(case: DriveCase) -> bool:
    """Whether a sliding joint whose motor cannot bear its weight is out of its range: from there it falls for ever."""
    if case.holds:
        return False
    too_weak = np.abs(case.backend.gravity_effort()) > case.efforts
    return bool((_sliding(case.model) & too_weak & (np.abs(case.plant.state().position) > RANGE)).any())


def least_time(case: DriveCase) -> float:
    """Time [s] that the best drive would need from now on to bring the arm to rest where its last command wants it.

    It brakes from its present speed with the efforts that the weight leaves over; then it goes the way at the velocity
    limits, also that on which it braked, and speeds up and brakes on it with these efforts; all with the inertia of
    now. Weak motors and long ways take long: that is no divergence.
    """
    state, weight = case.plant.state(), case.backend.gravity_effort()
    inertia = _inertia(case.model, state)
    room = np.maximum(case.efforts - np.abs(weight), SPARE * case.efforts)
    brakes = float(np.max(np.abs(inertia @ state.velocity) / room))
    if case.mode != "position":
        return brakes
    way = np.abs(case.last - state.position) + 0.5 * brakes * np.abs(state.velocity)
    return float(brakes + np.max(way / case.limits) + 2.0 * np.sqrt(np.max(np.abs(inertia) @ way / room)))


def draw_arm(draw: np.random.Generator, holds: bool, springs: int) -> tuple[str, ArmModel]:
    """URDF text of a serial arm and its model: effort limits and springs belong to the weight that the model says.

    Args:
        draw: source.
        holds: whether its motors can hold it in every posture.
        springs: number of elastic joints under it, at most 6.
    """
    n = int(draw.integers(1, 8))
    axes = np.eye(3)[draw.integers(0, 3, n)]
    axes[draw.random(n) < 0.2] = _unit(draw.normal(size=3))
    kinds = ["prismatic" if draw.random() < 0.1 else "revolute" for _ in range(n)]
    masses, lengths = draw.uniform(0.3, 6.0, n) / np.arange(1, n + 1), draw.uniform(0.05, 0.5, n)
    ways = [length * _unit(draw.normal(size=3)) for length in lengths]
    fastest = np.exp(draw.uniform(np.log(0.3), np.log(4.0), n))
    directions = draw.permutation(6)[:springs]  # three of translation, three of rotation

    def text(efforts: Array, stiffness: Array, damping: Array) -> str:
        parts, bends, parent, place = ['<link name="world"/>'], [], "world", np.zeros(3)
        for i, direction in enumerate(directions):
            kind, axis = ("prismatic", "revolute")[direction // 3], np.eye(3)[direction % 3]
            parts += [_joint(f"spring_{i}", kind, parent, f"base_{i}", axis, place, 9.0, 9.0), _body(f"base_{i}", 3.0)]
            bends.append(
                f'<elastic_joint name="spring_{i}" stiffness="{stiffness[i]:.6g}" damping="{damping[i]:.6g}"/>'
            )
            parent = f"base_{i}"
        for i in range(n):
            limits = fastest[i], efforts[i], 0.02 * masses[i]
            parts += [_joint(f"joint_{i}", kinds[i], parent, f"link_{i}", axes[i], place, *limits)]
            parts += [_body(f"link_{i}", masses[i], 0.5 * ways[i])]
            place, parent = ways[i], f"link_{i}"
        parts.append(f'<joint name="tool" type="fixed"><parent link="{parent}"/><child link="tool0"/></joint>')
        body = f'{"".join(parts)}<link name="tool0"/><flexibility>{"".join(bends)}</flexibility>'
        return f'<robot name="drawn">{body}</robot>'

    drawn = text(*_strengths(draw, text, holds, n, springs))
    return drawn, ArmModel(drawn, "tool0")


def _strengths(
    draw: np.random.Generator, text: Callable[[Array, Array, Array], str], holds: bool, n: int, springs: int
) -> tuple[Array, Array, Array]:
    """Effort limits from the heaviest of many postures; springs of 0.8 to 8 Hz under it, weakly damped.

    The weight is that on the leaning base, as far as it leans in each posture, and twice as far, as it swings when
    loaded suddenly. Springs that buckle in a posture are made stiffer: such a base falls over, whatever drives do.
    """
    model = ArmModel(text(np.ones(n), np.ones(springs), np.ones(springs)), "tool0")
    none, rest = np.zeros(n), np.zeros(springs)
    postures = draw.uniform(-FARTHEST, FARTHEST, (POSTURES, n))
    straight = [model.blocks(ArmState(0, posture, none, rest, rest)) for posture in postures]
    own = np.max([np.diag(blocks.H_m) for blocks in straight], axis=0)
    base = np.max([np.diag(blocks.H_b) for blocks in straight], axis=0, initial=1e-3)
    factors = np.exp(draw.uniform(np.log(HELD if holds else 0.5), np.log(6.0), n))
    spare = own * np.exp(draw.uniform(np.log(0.5), np.log(20.0), n))
    frequencies = 2.0 * np.pi * draw.uniform(0.8, 8.0, springs)
    damping = 2.0 * draw.uniform(0.002, 0.1) * base * frequencies
    stiffness, heaviest = base * frequencies**2, None
    while heaviest is None:
        heaviest = _heaviest(ArmModel(text(np.ones(n), stiffness, damping), "tool0"), postures)
        stiffness = stiffness if heaviest is not None else 1.5 * stiffness
    efforts = factors * heaviest + spare if holds else factors * np.maximum(heaviest, own)
    return efforts, stiffness, damping


def _heaviest(model: ArmModel, postures: Array) -> Array | None:
    """Largest weight (n,) on each joint in postures on the leaning base; None where that buckles."""
    none, rest, loads = np.zeros(model.n), np.zeros(model.m), []
    for posture in postures:
        try:
            lean = static_equilibrium(model, posture)
        except RobotDescriptionError:
            return None
        states = (ArmState(0, posture, none, share * lean, rest) for share in (0.0, 1.0, 2.0))
        loads += [np.abs(model.gravity_effort(state)) for state in states]
    return np.asarray(np.max(loads, axis=0))


def _cannot_stop(model: ArmModel, state: PlantState, weight: Array) -> bool:
    """Whether the throw can carry a sliding joint beyond the postures that its motor can hold: all energy may go."""
    energy = 0.5 * state.velocity @ _inertia(model, state) @ state.velocity
    room = np.maximum(model.effort_limit - np.abs(weight), SPARE * model.effort_limit)
    return bool((_sliding(model) & (np.abs(state.position) + energy / room > FARTHEST)).any())


def _sliding(model: ArmModel) -> NDArray[np.bool_]:
    """Which joints are prismatic."""
    return np.array([model.description.joints[name].kind == "prismatic" for name in model.joint_names])


def _inertia(model: ArmModel, state: PlantState) -> Array:
    """Inertia (n, n) of the joints on the base at rest: what they move in the long run, over many of its swings."""
    none = np.zeros(model.n)
    return model.blocks(ArmState(0, state.position, none, state.deflection, np.zeros(model.m))).H_m


def _commands(draw: np.random.Generator, mode: str, start: Array, limits: Array, ticks: int) -> Array:
    """Commands (ticks, n): one step, five, a new one in each tick, or swings of up to 60 rad/s."""
    n, size, time = len(start), np.exp(draw.uniform(np.log(0.01), np.log(3.0))), np.linspace(0.0, SHAKEN, ticks)
    kind = draw.integers(4)
    if kind == 3:
        shape = np.sin(np.outer(time, draw.uniform(1.0, 60.0, n)) + draw.uniform(0.0, 6.0, n))
    else:
        steps = (1, 5, ticks)[kind]
        shape = draw.uniform(-1.0, 1.0, (steps, n))[(np.arange(ticks) * steps) // ticks]
    return np.asarray(start + size * shape if mode == "position" else size * limits * shape)


def _friction(draw: np.random.Generator, model: ArmModel) -> JointFriction:
    """Up to a fifth of what the motors can do."""
    dry = model.effort_limit * draw.uniform(0.0, 0.2, model.n)
    return JointFriction(tuple(0.7 * dry), tuple(dry), tuple(0.1 * dry), (0.05,) * model.n)


def _longest_step(text: str) -> float:
    """Integration step [s] that resolves every spring and damper."""
    model = FlexibleModel(text, "tool0")
    mass = model.mass_matrix(np.zeros(model.size))
    pulls = np.hstack([np.linalg.solve(mass, part) for part in (model.stiffness_matrix(), model.damping_matrix())])
    motion = np.vstack((np.eye(model.size, 2 * model.size, model.size), -pulls))
    return float(min(0.001, 0.5 / np.abs(np.linalg.eigvals(motion)).max()))


def _joint(name: str, kind: str, parent: str, child: str, axis: Array, place: Array, speed: float, effort: float,
           damping: float = 0.0) -> str:  # fmt: skip
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{_words(place)}"/><axis xyz="{_words(axis)}"/><dynamics damping="{damping:.6g}"/>'
        f'<limit lower="{-RANGE}" upper="{RANGE}" effort="{effort:.6g}" velocity="{speed:.6g}"/></joint>'
    )


def _body(name: str, mass: float, center: Array | None = None) -> str:
    place, inertia = np.zeros(3) if center is None else center, 0.004 * mass
    return (
        f'<link name="{name}"><inertial><origin xyz="{_words(place)}"/><mass value="{mass:.6g}"/>'
        f'<inertia ixx="{inertia:.6g}" ixy="0" ixz="0" iyy="{inertia:.6g}" iyz="0" izz="{inertia:.6g}"/></inertial>'
        "</link>"
    )


def _words(numbers: Array) -> str:
    return " ".join(f"{number:.9g}" for number in numbers)


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))
