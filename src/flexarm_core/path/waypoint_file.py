"""Waypoint files: a tool path in a YAML file.

::

    frame: ""                     # root link or base link (empty: base link)
    relative: false               # false | true (to the start pose, axes of frame) | tool (axes of the start pose)
    characteristic_length: 0.2    # length that corresponds to one radian [m/rad]
    segments:
      - line: {position: [0.5, 0.1, 0.4], rpy: [0.0, !degrees 90, 0.0]}
      - turn: {axis_angle: [0, 0, 1, !degrees 400]}
      - arc: {via: [0.5, 0.2, 0.5], position: [0.5, 0.3, 0.4]}
      - circle: {center: [0.5, 0.2, 0.4], normal: [1, 0, 0], turns: 2, follow: true}
      - spline: [{position: [0.4, 0.3, 0.5]}, {position: [0.3, 0.2, 0.5], quaternion: [0, 0, 0, 1]}]

Each segment starts at the end of the previous one, the first at the start pose of the path. Positions are in meters,
angles in radians or, with ``!degrees``, in degrees. An orientation is one of ``rpy`` (fixed axes, as in URDF),
``quaternion`` (x y z w) and ``axis_angle`` (axis of any length, then the angle). A position or orientation that is not
given is unchanged. ``turn`` rotates by its full angle, the other segments take the shortest rotation. A circle has
``turns`` or an ``angle``; negative values reverse its direction.

With the start pose ``p0, R0``, a relative pose ``p, R`` means ``p0 + p, R R0``, or with ``tool`` ``p0 + R0 p, R0 R``.
Via points, centers, normals and axes of turns are transformed in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.file_folder import FileFolder
from flexarm_core.path.pose_path import CHARACTERISTIC_LENGTH, PosePath
from flexarm_core.strict_yaml import LinedMapping, load_strictly
from flexarm_core.text_file import read_text
from flexarm_core.types import Array
from flexarm_core.yaml_bounds import MOST_BYTES, excess

KEYS = ("frame", "relative", "characteristic_length", "segments")
SEGMENTS: dict[str, tuple[str, ...]] = {
    "line": ("position", "rpy", "quaternion", "axis_angle"),
    "turn": ("axis_angle",),
    "arc": ("via", "position", "rpy", "quaternion", "axis_angle"),
    "circle": ("center", "normal", "turns", "angle", "follow"),
    "spline": ("position", "rpy", "quaternion", "axis_angle"),
}
MOST_NAMED = 50_000  # bytes of a file that a message names; a behavior set waits while it is read
LONGEST_MESSAGE = 300  # characters; longer messages are truncated
ORIENTATIONS = {"rpy": 3, "quaternion": 4, "axis_angle": 4}
RELATIVE = {False: "no", True: "frame", "tool": "tool"}


@dataclass(frozen=True, slots=True)
class Placement:
    """Transform from the numbers in the file to the frame of the path, for a start pose.

    Attributes:
        relative: ``no``, ``frame`` (relative to the start pose, axes of the frame) or ``tool`` (relative to the start
            pose, axes of the start pose).
        position: (3,) position of the start pose [m].
        rotation: (3, 3) rotation of the start pose.
    """

    relative: str
    position: Array
    rotation: Array

    def point(self, p: Array) -> Array:
        """Return a position (3,) in the frame of the path [m]."""
        return p if self.relative == "no" else self.position + self.direction(p)

    def direction(self, v: Array) -> Array:
        """Return a direction (3,) in the frame of the path."""
        return self.rotation @ v if self.relative == "tool" else v

    def orientation(self, R: Array) -> Array:
        """Return an orientation (3, 3) in the frame of the path."""
        if self.relative == "no":
            return R
        return np.asarray(self.rotation @ R if self.relative == "tool" else R @ self.rotation)


Draw = Callable[[PosePath, Placement], PosePath]


@dataclass(frozen=True, slots=True)
class PathSpec:
    """Specification of a path whose start pose is not known yet.

    Attributes:
        frame: frame of the path, root link or base link; empty: base link.
        relative: see :class:`Placement`.
        characteristic_length: length that corresponds to one radian [m/rad].
        segments: for each segment its location in the file (for messages) and the function that appends it to a path.
    """

    frame: str
    relative: str
    characteristic_length: float
    segments: tuple[tuple[str, Draw], ...]

    def build(self, start_position: Array, start_rotation: Array) -> PosePath:
        """Return the path from a start position (3,) [m] and rotation (3, 3) in the frame of the path.

        Raises:
            InputError: a segment is not possible from the end of the previous one; the message names the segment.
        """
        path = PosePath(start_position, start_rotation, self.characteristic_length)
        placement = Placement(self.relative, *path.end)
        for where, draw in self.segments:
            try:
                path = draw(path, placement)
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
        return path


def load_waypoint_file(path: Path | str, folder: FileFolder | None = None) -> PathSpec:
    """Read a waypoint file.

    Args:
        path: the file.
        folder: folder in which the file must be, because a message named it; None: it may be anywhere.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or has invalid content; the message names line and entry,
            and nothing that is in the file.
    """
    what = "waypoint file"
    text = read_text(path, what, MOST_BYTES) if folder is None else folder.read_text(str(path), what, MOST_NAMED)
    if too_much := excess(text):
        raise ConfigError(f"waypoint file '{path}' {too_much}")
    return _Reader(str(path)).spec(load_strictly(path, text))


class _Reader:
    """Converts the content of a file to a PathSpec; raises ConfigError at the first problem.

    Its errors say where a problem is and what is valid, not what the file has there: it may be any file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._line = 1

    def fail(self, key: str, message: str) -> ConfigError:
        short = message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 3]}..."
        return ConfigError(f"{self._path}:{self._line}: {key + ': ' if key else ''}{short}")

    def spec(self, root: object) -> PathSpec:
        document = self.mapping(root, "", KEYS)
        relative = document.get("relative", False)
        if not isinstance(relative, (bool, str)) or relative not in RELATIVE:
            raise self.fail("relative", "must be false, true or tool")
        frame = document.get("frame") or ""
        if not isinstance(frame, str):
            raise self.fail("frame", "must be the name of a link")
        weight = self.number(document.get("characteristic_length", CHARACTERISTIC_LENGTH), "characteristic_length")
        if not weight > 0.0:
            raise self.fail("characteristic_length", "must be > 0 m/rad")
        entries = document.get("segments")
        if not isinstance(entries, list) or not entries:
            raise self.fail("segments", f"must be a list of at least one of: {', '.join(SEGMENTS)}")
        segments = tuple(self.segment(entry, f"segments[{i}]") for i, entry in enumerate(entries))
        return PathSpec(frame, RELATIVE[relative], weight, segments)

    def segment(self, entry: object, key: str) -> tuple[str, Draw]:
        chosen = self.mapping(entry, key, tuple(SEGMENTS))
        if len(chosen) != 1:
            raise self.fail(key, f"must hold one of: {', '.join(SEGMENTS)}; got {', '.join(chosen) or 'nothing'}")
        ((kind, content),) = chosen.items()
        key = f"{key}.{kind}"
        where = f"{self._path}:{self._line}: {key}"
        if kind == "spline":
            return where, self.spline(content, key)
        values = self.mapping(content, key, SEGMENTS[kind])
        readers = {"line": self.line, "turn": self.turn, "arc": self.arc, "circle": self.circle}
        return where, readers[kind](values, key)

    def line(self, values: dict[str, Any], key: str) -> Draw:
        rotation = self.orientation(values, key)
        if "position" not in values and rotation is None:
            raise self.fail(key, f"needs a position, an orientation ({', '.join(ORIENTATIONS)}), or both")
        position = self.vector(values, "position", key) if "position" in values else None
        return lambda path, at: path.line(
            None if position is None else at.point(position), None if rotation is None else at.orientation(rotation)
        )

    def turn(self, values: dict[str, Any], key: str) -> Draw:
        vector = self.rotation_vector(self.numbers(values, "axis_angle", key, 4), f"{key}.axis_angle")
        return lambda path, at: path.turn(at.direction(vector))

    def arc(self, values: dict[str, Any], key: str) -> Draw:
        via, position = self.vector(values, "via", key), self.vector(values, "position", key)
        rotation = self.orientation(values, key)
        return lambda path, at: path.arc(
            at.point(via), at.point(position), None if rotation is None else at.orientation(rotation)
        )

    def circle(self, values: dict[str, Any], key: str) -> Draw:
        if ("turns" in values) == ("angle" in values):
            raise self.fail(key, "needs one of turns and angle")
        unit, name = (2.0 * math.pi, "turns") if "turns" in values else (1.0, "angle")
        angle = unit * self.number(values[name], f"{key}.{name}")
        center, normal = self.vector(values, "center", key), self.vector(values, "normal", key)
        follow = values.get("follow", False)
        if not isinstance(follow, bool):
            raise self.fail(f"{key}.follow", "must be true or false")
        return lambda path, at: path.circle(at.point(center), at.direction(normal), angle, follow)

    def spline(self, content: object, key: str) -> Draw:
        if not isinstance(content, list) or not content:
            raise self.fail(key, "must be a list of poses")
        poses = []
        for i, item in enumerate(content):
            values = self.mapping(item, f"{key}[{i}]", SEGMENTS["spline"])
            poses.append((self.vector(values, "position", f"{key}[{i}]"), self.orientation(values, f"{key}[{i}]")))

        def draw(path: PosePath, at: Placement) -> PosePath:
            rotations = [path.end[1]]
            for _, rotation in poses:
                rotations.append(rotations[-1] if rotation is None else at.orientation(rotation))
            return path.spline([at.point(position) for position, _ in poses], rotations[1:])

        return draw

    def orientation(self, values: dict[str, Any], key: str) -> Array | None:
        given = [name for name in ORIENTATIONS if name in values]
        if not given:
            return None
        if len(given) > 1:
            raise self.fail(key, f"gives the orientation more than once: {', '.join(given)}; keep one")
        name, where = given[0], f"{key}.{given[0]}"
        numbers = self.numbers(values, name, key, ORIENTATIONS[name])
        if name == "rpy":
            return np.asarray(Rotation.from_euler("xyz", numbers).as_matrix())  # lower case: about fixed axes
        if name == "axis_angle":
            return np.asarray(Rotation.from_rotvec(self.rotation_vector(numbers, where)).as_matrix())
        norm = float(np.linalg.norm(numbers))
        if abs(norm - 1.0) > 1e-3:
            raise self.fail(where, "must be a unit quaternion (x y z w)")
        return np.asarray(Rotation.from_quat(numbers).as_matrix())

    def rotation_vector(self, axis_angle: Array, key: str) -> Array:
        size = float(np.linalg.norm(axis_angle[:3]))
        if size == 0.0:
            raise self.fail(key, "the axis has no length: give [x, y, z, angle]")
        return axis_angle[:3] * (axis_angle[3] / size)

    def mapping(self, value: object, key: str, valid: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(value, LinedMapping):
            raise self.fail(key, f"must be a mapping with keys of: {', '.join(valid)}")
        self._line = value.line
        for name in value:
            if name not in valid:
                raise self.fail(key, f"unknown key; valid: {', '.join(valid)}")
        return value

    def vector(self, values: dict[str, Any], name: str, key: str) -> Array:
        return self.numbers(values, name, key, 3)

    def numbers(self, values: dict[str, Any], name: str, key: str, count: int) -> Array:
        if name not in values:
            raise self.fail(key, f"needs {name}")
        value = values[name]
        if not isinstance(value, list) or len(value) != count:
            raise self.fail(f"{key}.{name}", f"must be {count} numbers")
        return np.array([self.number(item, f"{key}.{name}[{i}]") for i, item in enumerate(value)])

    def number(self, value: object, key: str) -> float:
        try:
            # PyYAML (YAML 1.1) reads 1e-3 as text.
            number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise self.fail(key, "must be a finite number")
        return number
