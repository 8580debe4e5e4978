"""Segments of a tool path with constant speed: straight line and circular arc, each with a rotation about a fixed axis.

With the characteristic length ``c`` [m/rad] of the path, a segment has the length ``L = max(l, c |phi|)``, where ``l``
is the length of the position path and ``phi`` the rotation vector, so that a pure rotation has a length too. With
``r = s / L`` in [0, 1]::

    line   p = p0 + r d                                         p' = d / L              p'' = 0
    arc    p = m + cos(r beta) u + sin(r beta) n x u            p' = w x (p - m)        p'' = w x p',   w = n beta / L
    both   R = exp(r phi) R0                                    w' = phi / L            w'' = 0

``w'`` is the angular velocity for ds/dt = 1, expressed in the frame of the path: ``dR/ds = [w']x R``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.path.rotations import Turn
from flexarm_core.types import Array

# Positions closer than this count as equal [m].
COINCIDENT = 1e-9
# Three points are collinear if the vectors from the first to the others include less than this angle [rad].
COLLINEAR = 1e-6


class PoseSegment(Protocol):
    """Smooth segment of a path over its own coordinate s from 0 to ``length`` [m].

    Attributes:
        length: length of the segment, > 0 [m].
        knots: (k,) coordinates between which the segment is analytic, including 0 and ``length`` [m].
        end: position (3,) [m] and rotation (3, 3) at ``length``.
    """

    @property
    def length(self) -> float: ...  # noqa: D102

    @property
    def knots(self) -> Array: ...  # noqa: D102

    @property
    def end(self) -> tuple[Array, Array]: ...  # noqa: D102

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Return positions (g, 3) [m] and rotations (g, 3, 3) at s (g,) [m]."""
        ...

    def motions(self, s: Array) -> tuple[Array, Array]:
        """Return first and second derivatives (g, 6) with respect to s at s (g,) [m], linear before angular part."""
        ...


@dataclass(frozen=True, slots=True)
class LineSegment:
    """Straight line, or a pure rotation if the displacement is zero.

    Attributes:
        start: (3,) position at the start [m].
        displacement: (3,) end position minus start position [m].
        turn: rotation along the segment.
        length: length of the segment [m].
    """

    start: Array
    displacement: Array
    turn: Turn
    length: float

    @property
    def knots(self) -> Array:
        """Coordinates of both ends [m]."""
        return np.array([0.0, self.length])

    @property
    def end(self) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) at the end."""
        return self.start + self.displacement, self.turn.rotations(np.ones(1))[0]

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Return positions (g, 3) [m] and rotations (g, 3, 3) at s (g,) [m]."""
        part = s / self.length
        return self.start + part[:, None] * self.displacement, self.turn.rotations(part)

    def motions(self, s: Array) -> tuple[Array, Array]:
        """Return first and second derivatives (g, 6) with respect to s at s (g,) [m]."""
        first = np.concatenate((self.displacement, self.turn.vector)) / self.length
        return np.tile(first, (len(s), 1)), np.zeros((len(s), 6))


@dataclass(frozen=True, slots=True)
class ArcSegment:
    """Circular arc, with any number of revolutions.

    Attributes:
        center: (3,) center of the circle [m].
        radius: (3,) vector from the center to the start [m].
        normal: (3,) unit vector of the axis; positive angles follow the right-hand rule.
        angle: angle of the arc [rad].
        turn: rotation of the tool along the segment.
        length: length of the segment [m].
    """

    center: Array
    radius: Array
    normal: Array
    angle: float
    turn: Turn
    length: float

    @property
    def knots(self) -> Array:
        """Coordinates of both ends [m]."""
        return np.array([0.0, self.length])

    @property
    def end(self) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) at the end."""
        position, rotation = self.poses(np.array([self.length]))
        return position[0], rotation[0]

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Return positions (g, 3) [m] and rotations (g, 3, 3) at s (g,) [m]."""
        part = s / self.length
        return self.center + self._spokes(part), self.turn.rotations(part)

    def motions(self, s: Array) -> tuple[Array, Array]:
        """Return first and second derivatives (g, 6) with respect to s at s (g,) [m]."""
        rate = self.angle / self.length
        spokes = self._spokes(s / self.length)
        first = np.empty((len(s), 6))
        first[:, :3] = rate * np.cross(self.normal, spokes)
        first[:, 3:] = self.turn.vector / self.length
        second = np.zeros((len(s), 6))
        second[:, :3] = -(rate**2) * spokes
        return first, second

    def _spokes(self, part: Array) -> Array:
        """Return the vectors (g, 3) from the center to the positions at fractions (g,) of the arc."""
        beta = (self.angle * part)[:, None]
        return np.asarray(np.cos(beta) * self.radius + np.sin(beta) * np.cross(self.normal, self.radius))


