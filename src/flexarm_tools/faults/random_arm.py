"""Random serial arm: 2 to 7 revolute or prismatic joints, random links, and motors that can carry its weight."""

from __future__ import annotations

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

SLIDES = 0.2  # fraction of prismatic joints
POSTURES = 20  # number of postures for sizing the motors
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
SMALL = 0.35  # scale of the links of a light wrist
LEAST_EFFORT = 5.0  # [N*m | N] smallest effort for sizing a motor


def random_arm(rng: np.random.Generator, *, light_wrist: bool = False) -> tuple[str, Array]:
    """Return the URDF text of an arm and the gravity (3,) that acts on it [m/s^2].

    With ``light_wrist`` the last links are small and light, as in descriptions that leave out rotors and gears, and
    their motors strong. The effort limits are 1.5 to 4 times the effort for an acceleration of 5 rad/s^2 against
    gravity.
    """
    n = int(rng.integers(2, 8))
    kinds = ["prismatic" if rng.random() < SLIDES else "revolute" for _ in range(n)]
    turning, sliding = rng.uniform(1.0, 4.0, n), rng.uniform(0.3, 1.0, n)
    speed = np.where(np.array(kinds) == "revolute", turning, sliding)
    reach = np.where(np.array(kinds) == "revolute", rng.uniform(1.5, 3.1, n), rng.uniform(0.3, 0.8, n))
    wrist = int(rng.integers(1, min(n, 4))) if light_wrist else 0
    links = "".join(_link(rng, f"link_{i + 1}", 6.0 * 0.7**i, SMALL if i >= n - wrist else 1.0) for i in range(n))
    axes = [axis / np.linalg.norm(axis) for axis in rng.standard_normal((n, 3))]
    origins = [_words(np.zeros(3))] + [_words(_extent(rng)) for _ in range(n - 1)]
    gravity = 9.81 * _direction(rng) if rng.random() < 0.8 else np.zeros(3)

    def text(effort: Array) -> str:
        joints = "".join(
            f'<joint name="joint_{i + 1}" type="{kinds[i]}"><parent link="{f"link_{i}" if i else "base_link"}"/>'
            f'<child link="link_{i + 1}"/><origin xyz="{origins[i]}"/><axis xyz="{_words(axes[i])}"/>'
            f'<limit lower="{-float(reach[i])!r}" upper="{float(reach[i])!r}"'
            f' effort="{float(effort[i])!r}" velocity="{float(speed[i])!r}"/></joint>'
            for i in range(n)
        )
        return f'<robot name="random_arm"><link name="base_link"/>{links}{joints}</robot>'

    from flexarm_core.robot.urdf_reader import parse_robot_description

    model = ArmModel(parse_robot_description(text(np.ones(n))), gravity=tuple(gravity))
    needed = np.full(n, LEAST_EFFORT)
    for _ in range(POSTURES):
        state = ArmState(0, rng.uniform(-reach, reach), np.zeros(n), np.zeros(0), np.zeros(0))
        weight = model.gravity_effort(state)
        blocks = model.blocks(state)
        push = [model.inverse_dynamics(blocks, state, sign * 5.0 * np.eye(n)[i]) for i in range(n) for sign in (1, -1)]
        needed = np.maximum(needed, np.abs([weight, *push]).max(axis=0))
    return text(needed * rng.uniform(1.5, 4.0)), gravity


def _link(rng: np.random.Generator, name: str, mass: float, scale: float = 1.0) -> str:
    """Return a link that is a box with random sides; its lengths are scaled, and its mass with their square."""
    m, sides, middle = mass * rng.uniform(0.5, 1.5), rng.uniform(0.06, 0.4, 3), rng.uniform(-0.15, 0.15, 3)
    m, sides, middle = scale**2 * m, scale * sides, scale * middle
    squares = sides**2 * m / 12.0
    i = squares.sum() - squares
    moments = " ".join(f'{name}="{float(value)!r}"' for name, value in zip(MOMENTS, (*i, 0.0, 0.0, 0.0), strict=True))
    body = f'<origin xyz="{_words(middle)}"/><mass value="{float(m)!r}"/><inertia {moments}/>'
    return f'<link name="{name}"><inertial>{body}</inertial></link>'


def _extent(rng: np.random.Generator) -> Array:
    return _direction(rng) * rng.uniform(0.1, 0.5)


def _direction(rng: np.random.Generator) -> Array:
    direction = rng.standard_normal(3)
    unit: Array = direction / np.linalg.norm(direction)
    return unit


def _words(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)
