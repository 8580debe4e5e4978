"""Random programs of behaviors whose settings change while the arm moves, and what becomes of them.

A program is some behaviors, each with settings that are functions of time and a little noise, and maybe matrices that
are. It is run on an arm with drives that lag, before a wall with friction or in the free, with its settings taken over
at every sample or now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from robots import find

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.avoidance.obstacle_guard import ObstacleGuard
from flexarm_core.behavior_impedance.avoidance.obstacles import obstacles_from_lists
from flexarm_core.behavior_impedance.behavior import Arm, BehaviorSpec
from flexarm_core.behavior_impedance.behaviors.teleoperation import Teleoperation
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

TASKS, FORMS = ("free", "force", "wiping"), ("tool", "joint")
ROBOTS = ("arm_7r", "panda", "ur5", "iiwa", "arm_6r", "random")
TOOL_KINDS = ("path", "teleoperation", "dither", "spring")
JOINT_KINDS = ("posture", "joint_limits", "singularity", "obstacles")
NOISE = 0.01  # of every setting, at every sample
BANDWIDTH = 200.0  # of the drives [rad/s]
GAP = 0.0005  # [m] between tool and wall at the begin
ACCELERATION = 20.0  # [rad/s^2] of every joint


@cache
def arm_of(name: str, seed: int = 0) -> Arm:
    """What behaviors know of a robot, or of a random serial arm of a seed."""
    text, tool = (_random_arm(np.random.default_rng(seed)), "tool0") if name == "random" else find(name)
    description = parse_robot_description(text, massless=True)
    chain = build_chain(description, tool)
    limits = MotionLimits(chain.lower, chain.upper, chain.velocity_limit, np.full(chain.n, ACCELERATION))
    return Arm(chain, build_arm_shape(description, chain), limits)


def _random_arm(rng: np.random.Generator) -> str:
    """URDF of a serial arm of six to eight joints, about axes and of lengths drawn at random."""
    joints, n = ['<robot name="random"><link name="l0"/>'], int(rng.integers(6, 9))
    for i in range(n):
        axis, way = rng.normal(size=3), rng.normal(size=3)
        axis, way = axis / np.linalg.norm(axis), way * rng.uniform(0.1, 0.3) / np.linalg.norm(way)
        joints.append(
            f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/>'
            f'<origin xyz="{way[0]} {way[1]} {abs(way[2])}"/><axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>'
            f'<limit lower="-2.8" upper="2.8" effort="100" velocity="2.0"/></joint><link name="l{i + 1}"/>'
        )
    end = f'<joint name="end" type="fixed"><parent link="l{n}"/><child link="tool0"/><origin xyz="0.1 0 0.05"/></joint>'
    return "".join((*joints, end, '<link name="tool0"/></robot>'))


def begin(arm: Arm, position: Array, config: ImpedanceConfig) -> BehaviorImpedanceController:
    """A controller at rest."""
    made = BehaviorImpedanceController(arm, config, RedundancyConfig(objective_time_constant=0.0))
    made.begin(position)
    return made


def least_singular_value(arm: Arm, position: Array) -> float:
    """Of the Jacobian, rotations scaled to lengths [m/rad]."""
    J = arm.chain.kinematics(position)[2].copy()
    J[3:] *= arm.length_scale
    return float(np.linalg.svd(J, compute_uv=False)[-1])


Settings = Callable[[float, Array], dict[str, Any]]  # of time [s] and noise about 1, (4,)


@dataclass(slots=True)
class Program:
    """What is asked for over time.

    Attributes:
        seed: it was drawn from.
        arm: that does it.
        robot: its name.
        task: free, force or wiping.
        form: whether behaviors of the tool or of the joints change.
        start: joints (n,).
        behaviors: name, kind and settings of each.
        config: matrices, of time and noise.
        normal: (3,) of the wall, towards the arm; none in the free.
        stiffness: of the wall [N/m].
        twist: (6,) amplitude of what an operator sends.
        period: of a sample [s].
    """

    seed: int
    arm: Arm
    robot: str
    task: str
    form: str
    start: Array
    behaviors: list[tuple[str, str, Settings]]
    config: Callable[[float, Array], ImpedanceConfig]
    normal: Array | None
    stiffness: float
    twist: Array
    period: float = 0.002

    def specs(self, time: float, noise: Array) -> list[BehaviorSpec]:
        """Behaviors at a time, with noise (b, 4) about 1."""
        return [
            BehaviorSpec(name, kind, settings(time, noise[k]))
            for k, (name, kind, settings) in enumerate(self.behaviors)
        ]


def _swing(rng: np.random.Generator, low: float, high: float) -> Callable[[float], float]:
    """Something that swings slowly about the middle of a range, by up to a quarter of it."""
    middle, part = rng.uniform(low, high), 0.25 * (high - low) * rng.uniform(0.2, 1.0)
    rate, phase = 2.0 * np.pi * rng.uniform(0.05, 0.3), rng.uniform(0.0, 2.0 * np.pi)
    return lambda t: float(np.clip(middle + part * np.sin(rate * t + phase), low, high))


def draw(seed: int) -> Program:
    """A random program; task and form follow from the seed in turn, everything else is drawn."""
    rng = np.random.default_rng(seed)
    task, form, robot = TASKS[seed % 3], FORMS[(seed // 3) % 2], ROBOTS[(seed // 6) % len(ROBOTS)]
    arm, start = _ready(rng, robot)
    R = arm.chain.pose(start)[1]
    normal = -R[:, 2] if task != "free" else None
    base = ImpedanceConfig(
        inertia=(5.0,) * 3 + (0.2,) * 3,
        damping=(450.0,) * 3 + (20.0,) * 3,
        stiffness=(1e4,) * 3 + (400.0,) * 3,
        variant="velocity" if rng.uniform() < 0.2 else "acceleration",
        frame="tool" if rng.uniform() < 0.3 else "base",
    )
    sizes = [_swing(rng, 0.5, 2.0) for _ in range(4)]
    retunes = rng.uniform() < 0.5

    def config(t: float, noise: Array) -> ImpedanceConfig:
        if not retunes:
            return base
        scaled = {
            name: tuple(value * size(t) * k for value in getattr(base, name))
            for name, size, k in zip(("inertia", "damping", "stiffness", "joint_damping"), sizes, noise, strict=True)
        }
        return ImpedanceConfig(**scaled, variant=base.variant, frame=base.frame)

    behaviors: list[tuple[str, str, Settings]] = []
    if task != "free":
        behaviors.append(("press", "force", _force(rng)))
    own = TOOL_KINDS if form == "tool" else JOINT_KINDS
    kinds = {kind for kind in own if rng.uniform() < 0.5} or {str(rng.choice(own))}
    if task == "wiping" or form == "joint":
        kinds.add("path")
    for kind in (*TOOL_KINDS, *JOINT_KINDS):
        if kind in kinds:
            behaviors.append((kind, kind, _SETTINGS[kind](rng, arm, start)))
    twist = np.concatenate((rng.uniform(-0.03, 0.03, 3), rng.uniform(-0.1, 0.1, 3)))
    stiffness = float(rng.uniform(5e3, 4e4))
    return Program(seed, arm, robot, task, form, start, behaviors, config, normal, stiffness, twist)


def _ready(rng: np.random.Generator, robot: str) -> tuple[Arm, Array]:
    """An arm and joints (n,) away from their ends and from singularities."""
    while True:
        arm = arm_of(robot, int(rng.integers(40)))
        lower, upper = np.maximum(arm.limits.lower, -2.5), np.minimum(arm.limits.upper, 2.5)
        for _ in range(200):
            q = lower + rng.uniform(0.2, 0.8, arm.chain.n) * (upper - lower)
            if least_singular_value(arm, q) > 0.05:
                return arm, q


def _force(rng: np.random.Generator) -> Settings:
    size, damping = _swing(rng, 10.0, 25.0), _swing(rng, 2000.0, 3000.0)
    return lambda t, k: {
        "wrench": [0.0, 0.0, size(t) * k[0], 0.0, 0.0, 0.0],
        "damping": [damping(t) * k[1], 50.0 * k[2]],
        "frame": "tool",
    }


def _path(rng: np.random.Generator, arm: Arm, start: Array) -> Settings:
    way = rng.normal(size=3)
    way *= rng.uniform(0.04, 0.1) / np.linalg.norm(way)
    speed, change, side, bends = _swing(rng, 0.05, 0.15), _swing(rng, 0.3, 0.8), rng.normal(size=3), rng.uniform() < 0.3
    if bends:  # the goal moves: planned anew at every change
        return lambda t, k: {
            "positions": list(k[0] * way + 0.03 * np.sin(1.5 * t) * side), "relative": True,
            "max_linear_velocity": speed(t), "max_linear_acceleration": change(t),
        }  # fmt: skip
    return lambda t, k: {
        "positions": list(way), "relative": True,
        "max_linear_velocity": speed(t) * k[0], "max_linear_acceleration": change(t) * k[1],
    }  # fmt: skip


def _teleoperation(rng: np.random.Generator, arm: Arm, start: Array) -> Settings:
    lag, speed, change = _swing(rng, 0.03, 0.08), _swing(rng, 0.03, 0.1), _swing(rng, 0.3, 1.0)
    return lambda t, k: {
        "max_lag": lag(t) * k[0], "max_linear_velocity": speed(t) * k[1], "max_linear_acceleration": change(t) * k[2],
    }  # fmt: skip


def _dither(rng: np.random.Generator, arm: Arm, start: Array) -> Settings:
    size, rate = _swing(rng, 0.001, 0.004), _swing(rng, 0.5, 2.0)
    way = rng.normal(size=6) * np.repeat((1.0, 5.0), 3)
    way = np.abs(way) / np.linalg.norm(way[:3])
    return lambda t, k: {"amplitude": list(size(t) * k[0] * way), "frequency": rate(t) * k[1]}


def _spring(rng: np.random.Generator, arm: Arm, start: Array) -> Settings:
    place, side = arm.chain.pose(start)[0] + 0.05 * rng.normal(size=3), 0.05 * rng.normal(size=3)
    stiffness, damping, most = _swing(rng, 100.0, 1000.0), _swing(rng, 10.0, 100.0), _swing(rng, 5.0, 60.0)
    return lambda t, k: {
        "position": list(place + np.sin(1.5 * t) * side),
        "stiffness": [stiffness(t) * k[0]] * 3 + [10.0 * k[1]] * 3,
        "damping": [damping(t) * k[2]] * 3 + [1.0] * 3,
        "max_force": most(t) * k[3],
    }


def _posture(rng: np.random.Generator, arm: Arm, start: Array) -> Settings:
    wanted, stiffness = start + 0.3 * rng.normal(size=arm.chain.n), _swing(rng, 5.0, 30.0)
    side = 0.2 * rng.normal(size=arm.chain.n)
    return lambda t, k: {"position": list(wanted + np.sin(1.5 * t) * side * k[1]), "stiffness": [stiffness(t) * k[0]]}


def _joint_limits(rng: np.random.Generator, arm: Arm, start: Array) -> Settings:
    influence, effort = _swing(rng, 0.5, 1.2), _swing(rng, 5.0, 20.0)
    yields = 0.5 if rng.uniform() < 0.5 else 0.0
    return lambda t, k: {"range": influence(t) * k[0], "effort": effort(t) * k[1], "tool_range": yields * k[2]}


def _singularity(rng: np.random.Generator, arm: Arm, start: Array) -> Settings:
    influence, force = _swing(rng, 0.1, 0.25), _swing(rng, 10.0, 40.0)
    return lambda t, k: {"range": influence(t) * k[0], "force": force(t) * k[1]}


def _obstacles(rng: np.random.Generator, arm: Arm, start: Array) -> Settings:
    """A sphere beside the arm that moves to and fro, and does not come so near that the arm has to stop."""
    while True:
        place = rng.uniform((-0.7, -0.7, 0.0), (0.7, 0.7, 1.0))
        sphere = obstacles_from_lists(["a"], ["sphere"], list(place), [], [0.05, 0.0, 0.0])
        if 0.1 < ObstacleGuard(arm.shape, arm.chain, arm.limits, sphere, 0.02).least_distance(start)[0] < 0.25:
            break
    side, influence, force = rng.normal(size=3), _swing(rng, 0.2, 0.35), _swing(rng, 5.0, 20.0)
    side *= 0.02 / np.linalg.norm(side)
    yields = 0.15 if rng.uniform() < 0.5 else 0.0
    return lambda t, k: {
        "names": ["a"], "kinds": ["sphere"], "positions": list(place + np.sin(1.5 * t) * side * k[0]),
        "sizes": [0.05, 0.0, 0.0], "range": influence(t) * k[1], "force": force(t) * k[2], "tool_range": yields,
    }  # fmt: skip


_SETTINGS = {
    "path": _path, "teleoperation": _teleoperation, "dither": _dither, "spring": _spring, "posture": _posture,
    "joint_limits": _joint_limits, "singularity": _singularity, "obstacles": _obstacles,
}  # fmt: skip


# Running --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Course:
    """What a run came to, a row a sample.

    Attributes:
        joints: (k, n) commanded.
        tool: (k, 3) of them [m].
        force: (k,) with which the tool presses [N].
        wanted: (k,) with which it should [N].
        speed: largest of the tool [m/s].
        held: samples at which the law did not govern.
        hindered: samples at which a singularity or a limit of a joint kept the joints from what the law asked for.
        failures: of behaviors.
    """

    joints: Array
    tool: Array
    force: Array
    wanted: Array
    speed: float
    held: int
    hindered: int
    failures: list[str] = field(default_factory=list)


class Wall:
    """Drives that lag and a wall that presses back, with friction 0.3."""

    def __init__(self, program: Program) -> None:
        """Set up at the begin of a program."""
        self._chain, self._normal, self._k = program.arm.chain, program.normal, program.stiffness
        self._real, self._dt = program.start.copy(), program.period
        self._last = self._place = self._chain.pose(self._real)[0]
        self._wall = self._place if self._normal is None else self._place - GAP * self._normal

    def press(self) -> tuple[Array, float]:
        """Wrench (6,) on the tool and the force with which it presses on the wall [N]."""
        wrench = np.zeros(6)
        if self._normal is None:
            return wrench, 0.0
        v = (self._place - self._last) / self._dt
        depth = float((self._wall - self._place) @ self._normal)
        force = max(self._k * depth - 50.0 * float(v @ self._normal), 0.0) if depth > 0.0 else 0.0
        slide = v - (v @ self._normal) * self._normal
        wrench[:3] = force * (self._normal - 0.3 * slide / (np.linalg.norm(slide) + 0.005))
        return wrench, force

    def advance(self, command: Array) -> None:
        """The drives follow."""
        self._real += (1.0 - np.exp(-BANDWIDTH * self._dt)) * (command - self._real)
        self._last, self._place = self._place, self._chain.pose(self._real)[0]


def run(program: Program, every: int, samples: int, noise_seed: int | None = None) -> Course:
    """Run a program whose settings are taken over at every so manieth sample, with its own noise or that of a seed."""
    dt, step = program.period, round(program.period * 1e9)
    rng = np.random.default_rng(program.seed if noise_seed is None else noise_seed)
    noise = 1.0 + NOISE * rng.uniform(-1.0, 1.0, (samples, len(program.behaviors) + 1, 4))
    made = begin(program.arm, program.start, program.config(0.0, noise[0, -1]))
    wall = Wall(program)
    joints, tool = np.empty((samples, program.arm.chain.n)), np.empty((samples, 3))
    force, wanted, speed, held, hindered = np.empty(samples), np.zeros(samples), 0.0, 0, 0
    for k in range(samples):
        if k % every == 0:
            specs = program.specs(k * dt, noise[k])
            made.set_config(program.config(k * dt, noise[k, -1]))
            made.set_behaviors(specs)
        if program.task != "free":
            wanted[k] = specs[0].settings["wrench"][2]
        for active in made.behaviors:
            if isinstance(active.behavior, Teleoperation):
                active.behavior.give(k * step, program.twist * np.sin(1.5 * k * dt))
        wrench, force[k] = wall.press()
        output = made.update((k + 1) * step, dt, wrench)
        wall.advance(made.solver.position)
        joints[k], tool[k] = made.solver.position, output.position
        if not output.held:
            status = made.solver.status()
            hindered += bool(status.dropped or status.damped or status.limited)
        speed, held = max(speed, float(np.linalg.norm(output.twist[:3]))), held + bool(output.held)
    failures = [f"{active.spec.name}: {active.failure}" for active in made.behaviors if active.failure]
    return Course(joints, tool, force, wanted, speed, held, hindered, failures)


def violations(program: Program, course: Course) -> list[str]:
    """What a course leaves of the joints' limits: of position, velocity and acceleration, at any sample."""
    limits, dt, found = program.arm.limits, program.period, []
    q = np.vstack((program.start, program.start, course.joints))
    velocity = np.diff(q, axis=0) / dt
    acceleration = np.diff(velocity, axis=0) / dt
    if not np.isfinite(q).all():
        return ["not finite"]
    if (q > limits.upper + 1e-9).any() or (q < limits.lower - 1e-9).any():
        found.append("position")
    if (np.abs(velocity) > limits.velocity * (1.0 + 1e-9) + 1e-9).any():
        found.append("velocity")
    if (np.abs(acceleration) > limits.acceleration * (1.0 + 1e-6) + 1e-15 / dt**2).any():  # rounding, differenced twice
        found.append("acceleration")
    return found


def differences(program: Program, one: Course, other: Course) -> dict[str, float]:
    """By how much two courses differ, by the size of the other: ways of tool and joints, errors of the force."""
    late = len(other.force) // 2
    tool, joints = other.tool - other.tool[0], other.joints - other.joints[0]
    found = {
        "tool": _size(one.tool - other.tool) / max(_size(tool), 1e-3),
        "joints": _size(one.joints - other.joints) / max(_size(joints), 1e-2),
    }
    if program.task != "free":
        mean = float(other.wanted[late:].mean())
        errors = [float(np.abs(course.force - course.wanted)[late:].mean()) for course in (one, other)]
        found["force"] = abs(one.force[late:].mean() - other.force[late:].mean()) / mean
        found["force_error"] = max(errors[0] - errors[1], 0.0) / mean
    return found


def _size(rows: Array) -> float:
    """Root of the mean square length of rows."""
    return float(np.sqrt((rows**2).sum(axis=1).mean()))
