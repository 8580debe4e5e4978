"""Arms of the usual kinds with random sizes, masses and limits, on rigid and elastic bases, as URDF text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

G = 9.81  # [m/s^2]
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass
class Link:
    """A joint and the link that it moves: a bar from the joint to the next one.

    Attributes:
        kind: ``revolute``, ``continuous`` or ``prismatic``.
        axis: of the joint in the link's frame, ``x``, ``y`` or ``z``.
        bar: (3,) from this joint to the next [m].
        mass: [kg].
        lower: position limit [rad | m].
        upper: position limit [rad | m].
        bends: first frequency of a link that bends, its bar along x [Hz]; 0: it does not.
    """

    kind: str
    axis: str
    bar: tuple[float, float, float]
    mass: float
    lower: float = -2.8
    upper: float = 2.8
    bends: float = 0.0


@dataclass
class Arm:
    """A chain of links.

    Attributes:
        name: kind of the arm.
        links: from base to tool.
        tilt: (3,) roll, pitch and yaw of the base link in the root link [rad].
        payload: at the tool [kg].
        base: direction: (frequency of the base with the arm on it [Hz], damping ratio).
    """

    name: str
    links: list[Link]
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)
    payload: float = 0.5
    base: dict[str, tuple[float, float]] = field(default_factory=dict)


def random_arm(seed: int) -> tuple[str, str]:
    """A kind of arm and its URDF text; seeds 0, 1, 2 ... go through the kinds in turn."""
    rng = np.random.default_rng(seed)
    arm = KINDS[seed % len(KINDS)](rng)
    return arm.name, urdf(arm, rng)


def _planar(rng: np.random.Generator) -> Arm:
    """Parallel axes: the plane horizontal, upright or oblique."""
    links = [
        Link("revolute", "z", (rng.uniform(0.3, 1.0), 0.0, 0.0), rng.uniform(1, 8)) for _ in range(rng.integers(2, 6))
    ]
    tilt = ((0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.0), tuple(rng.uniform(-1.0, 1.0, 3)))[rng.integers(3)]
    return Arm("planar", links, tilt)


def _scara(rng: np.random.Generator) -> Arm:
    a, b = rng.uniform(0.2, 0.5, 2)
    return Arm(
        "scara",
        [
            Link("revolute", "z", (a, 0.0, 0.0), rng.uniform(3, 8)),
            Link("revolute", "z", (b, 0.0, 0.0), rng.uniform(2, 5), -2.5, 2.5),
            Link("prismatic", "z", (0.0, 0.0, -0.1), rng.uniform(0.5, 1.5), -0.2, 0.0),
            Link("revolute", "z", (0.0, 0.0, -0.05), 0.3, -6.0, 6.0),
        ],
    )


def _six(rng: np.random.Generator) -> Arm:
    """Like a UR: shoulder, two long links, three wrist axes that do not meet."""
    size = rng.uniform(0.5, 1.6)
    return Arm(
        "six_axes",
        [
            Link("revolute", "z", (0.0, 0.1 * size, 0.1 * size), 4 * size, -6.28, 6.28),
            Link("revolute", "y", (0.5 * size, 0.0, 0.0), 8 * size, -6.28, 6.28),
            Link("revolute", "y", (0.45 * size, 0.0, 0.0), 3 * size, -3.1, 3.1),
            Link("revolute", "y", (0.0, 0.1 * size, 0.0), 1.2 * size, -6.28, 6.28),
            Link("revolute", "z", (0.0, 0.0, -0.1 * size), 1.2 * size, -6.28, 6.28),
            Link("revolute", "y", (0.0, 0.08 * size, 0.0), 0.3 * size, -6.28, 6.28),
        ],
        payload=rng.uniform(0.2, 2.0),
    )


def _seven(rng: np.random.Generator) -> Arm:
    """Like a Panda: an elbow beside the arm, limits that leave out zero."""
    s = rng.uniform(0.8, 1.4)
    return Arm(
        "seven_axes",
        [
            Link("revolute", "z", (0.0, 0.0, 0.15 * s), 3.0 * s, -2.9, 2.9),
            Link("revolute", "y", (0.0, 0.0, 0.16 * s), 3.0 * s, -1.76, 1.76),
            Link("revolute", "z", (0.08 * s, 0.0, 0.16 * s), 2.5 * s, -2.9, 2.9),
            Link("revolute", "y", (-0.08 * s, 0.0, 0.2 * s), 2.5 * s, 0.1, 3.07),
            Link("revolute", "z", (0.0, 0.0, 0.18 * s), 2.0 * s, -2.9, 2.9),
            Link("revolute", "y", (0.09 * s, 0.0, 0.0), 1.5 * s, -3.7, 0.0),
            Link("continuous", "x", (0.1 * s, 0.0, 0.0), 0.7 * s),
        ],
    )


def _gantry(rng: np.random.Generator) -> Arm:
    """Two or three slides, and a wrist of up to three axes."""
    slides = [
        Link("prismatic", axis, (0.0, 0.0, -0.1), rng.uniform(5, 20), -0.6, 0.6) for axis in "xyz"[: rng.integers(2, 4)]
    ]
    wrist = [Link("revolute", axis, (0.0, 0.0, -0.12), rng.uniform(0.5, 2.0)) for axis in "zyx"[: rng.integers(0, 4)]]
    return Arm("gantry", slides + wrist)


def _flexible(rng: np.random.Generator) -> Arm:
    """Long links that bend: in a plane, upright or not, or behind a yaw joint."""
    yaw = [Link("revolute", "z", (0.0, 0.0, 0.3), 4.0)] if rng.random() < 0.5 else []
    axis = "y" if yaw else "z"
    links = [
        Link("revolute", axis, (rng.uniform(0.6, 1.2), 0.0, 0.0), rng.uniform(1.5, 4.0), bends=rng.uniform(4.0, 15.0))
        for _ in range(rng.integers(1, 3))
    ]
    return Arm("flexible", yaw + links, payload=rng.uniform(0.3, 1.5))


def _on_a_base(kind: Callable[[np.random.Generator], Arm]) -> Callable[[np.random.Generator], Arm]:
    """The same on a base that gives way in up to six directions, and sags where one of them is upright."""

    def make(rng: np.random.Generator) -> Arm:
        arm = kind(rng)
        count = int(rng.integers(1, 7))
        chosen = sorted(rng.choice(6, count, replace=False))
        arm.base = {DIRECTIONS[i]: (float(rng.uniform(2.0, 9.0)), float(rng.uniform(0.003, 0.03))) for i in chosen}
        arm.name += f"_on_{count}"
        return arm

    return make


KINDS: tuple[Callable[[np.random.Generator], Arm], ...] = (
    *(_planar, _scara, _six, _seven, _gantry, _flexible),
    *(_on_a_base(kind) for kind in (_planar, _six, _seven, _gantry)),
)


def urdf(arm: Arm, rng: np.random.Generator) -> str:
    """URDF text of an arm; motors give two to five times what its weight takes at most."""
    parts = ['<link name="root"/>', *_base(arm)]
    parent, at, bends = "mount", (0.0, 0.0, 0.0), []
    for i, link in enumerate(arm.links):
        outboard = arm.links[i:]
        mass = sum(each.mass for each in outboard) + arm.payload
        reach = sum(
            float(np.linalg.norm(each.bar)) + (each.upper - each.lower if each.kind == "prismatic" else 0.0)
            for each in outboard
        )
        strength = rng.uniform(2.0, 5.0)
        effort = strength * mass * G * (1.0 if link.kind == "prismatic" else reach)
        speed = rng.uniform(0.3, 1.0) if link.kind == "prismatic" else rng.uniform(1.0, 4.0)
        limits = "" if link.kind == "continuous" else f'lower="{link.lower!r}" upper="{link.upper!r}" '
        parts.append(
            f'<joint name="joint_{i}" type="{link.kind}"><parent link="{parent}"/><child link="link_{i}"/>'
            f'<origin xyz="{_words(at)}"/><axis xyz="{_words(AXES[link.axis])}"/>'
            f'<limit {limits}effort="{effort:.6g}" velocity="{speed:.4g}"/></joint>'
        )
        parts.append(_bar(f"link_{i}", link))
        if link.bends:
            load = mass - link.mass
            bends.append(_beam(f"link_{i}", link, load))
        parent, at = f"link_{i}", link.bar
    hand = _inertia(1e-3 * np.eye(3))
    parts.append(
        f'<joint name="hand" type="fixed"><parent link="{parent}"/><child link="tool0"/><origin xyz="{_words(at)}"/>'
        f'</joint><link name="tool0"><inertial><mass value="{arm.payload:.4g}"/>{hand}</inertial></link>'
    )
    mass = sum(link.mass for link in arm.links) + arm.payload + 20.0
    reach = sum(float(np.linalg.norm(link.bar)) for link in arm.links)
    springs = []
    for direction, (frequency, ratio) in arm.base.items():
        moved = mass if direction in "xyz" else 2.0 + 0.3 * (mass - 20.0) * reach**2
        w = 2.0 * np.pi * frequency
        springs.append(
            f'<elastic_joint name="base_{direction}" stiffness="{moved * w**2:.6g}"'
            f' damping="{2.0 * ratio * moved * w:.6g}"/>'
        )
    flexibility = f"<flexibility>{''.join(springs + bends)}</flexibility>" if springs or bends else ""
    return f'<robot name="{arm.name}">{"".join(parts)}{flexibility}</robot>'


def _base(arm: Arm) -> list[str]:
    """Elastic joints from the root link to a platform of 20 kg; without them the arm stands on the root link."""
    parts, parent = [], "root"
    for direction in arm.base:
        last, turns = direction == list(arm.base)[-1], len(direction) == 2
        limit, weight, inertia = 0.15 if turns else 0.1, 20.0 if last else 1e-3, 2.0 if last else 1e-6
        parts.append(
            f'<joint name="base_{direction}" type="{"revolute" if turns else "prismatic"}"><parent link="{parent}"/>'
            f'<child link="base_{direction}_link"/><axis xyz="{_words(AXES[direction[-1]])}"/>'
            f'<limit lower="-{limit}" upper="{limit}" effort="0" velocity="10"/></joint>'
            f'<link name="base_{direction}_link"><inertial><mass value="{weight}"/>{_inertia(inertia * np.eye(3))}'
            "</inertial></link>"
        )
        parent = f"base_{direction}_link"
    parts.append(
        f'<joint name="feet" type="fixed"><parent link="{parent}"/><child link="mount"/>'
        f'<origin xyz="0 0 0.2" rpy="{_words(arm.tilt)}"/></joint><link name="mount"/>'
    )
    return parts


def _bar(name: str, link: Link) -> str:
    """A bar of 4 cm radius from joint to joint, with its motor."""
    bar = np.array(link.bar)
    around = link.mass * (0.04**2 / 2.0 * np.eye(3) + (bar @ bar * np.eye(3) - np.outer(bar, bar)) / 12.0)
    return (
        f'<link name="{name}"><inertial><origin xyz="{_words(bar / 2.0)}"/><mass value="{link.mass:.6g}"/>'
        f"{_inertia(around)}</inertial></link>"
    )


def _beam(name: str, link: Link, load: float) -> str:
    """A beam of half the link's mass that carries what hangs outboard at a first frequency [Hz]."""
    length, density = link.bar[0], 0.5 * link.mass / link.bar[0]
    stiffness = (2.0 * np.pi * link.bends) ** 2 * (load + 0.24 * density * length) * length**3 / 3.0
    across = "z" if link.axis == "y" else "y"
    about = "y" if across == "z" else "z"
    return (
        f'<flexible_link name="{name}"><beam length="{length:.6g}" EI{about}="{stiffness:.6g}" rho_A="{density:.6g}"'
        f' modes_{across}="2" damping_ratio="0.01"/><strain_gauge name="{name}_root" x="0.05" {across}="0.02"/>'
        "</flexible_link>"
    )


def _inertia(value: np.typing.NDArray[np.float64]) -> str:
    (a, b, c), (_, d, e), (_, _, f) = (tuple(float(x) for x in row) for row in value)
    return f'<inertia ixx="{a:.8g}" ixy="{b:.8g}" ixz="{c:.8g}" iyy="{d:.8g}" iyz="{e:.8g}" izz="{f:.8g}"/>'


def _words(values: object) -> str:
    return " ".join(f"{float(value):.8g}" for value in values)  # type: ignore[attr-defined]
