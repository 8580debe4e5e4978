"""PosePath: the pose of the tool as a function of a path coordinate, without timing.

A path starts at a pose, usually the current one, and is extended segment by segment::

    path = PosePath(position, rotation).line(end).arc(via, end, end_rotation).spline(positions, rotations)

The length of a segment is ``max(length of the position path, characteristic_length * rotation angle)``, so that a pure
rotation has a length too. The coordinate ``s`` [m] runs from 0 to the sum of the lengths. Lines and arcs have constant
speed along s and rotate about a fixed axis at a constant rate, on the geodesic of SO(3); splines pass through poses
with continuous second derivative. A corner is a break at which the tangent is discontinuous: there the tool must stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flexarm_core.entrance import ANY, numbers
from flexarm_core.errors import InputError
from flexarm_core.path.pose_segments import MovedSegment, PoseSegment, arc_segment, arc_through, line_segment
from flexarm_core.path.pose_spline import SplineSegment
from flexarm_core.path.rotations import Turn, checked_rotation, checked_vector, rotation_between
from flexarm_core.types import Array

CHARACTERISTIC_LENGTH = 0.2  # [m/rad]
# Largest discontinuity of dp/ds, and of c dw/ds, that is attributed to rounding and is not a corner.
CORNER_TOLERANCE = 1e-6


class PosePath:
    """A sequence of smooth segments; every method that adds a segment returns a new path."""

    def __init__(
        self,
        position: Array | Sequence[float],
        rotation: Array,
        characteristic_length: float = CHARACTERISTIC_LENGTH,
        segments: tuple[PoseSegment, ...] = (),
    ) -> None:
        """Start a path at a pose.

        Args:
            position: (3,) tool position [m].
            rotation: (3, 3) tool rotation.
            characteristic_length: length that corresponds to one radian, > 0 [m/rad].
            segments: segments; the first starts at the given pose, each other segment at the end of the previous one.

        Raises:
            InputError: the pose or the characteristic length is invalid.
        """
        if not 0.0 < characteristic_length < np.inf:
            raise InputError(f"the characteristic length must be > 0 m/rad and finite, got {characteristic_length}")
        self.characteristic_length = characteristic_length
        self.segments = segments
        self._start = checked_vector(position, "path: start position"), checked_rotation(rotation, "path: rotation")

    @cached_property  # only of a path that is used: each segment that is added makes a new path
    def _breaks(self) -> Array:
        return np.concatenate(([0.0], np.cumsum([segment.length for segment in self.segments])))

    @property
    def length(self) -> float:
        """Length of the path; 0 without segments [m]."""
        return float(self._breaks[-1])

    @property
    def end(self) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) at the end of the path."""
        position, rotation = self.segments[-1].end if self.segments else self._start
        return position.copy(), rotation.copy()

    @property
    def breaks(self) -> Array:
        """Coordinates of the ends of all segments, including 0 and the length [m]."""
        return self._breaks.copy()

    @cached_property
    def _knots(self) -> Array:
        knots = [at + segment.knots[1:] for at, segment in zip(self._breaks, self.segments, strict=False)]
        return np.concatenate(([0.0], *knots))

    @property
    def knots(self) -> Array:
        """Coordinates between which the path is analytic: the breaks and the via poses of splines [m]."""
        return self._knots.copy()

    # Drawing ----------------------------------------------------------------------------------------------------------

    def line(self, position: Array | Sequence[float] | None = None, rotation: Array | None = None) -> PosePath:
        """Append a straight line to a pose.

        Args:
            position: (3,) position at the end [m]; None: unchanged.
            rotation: (3, 3) rotation at the end, less than half a turn away; None: unchanged.

        Raises:
            InputError: the pose is invalid, equal to the current end, or half a turn away.
        """
        here, orientation = self.end
        goal = here if position is None else checked_vector(position, "line: position")
        turn = self._turn_to(rotation, "line")
        return self._with(line_segment(here, goal - here, Turn(orientation, turn), self.characteristic_length))

    def turn(self, rotation_vector: Array | Sequence[float]) -> PosePath:
        """Append a rotation at constant position, with any number of revolutions.

        Args:
            rotation_vector: (3,) axis times angle, in the frame of the path [rad].

        Raises:
            InputError: the vector is not finite, or zero.
        """
        here, orientation = self.end
        vector = checked_vector(rotation_vector, "turn: rotation vector")
        return self._with(line_segment(here, np.zeros(3), Turn(orientation, vector), self.characteristic_length))

    def arc(
        self, via: Array | Sequence[float], position: Array | Sequence[float], rotation: Array | None = None
    ) -> PosePath:
        """Append a circular arc through a via position to a pose.

        Args:
            via: (3,) position on the arc between start and end [m].
            position: (3,) position at the end [m].
            rotation: (3, 3) rotation at the end, less than half a turn away; None: unchanged.

        Raises:
            InputError: a value is invalid, positions coincide or are collinear, or the rotation is half a turn away.
        """
        here, orientation = self.end
        between, goal = checked_vector(via, "arc: via"), checked_vector(position, "arc: position")
        turn = Turn(orientation, self._turn_to(rotation, "arc"))
        center, normal, angle = arc_through(here, between, goal)
        return self._with(arc_segment(here, center, normal, angle, turn, self.characteristic_length))

    def circle(
        self,
        center: Array | Sequence[float],
        normal: Array | Sequence[float],
        angle: float = 2.0 * np.pi,
        follow: bool = False,
    ) -> PosePath:
        """Append a circular motion about an axis.

        Args:
            center: (3,) any point on the axis [m].
            normal: (3,) direction of the axis, of any length; positive angles follow the right-hand rule.
            angle: angle of the motion, with any number of revolutions and either sign [rad].
            follow: whether the tool rotates with the motion; otherwise its orientation is constant.

        Raises:
            InputError: the values are not finite, axis or angle is zero, or the current end lies on the axis.
        """
        here, orientation = self.end
        axis = checked_vector(normal, "circle: normal")
        vector = angle * axis / max(float(np.linalg.norm(axis)), 1e-300) if follow else np.zeros(3)
        middle = checked_vector(center, "circle: center")
        return self._with(arc_segment(here, middle, axis, angle, Turn(orientation, vector), self.characteristic_length))

    def spline(
        self,
        positions: Array | Sequence[Array | Sequence[float]],
        rotations: Array | Sequence[Array] | None = None,
    ) -> PosePath:
        """Append a spline from the current end through poses.

        Args:
            positions: (p, 3) positions [m].
            rotations: (p, 3, 3) rotations, each less than half a turn from the previous one; None: unchanged.

        Raises:
            InputError: there are no poses, poses are invalid, or successive poses are equal or half a turn apart.
        """
        here, orientation = self.end
        through = [checked_vector(p, f"spline: position {i + 2}") for i, p in enumerate(positions)]
        if rotations is None:
            turned = [orientation] * len(through)
        else:
            turned = [checked_rotation(R, f"spline: rotation {i + 2}") for i, R in enumerate(rotations)]
        if len(turned) != len(through):
            raise InputError(f"spline: {len(through)} positions need as many rotations, got {len(turned)}")
        return self._with(
            SplineSegment(np.array([here, *through]), np.array([orientation, *turned]), self.characteristic_length)
        )

    def moved(self, rotation: Array, translation: Array | Sequence[float]) -> PosePath:
        """Return the path in another frame: ``p -> rotation p + translation``, ``R -> rotation R``.

        Args:
            rotation: (3, 3) rotation of the transform.
            translation: (3,) translation of the transform [m].

        Raises:
            InputError: the transform is invalid.
        """
        R, t = checked_rotation(rotation, "moved: rotation"), checked_vector(translation, "moved: translation")
        segments = tuple(MovedSegment(segment, R, t) for segment in self.segments)
        position, orientation = self._start
        return PosePath(R @ position + t, R @ orientation, self.characteristic_length, segments)

    # Reading ----------------------------------------------------------------------------------------------------------

    def pose(self, s: float) -> tuple[Array, Array]:
        """Return position (3,) [m] and rotation (3, 3) of the tool at a coordinate in [0, length] [m]."""
        positions, rotations = self.poses(np.array([s], dtype=float))
        return positions[0], rotations[0]

    def derivatives(self, s: float) -> tuple[Array, Array]:
        """Return ``[p'; w']`` and ``[p''; w'']`` (6,), the derivatives with respect to s, with ``R' = [w']x R``.

        At a break, these are the derivatives from above.
        """
        first, second = self.motions(np.array([s], dtype=float))
        return first[0], second[0]

    def poses(self, grid: Array) -> tuple[Array, Array]:
        """Return positions (g, 3) [m] and rotations (g, 3, 3) at coordinates (g,) [m].

        Raises:
            InputError: a coordinate is outside [0, length].
        """
        grid = self._checked(grid)
        positions, rotations = np.empty((len(grid), 3)), np.empty((len(grid), 3, 3))
        if not self.segments:
            positions[:], rotations[:] = self._start
        for segment, at, chosen in self._located(grid):
            positions[chosen], rotations[chosen] = segment.poses(grid[chosen] - at)
        return positions, rotations

    def motions(self, grid: Array) -> tuple[Array, Array]:
        """Return first and second derivatives (g, 6) at non-decreasing coordinates (g,) [m].

        If a coordinate appears twice in succession, the first row has the derivatives from below, the second those from
        above.

        Raises:
            InputError: a coordinate is outside [0, length].
        """
        grid = self._checked(grid)
        first, second = np.zeros((len(grid), 6)), np.zeros((len(grid), 6))
        for segment, at, chosen in self._located(grid):
            first[chosen], second[chosen] = segment.motions(grid[chosen] - at)
        return first, second

    # ------------------------------------------------------------------------------------------------------------------

    def _with(self, segment: PoseSegment) -> PosePath:
        return PosePath(*self._start, self.characteristic_length, (*self.segments, segment))

    def _turn_to(self, rotation: Array | None, name: str) -> Array:
        if rotation is None:
            return np.zeros(3)
        return rotation_between(self.end[1], checked_rotation(rotation, f"{name}: rotation"), name)

    def _checked(self, grid: Array) -> Array:
        grid, slack = numbers("grid", grid, ANY), 1e-9 * (1.0 + self.length)
        if not ((grid >= -slack) & (grid <= self.length + slack)).all():
            raise InputError(f"path coordinates must lie in [0, {self.length:.9g}] m")
        return np.clip(grid, 0.0, self.length)

    def _located(self, grid: Array) -> list[tuple[PoseSegment, float, NDArray[np.intp]]]:
        """Return segments, their start coordinates, and the indices of the coordinates that lie on them."""
        if len(self.segments) < 2:
            return [(segment, 0.0, np.arange(len(grid))) for segment in self.segments]
        inner = self._breaks[1:-1]
        index = np.searchsorted(inner, grid, side="right")
        before = np.append(grid[1:] == grid[:-1], False)
        index[before] = np.searchsorted(inner, grid[before], side="left")
        return [(self.segments[i], float(self._breaks[i]), np.flatnonzero(index == i)) for i in np.unique(index)]

    @cached_property
    def corners(self) -> Array:
        """Coordinates of the breaks at which the tangent is discontinuous [m]."""
        inner = self._breaks[1:-1]
        first, _ = self.motions(np.repeat(inner, 2))
        weights = np.repeat((1.0, self.characteristic_length), 3)
        jumps = np.abs((first[1::2] - first[::2]) * weights).max(axis=1, initial=0.0)
        return inner[jumps > CORNER_TOLERANCE]
