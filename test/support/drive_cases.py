"""Random serial arms under random commands through their drives, for what must hold of every one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array
from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.backends import make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.friction import JointFriction
from flexarm_sim.plant import Plant, PlantConfig

SHAKEN, QUIET = 1.0, 3.0  # [s] of changing commands, and of the last one
HELD = 1.3  # times its largest gravity effort that a joint can give, at least, where the arm is not too heavy
TOO_HEAVY, ON_SPRINGS, RUBS, THROWN = 0.15, 0.6, 0.33, 0.2  # shares of the cases
PERIODS = (1_000_000, 2_000_000, 4_000_000, 10_000_000, 20_000_000)  # [ns]
POSTURES = 40
RESTS = 0.1  # of its velocity limit, which no joint has after the last command


@dataclass(frozen=True, slots=True)
class DriveCase:
    """An arm, its drives and what they are commanded.

    Attributes:
        words: what it is, in short.
        plant: at rest, or thrown.
        commands: (ticks, n).
        last: (n,) command after them.
        limits: (n,) of the velocity [rad/s | m/s].
        holds: whether the motors can hold the arm in every posture.
        thrown: whether it moves at the beginning.
        calm: whether nothing but the drives moves the joints: a rigid base, no friction, not thrown.
    """

    words: str
    plant: Plant
    commands: Array
    last: Array
    limits: Array
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
    """

    diverged: bool
    speed_ratio: float
    drop: float


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
    words = f"{mode}, {n} joints, {springs} springs, {engine}, {bandwidth:.0f} rad/s, {period / 1e6:g} ms"
    words += "".join(
        f", {word}" for word, true in (("rubs", rubs), ("thrown", thrown), ("too heavy", not holds)) if true
    )
    last = commands[-1] if mode == "position" else np.zeros(n)
    plant = Plant(model.description, backend, config)
    calm = not (springs or rubs or thrown)
    return DriveCase(words, plant, commands, last, model.velocity_limit, holds, thrown, calm)


def run_case(case: DriveCase) -> DriveOutcome:
    """Hold still, then follow the commands, then the last one for long."""
    plant = case.plant
    first = plant.state()
    bounds = np.maximum(case.limits, np.abs(first.velocity))
    drop, worst, speeds = 0.0, 0.0, np.zeros(len(bounds))
    try:
        for _ in range(5):
            plant.advance()
            drop = max(drop, float(np.abs(plant.state().deflection - first.deflection).max(initial=0.0)))
        ticks = round(QUIET * 5e9 / plant.stamp)
        for command in np.vstack((case.commands, np.tile(case.last, (ticks, 1)))):
            plant.advance(command)
            speeds = np.abs(plant.state().velocity)
            worst = max(worst, float((speeds / bounds).max()))
    except PlantDivergedError:
        return DriveOutcome(True, np.inf, 1e3 * drop)
    return DriveOutcome(case.holds and bool((speeds > RESTS * case.limits).any()), worst, 1e3 * drop)


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

    weighed = ArmModel(text(np.ones(n), np.ones(springs), np.ones(springs)), "tool0")
    drawn = text(*_strengths(draw, weighed, holds))
    return drawn, ArmModel(drawn, "tool0")


def _strengths(draw: np.random.Generator, model: ArmModel, holds: bool) -> tuple[Array, Array, Array]:
    """Effort limits from the heaviest of many postures; springs of 0.8 to 8 Hz under it, weakly damped."""
    none, rest = np.zeros(model.n), np.zeros(model.m)
    heaviest, own, base = np.zeros(model.n), np.zeros(model.n), np.full(model.m, 1e-3)
    for _ in range(POSTURES):
        blocks = model.blocks(ArmState(0, draw.uniform(-3.1, 3.1, model.n), none, rest, rest))
        heaviest, own = np.maximum(heaviest, np.abs(blocks.c_m)), np.maximum(own, np.diag(blocks.H_m))
        base = np.maximum(base, np.diag(blocks.H_b))
    factors = np.exp(draw.uniform(np.log(HELD if holds else 0.5), np.log(6.0), model.n))
    spare = own * np.exp(draw.uniform(np.log(0.5), np.log(20.0), model.n))
    efforts = factors * heaviest + spare if holds else factors * np.maximum(heaviest, own)
    frequencies = 2.0 * np.pi * draw.uniform(0.8, 8.0, model.m)
    return efforts, base * frequencies**2, 2.0 * draw.uniform(0.002, 0.1) * base * frequencies


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
        f'<limit lower="-9" upper="9" effort="{effort:.6g}" velocity="{speed:.6g}"/></joint>'
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
