"""Obstacle: a sphere, box or half-space in the base frame, and its row in the tables of the compiled functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.types import Array

SPHERE, BOX, HALF_SPACE = 0.0, 1.0, 2.0
KINDS = {"sphere": SPHERE, "box": BOX, "half_space": HALF_SPACE}
SIZES = {"sphere": 1, "box": 3, "half_space": 0}  # number of size parameters
WIDTH = 16  # length of a row: kind, position (3), rotation (9, row by row), size (3)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A body that the arm must not touch, in the base frame.

    Attributes:
        name: name of the obstacle.
        kind: ``sphere``, ``box`` or ``half_space``.
        position: (3,) center, or a point on the boundary of the half-space [m].
        rotation: (3, 3) axes of the box; the third column is the normal of the half-space, toward the free side.
        size: radius of a sphere, three half extents of a box, empty for a half-space [m].
    """

    name: str
    kind: str
    position: Array
    rotation: Array
    size: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Raise ConfigError if the attributes are not valid."""
        if not self.name:
            raise ConfigError("an obstacle needs a name")
        if self.kind not in KINDS:
            raise ConfigError(f"obstacle '{self.name}': kind '{self.kind}' is unknown; valid: {', '.join(KINDS)}")
        position, rotation = np.array(self.position, dtype=float), np.array(self.rotation, dtype=float)
        if position.shape != (3,) or not np.isfinite(position).all():
            raise ConfigError(f"obstacle '{self.name}': the position must be three finite numbers, got {self.position}")
        turned = rotation.shape == (3, 3) and bool(np.isfinite(rotation).all())
        if not (turned and np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6 and np.linalg.det(rotation) > 0.0):
            raise ConfigError(f"obstacle '{self.name}': the orientation is no rotation (3, 3): {self.rotation}")
        size, count = np.array(self.size, dtype=float), SIZES[self.kind]
        if size.shape != (count,) or not ((size > 0.0) & np.isfinite(size)).all():
            needs = {"sphere": "a radius > 0", "box": "three half extents > 0", "half_space": "no size"}[self.kind]
            raise ConfigError(f"obstacle '{self.name}': a {self.kind} needs {needs} [m], got {self.size}")
        for field, value in (("position", position), ("rotation", rotation)):
            value.flags.writeable = False
            object.__setattr__(self, field, value)
        object.__setattr__(self, "size", tuple(float(number) for number in size))


def pack(obstacles: Sequence[Obstacle]) -> Array:
    """Return a table (m, 16) of obstacles: kind, position (3), rotation (9, row by row), size (3, zero-padded) [m].

    Raises:
        ConfigError: two obstacles have the same name.
    """
    names = [obstacle.name for obstacle in obstacles]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"obstacles need names of their own; given twice: {', '.join(twice)}")
    table = np.zeros((len(obstacles), WIDTH))
    for row, obstacle in zip(table, obstacles, strict=True):
        row[0], row[1:4], row[4:13] = KINDS[obstacle.kind], obstacle.position, obstacle.rotation.ravel()
        row[13 : 13 + len(obstacle.size)] = obstacle.size
    return table


def obstacles_from_lists(
    names: Sequence[str],
    kinds: Sequence[str],
    positions: Sequence[float],
    rpys: Sequence[float],
    sizes: Sequence[float],
) -> tuple[Obstacle, ...]:
    """Create obstacles from flat lists, which is the form of node parameters.

    Args:
        names: one name per obstacle, all different.
        kinds: ``sphere``, ``box`` or ``half_space`` for each obstacle.
        positions: x y z of each obstacle [m].
        rpys: roll pitch yaw of each obstacle, about fixed axes as in URDF [rad]; empty: no obstacle is rotated.
        sizes: three numbers per obstacle [m]: a sphere has its radius and two ignored numbers, a box its half extents,
            a half-space three ignored numbers.

    Raises:
        ConfigError: the lengths of the lists do not match, a name is given twice, or an obstacle is not valid.
    """
    count = len(names)
    if not len(rpys):
        rpys = [0.0] * (3 * count)
    for what, values, each in (
        ("kinds", kinds, 1),
        ("positions", positions, 3),
        ("rpys", rpys, 3),
        ("sizes", sizes, 3),
    ):
        if len(values) != each * count:
            raise ConfigError(
                f"{count} obstacles ({', '.join(names) or 'none'}) need {each * count} numbers in {what},"
                f" {each} each; got {len(values)}"
                if each > 1
                else f"{count} obstacles ({', '.join(names) or 'none'}) need as many {what}, got {len(values)}"
            )
    obstacles = []
    for i, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        rotation = roll_pitch_yaw_to_rotation(*rpys[3 * i : 3 * i + 3])
        size = tuple(sizes[3 * i : 3 * i + SIZES.get(kind, 0)])
        obstacles.append(Obstacle(name, kind, np.array(positions[3 * i : 3 * i + 3], dtype=float), rotation, size))
    pack(obstacles)
    return tuple(obstacles)
