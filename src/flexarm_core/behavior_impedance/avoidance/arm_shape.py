"""ArmShape: the moving links of an arm as capsules, and their placement in the base frame (compiled).

A capsule is the set of all points within a radius of a segment. Cylinders and boxes are covered by the capsule of least
volume. With ``rho`` the radius of the cylinder, or half the diagonal of the two shorter sides of the box, and ``l``
half the length, a capsule of half length ``l - s`` and radius ``sqrt(rho^2 + s^2)`` touches the rims exactly. The
radius of long shapes hardly grows (1 % at a length of 5.5 radii); flat shapes are covered by almost a sphere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.robot.description import RobotDescription, Shape
from flexarm_core.robot.kinematic_chain import KIND, PRISMATIC
from flexarm_core.types import Array

ON_AXIS = 1e-9  # [m]


@dataclass(frozen=True, slots=True)
class ArmShape:
    """Capsules that cover the links that the joints of a chain move.

    Attributes:
        capsules: (c, 8) one row per capsule: index of the joint whose frame it moves with, end points a (3) and b (3)
            in that frame [m], radius [m]. The z axis of the frame is the joint axis, see :mod:`ik_redundancy.chain`.
        links: (c) name of the link that each capsule belongs to.
    """

    capsules: Array
    links: tuple[str, ...]


def build_arm_shape(description: RobotDescription, chain: Chain, link_radius: float = 0.06) -> ArmShape:
    """Create the capsules of all links that move with the joints of the chain.

    Links behind fixed joints are included, and also links behind joints off the chain, at the zero position of these
    joints. If no link that moves with a joint has a primitive shape (only meshes or nothing), a capsule connects the
    origin of the joint frame with that of the next joint, or of the tool (a sphere if both origins coincide); the
    travel of a following prismatic joint is not covered. If the first joint is revolute, capsules on its axis are
    omitted because the arm cannot move them.

    Args:
        description: robot description.
        chain: kinematic chain of the arm.
        link_radius: radius of the capsules of links without primitive shapes [m].

    Raises:
        ConfigError: the radius is not > 0 or not finite.
    """
    if not 0.0 < link_radius < math.inf:
        raise ConfigError(f"the radius of links without shapes must be > 0 m and finite, got {link_radius}")
    children: dict[str, list[str]] = {}
    for name, joint in description.joints.items():
        children.setdefault(joint.parent, []).append(name)
    rows: list[Array] = []
    links: list[str] = []
    link = chain.base_frame
    to_frame: Array = np.eye(4)
    for i in range(-1, len(chain.moving)):
        first, begin, waiting = link, len(rows), [(link, to_frame)]
        while waiting:
            name, transform = waiting.pop(0)
            for shape in description.links[name].shapes if i >= 0 else ():
                rows.append(np.concatenate(([i], _capsule(shape, transform))))
                links.append(name)
            for outboard in children.get(name, ()):
                joint = description.joints[outboard]
                placed = transform @ joint.transform_child_to_parent
                if outboard not in chain.moving:
                    waiting.append((joint.child, placed))
                elif outboard == chain.moving[i + 1]:
                    link, to_frame = joint.child, _inverse(chain.links[i + 1]) @ placed
        if i >= 0 and len(rows) == begin:
            rows.append(np.concatenate(([i], np.zeros(3), chain.links[i + 1, 9:12], [link_radius])))
            links.append(first)
    capsules = np.array(rows)
    moved = (capsules[:, 0] > 0.0) | (chain.links[0, KIND] == PRISMATIC)
    moved |= np.abs(capsules[:, [1, 2, 4, 5]]).max(axis=1) > ON_AXIS
    capsules = capsules[moved]
    capsules.flags.writeable = False
    return ArmShape(capsules, tuple(link for link, moves in zip(links, moved, strict=True) if moves))


def _inverse(row: Array) -> Array:
    """Return the inverse (4, 4) of the transform in a row of ``chain.links``."""
    inverse = np.eye(4)
    inverse[:3, :3] = row[:9].reshape(3, 3).T
    inverse[:3, 3] = -inverse[:3, :3] @ row[9:12]
    return inverse


def _capsule(shape: Shape, transform_link_to_frame: Array) -> Array:
    """Return end points a (3), b (3) and radius, as (7,), of the capsule that covers a shape, in the frame [m]."""
    placed = transform_link_to_frame @ shape.transform_shape_to_link
    axis, half, radius = 2, 0.0, shape.size[0]
    if shape.kind == "cylinder":
        half, radius = _cover(shape.size[0], shape.size[1])
    elif shape.kind == "box":
        axis = int(np.argmax(shape.size))
        half, radius = _cover(0.5 * math.hypot(*np.delete(shape.size, axis)), shape.size[axis])
    middle, along = placed[:3, 3], half * placed[:3, axis]
    return np.concatenate((middle - along, middle + along, [radius]))


def _cover(radius: float, length: float) -> tuple[float, float]:
    """Return half the segment length and the radius of the capsule of least volume that covers a cylinder [m]."""
    low, high = 0.0, 0.5 * length
    for _ in range(60):  # bisection: the volume decreases with s up to its only minimum
        s = 0.5 * (low + high)
        slope = 2.0 * s * (0.5 * length - s) - (radius**2 + s**2) + 2.0 * s * math.hypot(radius, s)
        low, high = (s, high) if slope < 0.0 else (low, s)
    return 0.5 * length - high, math.hypot(radius, high)


@kernel
def place_capsules(capsules: Array, frames: Array, placed: Array) -> None:
    """Write the end points a, b of ``ArmShape.capsules`` (c, 8) in the base frame into ``placed`` (c, 6) [m].

    ``frames``: (n + 1, 12) poses of the frames of the chain, rotation row by row (9) and origin (3) [m].
    """
    for row in range(capsules.shape[0]):
        i = int(capsules[row, 0])
        for end in range(2):
            x, y, z = capsules[row, 3 * end + 1], capsules[row, 3 * end + 2], capsules[row, 3 * end + 3]
            for k in range(3):
                placed[row, 3 * end + k] = (
                    frames[i, 9 + k] + frames[i, 3 * k] * x + frames[i, 3 * k + 1] * y + frames[i, 3 * k + 2] * z
                )
