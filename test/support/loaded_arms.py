"""Arms on elastic bases that carry loads: chains like a UR10 and a Panda, random ones, paths and payloads for them.

Kinematics, masses and limits are rounded from what the manufacturers publish; inertias are those of cylinders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
UNIT = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
# joint in the frame of the one before: origin, roll pitch yaw; mass, center, radius; limits of position, speed, effort
Row = tuple[tuple[float, float, float], tuple[float, float, float], float, tuple[float, float, float], float, Array]
H = 0.5 * np.pi


def _row(
    xyz: tuple[float, float, float], rpy: tuple[float, float, float], mass: float,
    center: tuple[float, float, float], radius: float, limits: tuple[float, float, float, float],
) -> Row:  # fmt: skip
    return xyz, rpy, mass, center, radius, np.array(limits)


UR10 = (
    _row((0, 0, 0.128), (0, 0, 0), 7.8, (0, 0, 0.0), 0.09, (-6.28, 6.28, 2.1, 330)),
    _row((0, 0.176, 0), (0, H, 0), 12.9, (0, 0, 0.306), 0.07, (-6.28, 6.28, 2.1, 330)),
    _row((0, -0.137, 0.612), (0, 0, 0), 3.9, (0, 0, 0.286), 0.06, (-3.14, 3.14, 3.1, 150)),
    _row((0, 0, 0.572), (0, H, 0), 2.0, (0, 0, 0), 0.05, (-6.28, 6.28, 3.1, 56)),
    _row((0, 0.115, 0), (-H, 0, H), 2.0, (0, 0, 0), 0.05, (-6.28, 6.28, 3.1, 56)),
    _row((0, 0, 0.115), (H, 0, 0), 0.4, (0, 0, 0.05), 0.04, (-6.28, 6.28, 3.1, 56)),
)
PANDA = (
    _row((0, 0, 0.333), (0, 0, 0), 3.0, (0, -0.03, -0.07), 0.07, (-2.9, 2.9, 2.17, 87)),
    _row((0, 0, 0), (-H, 0, 0), 3.0, (0, -0.07, 0.03), 0.07, (-1.76, 1.76, 2.17, 87)),
    _row((0, -0.316, 0), (H, 0, 0), 3.2, (0.04, 0.02, -0.07), 0.06, (-2.9, 2.9, 2.17, 87)),
    _row((0.0825, 0, 0), (H, 0, 0), 3.6, (-0.04, 0.04, 0.03), 0.06, (-3.07, -0.07, 2.17, 87)),
    _row((-0.0825, 0.384, 0), (-H, 0, 0), 3.2, (0, 0.03, -0.11), 0.05, (-2.9, 2.9, 2.6, 12)),
    _row((0, 0, 0), (H, 0, 0), 1.6, (0.05, 0, 0), 0.05, (-0.02, 3.75, 2.6, 12)),
    _row((0.088, 0, 0), (H, 0, 0), 1.4, (0.01, 0, 0.08), 0.05, (-2.9, 2.9, 2.6, 12)),
)
REACH = {"ur10": (0, 0, 0.09), "panda": (0, 0, 0.21)}
ROTOR = 0.1  # [kg*m^2] inertia of a motor behind its gear, as simulations of both arms have it
HOME = {
    "ur10": np.array([0.3, -0.9, 1.5, -0.6, 1.2, 0.2]),
    "panda": np.array([0.2, -0.5, 0.3, -2.1, 0.2, 1.8, 0.5]),
}


@dataclass(frozen=True, slots=True)
class LoadedArm:
    """An arm, what it stands on, and what it carries.

    Attributes:
        name: of the kind.
        text: URDF as the controller knows it.
        carries: URDF as it really is.
        posture: (n,) [rad].
        gravity: (3,) [m/s^2].
        payload: [kg].
    """

    name: str
    text: str
    carries: str
    posture: Array
    gravity: tuple[float, float, float]
    payload: float


def arm_text(rows: tuple[Row, ...], reach: tuple[float, float, float], base: dict[str, tuple[float, float]],
             platform: tuple[float, float], payload: float = 0.0) -> str:  # fmt: skip
    """URDF of a chain.

    Args:
        rows: joints with their links.
        reach: tool in the last link's frame [m].
        base: stiffness and damping of each elastic direction [N/m | N*m/rad, N*s/m | N*m*s/rad].
        platform: mass and inertia of what the arm stands on [kg, kg*m^2].
        payload: at the tool [kg].
    """
    parts, parent = ['<robot name="loaded_arm"><link name="world"/>'], "world"
    for direction in base:
        last, child = direction == list(base)[-1], f"base_{direction}_link"
        kind = "revolute" if direction.startswith("r") else "prismatic"
        parts.append(_joint(f"base_{direction}", kind, parent, child, (0, 0, 0), (0, 0, 0), UNIT[direction[-1]], None))
        parts.append(_link(child, platform[0] if last else 1e-3, (0, 0, 0), platform[1] if last else 1e-6))
        parent = child
    for i, (xyz, rpy, mass, center, radius, limits) in enumerate(rows, 1):
        parts.append(_joint(f"joint{i}", "revolute", parent, f"link{i}", xyz, rpy, UNIT["z"], limits))
        parts.append(_link(f"link{i}", mass, center, mass * (0.4 * radius**2 + np.dot(center, center) / 6.0)))
        parent = f"link{i}"
    origin = " ".join(f"{v!r}" for v in map(float, reach))
    parts.append(
        f'<joint name="tool" type="fixed"><parent link="{parent}"/><child link="tool0"/><origin xyz="{origin}"/>'
    )
    parts.append(
        "</joint>" + (_link("tool0", payload, (0, 0, 0), 1e-3 * payload) if payload else '<link name="tool0"/>')
    )
    springs = "".join(
        f'<elastic_joint name="base_{name}" stiffness="{k!r}" damping="{d!r}"/>' for name, (k, d) in base.items()
    )
    rotors = "".join(
        f'<joint name="joint{i}"><param name="armature">{ROTOR!r}</param></joint>' for i in range(1, len(rows) + 1)
    )
    motors = f'<ros2_control name="motors" type="system">{rotors}</ros2_control>'
    return "".join(parts) + f"{motors}<flexibility>{springs}</flexibility></robot>"


def random_rows(joints: int, rng: np.random.Generator) -> tuple[Row, ...]:
    """A serial arm with axes at right angles or parallel, links of 0.1 to 0.5 m that get lighter to the tip."""
    rows, motor = [], rng.uniform(100.0, 400.0)
    reach = np.zeros(3)
    for i in range(joints):
        rpy = (0.0, 0.0, 0.0) if i == 0 else ((H, 0.0, 0.0), (-H, 0.0, 0.0), (0.0, 0.0, 0.0))[rng.integers(3)]
        mass = rng.uniform(2.0, 8.0) * 0.8**i
        origin, reach = reach, rng.choice((-1.0, 1.0), 3) * rng.permutation((0.02, 0.05, rng.uniform(0.15, 0.45)))
        limit, speed = rng.uniform(2.0, 3.1), rng.uniform(1.5, 3.5)
        limits = (-limit, limit, speed, motor * 0.75**i)
        rows.append(_row(tuple(origin), rpy, mass, tuple(0.5 * reach), 0.05, limits))
    return tuple(rows)


def random_arms(rng: np.random.Generator) -> Iterator[LoadedArm]:
    """Arms on bases of one to three directions, half of them with gravity, payloads up to a fifth of the arm."""
    while True:
        name = ("ur10", "panda", "random")[rng.integers(3)]
        if name == "random":
            rows, reach = random_rows(int(rng.integers(4, 8)), rng), tuple(rng.uniform(-0.15, 0.15, 3))
        else:
            rows, reach = {"ur10": UR10, "panda": PANDA}[name], REACH[name]
        lower, upper = (np.array([row[5][i] for row in rows]) for i in range(2))
        lower, upper = np.maximum(lower, -2.8), np.minimum(upper, 2.8)
        room = 0.15 * (upper - lower)
        posture = rng.uniform(lower + room, upper - room)
        if name in HOME and rng.random() < 0.3:
            posture = HOME[name] + rng.uniform(-0.2, 0.2, len(rows))
        yield on_random_base(name, rows, reach, posture, rng)


def on_random_base(
    name: str, rows: tuple[Row, ...], reach: tuple[float, float, float], posture: Array, rng: np.random.Generator
) -> LoadedArm:
    """Put a chain on a base with frequencies of 1 to 5 Hz in one to three directions."""
    chosen = [DIRECTIONS[i] for i in sorted(rng.permutation(6)[: rng.integers(1, 4)])]
    platform = rng.uniform(20.0, 100.0), rng.uniform(2.0, 15.0)
    springless = ArmModel(arm_text(rows, reach, dict.fromkeys(chosen, (1.0, 0.0)), platform), gravity=(0, 0, 0))
    none = np.zeros(len(chosen))
    moved = np.diag(springless.blocks(ArmState(0, posture, np.zeros(len(rows)), none, none)).H_b)
    w, zeta = 2.0 * np.pi * rng.uniform(1.0, 5.0, len(chosen)), rng.uniform(0.003, 0.03)
    base = {key: (float(i * f * f), float(2.0 * zeta * i * f)) for key, i, f in zip(chosen, moved, w, strict=True)}
    arm = sum(row[2] for row in rows)
    payload = float(arm * rng.uniform(0.02, 0.2)) if rng.random() < 0.6 else 0.0
    gravity = (0.0, 0.0, -9.81) if rng.random() < 0.5 else (0.0, 0.0, 0.0)
    texts = [arm_text(rows, reach, base, platform, carried) for carried in (0.0, payload)]
    return LoadedArm(name, texts[0], texts[1], posture, gravity, payload)


def selection_of(model: ArmModel, axes: int) -> BaseSelection | None:
    """All of the base's directions, where the arm has enough joints beside so many axes."""
    try:
        return BaseSelection(model, spare=axes)
    except ConfigError:
        return None


def _joint(name: str, kind: str, parent: str, child: str, xyz: tuple[float, ...], rpy: tuple[float, ...], axis: str,
           limits: Array | None) -> str:  # fmt: skip
    low, high, speed, effort = (-0.5, 0.5, 100.0, 0.0) if limits is None else map(float, limits)
    text = " ".join(repr(float(v)) for v in xyz), " ".join(repr(float(v)) for v in rpy)
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{text[0]}" rpy="{text[1]}"/><axis xyz="{axis}"/>'
        f'<limit lower="{low!r}" upper="{high!r}" effort="{effort!r}" velocity="{speed!r}"/></joint>'
    )


def _link(name: str, mass: float, center: tuple[float, ...], inertia: float) -> str:
    origin = " ".join(repr(float(v)) for v in center)
    i = repr(float(inertia))
    return (
        f'<link name="{name}"><inertial><origin xyz="{origin}"/><mass value="{float(mass)!r}"/>'
        f'<inertia ixx="{i}" ixy="0" ixz="0" iyy="{i}" iyz="0" izz="{i}"/></inertial></link>'
    )