@dataclass(frozen=True, slots=True)
class MovedSegment:
    """A segment expressed in another frame, ``p -> rotation p + translation``.

    Attributes:
        segment: segment in its original frame.
        rotation: (3, 3) rotation of the transform.
        translation: (3,) translation of the transform [m].
    """

    segment: PoseSegment
    rotation: Array
    translation: Array

    @property
    def length(self) -> float:
        """Length of the segment [m]."""
        return self.segment.length

    @property
    def knots(self) -> Array:
        """Knots of the segment [m]."""
        return self.segment.knots

    @property
    def end(self) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) at the end."""
        position, rotation = self.segment.end
        return self.rotation @ position + self.translation, self.rotation @ rotation

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Return positions (g, 3) [m] and rotations (g, 3, 3) at s (g,) [m]."""
        positions, rotations = self.segment.poses(s)
        return positions @ self.rotation.T + self.translation, self.rotation @ rotations

    def motions(self, s: Array) -> tuple[Array, Array]:
        """Return first and second derivatives (g, 6) with respect to s at s (g,) [m]."""
        first, second = ((rows.reshape(-1, 2, 3) @ self.rotation.T).reshape(-1, 6) for rows in self.segment.motions(s))
        return first, second


def line_segment(start: Array, displacement: Array, turn: Turn, characteristic_length: float) -> LineSegment:
    """Return a line from a position (3,) [m] by a displacement (3,) [m].

    Raises:
        InputError: neither position nor orientation changes.
    """
    length = max(float(np.linalg.norm(displacement)), characteristic_length * turn.angle)
    if length < COINCIDENT:
        raise InputError("line: the end pose is the start pose; leave the segment out, or move or turn by more")
    return LineSegment(start, displacement, turn, length)


def arc_through(start: Array, via: Array, end: Array) -> tuple[Array, Array, float]:
    """Return center (3,) [m], unit normal (3,) and angle [rad] of the arc from start through via to end, each (3,) [m].

    With ``a = via - start``, ``b = end - start``, ``n = a x b``, the center is
    ``m = start + (|a|^2 b - |b|^2 a) x n / (2 |n|^2)``.

    Raises:
        InputError: two of the positions coincide, or the three positions are collinear.
    """
    a, b = via - start, end - start
    shortest = min(np.linalg.norm(a), np.linalg.norm(b), np.linalg.norm(end - via))
    if shortest < COINCIDENT:
        raise InputError(
            "arc: two of start, via and end are the same position, so there is no one circle through them;"
            " use a circle (center, normal, angle) for a whole turn, a line for a turn on the spot"
        )
    n = np.cross(a, b)
    if np.linalg.norm(n) < COLLINEAR * np.linalg.norm(a) * np.linalg.norm(b):
        raise InputError("arc: start, via and end lie on one line; use a line, or move the via point off it")
    to_center = np.cross((a @ a) * b - (b @ b) * a, n) / (2.0 * (n @ n))
    normal = n / np.linalg.norm(n)
    spoke = -to_center
    angle = float(np.arctan2(np.cross(spoke, b + spoke) @ normal, spoke @ (b + spoke)))
    return start + to_center, normal, angle % (2.0 * np.pi)


def arc_segment(
    start: Array, center: Array, normal: Array, angle: float, turn: Turn, characteristic_length: float
) -> ArcSegment:
    """Return an arc from a position (3,) [m] about the axis through ``center`` along ``normal``.

    The angle [rad] may have either sign and any number of revolutions; positive angles follow the right-hand rule.

    Raises:
        InputError: angle or normal is zero, the angle is not finite, or the start lies on the axis.
    """
    size = float(np.linalg.norm(normal))
    if size < COINCIDENT:
        raise InputError("circle: the normal has no length; give the direction of the axis to go round")
    if not np.isfinite(angle) or angle == 0.0:
        raise InputError(f"circle: the angle must be a finite number other than 0 rad, got {angle}")
    axis = normal / size
    spoke = start - center
    radius = spoke - (spoke @ axis) * axis
    distance = float(np.linalg.norm(radius))
    if distance < COINCIDENT:
        raise InputError("circle: the position lies on the axis of the circle; use a line for a turn on the spot")
    length = max(abs(angle) * distance, characteristic_length * turn.angle)
    return ArcSegment(start - radius, radius, axis, angle, turn, length)
