"""Pieces of a tool path at constant speed: the straight line and the arc, each with one turn about a fixed axis.

With ``c`` the characteristic length [m/rad] of the path, a piece has the length ``L = max(l, c |phi|)``, ``l`` the way
of the position and ``phi`` the turn, so that a turn on the spot has a length too. Along it, ``r = s / L`` in [0, 1]::

    line   p = p0 + r d                                         p' = d / L              p'' = 0
    arc    p = m + cos(r beta) u + sin(r beta) n x u            p' = w x (p - m)        p'' = w x p',   w = n beta / L
    both   R = exp(r phi) R0                                    w' = phi / L            w'' = 0

``w'`` is the angular velocity for ds/dt = 1, in the axes of the path's frame: ``dR/ds = [w']x R``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.path.rotations import Turn
from flexarm_core.types import Array

# Positions nearer to each other than this are one [m].
COINCIDENT = 1e-9
# Three points whose sides include less than this angle lie on a line [rad].
COLLINEAR = 1e-6


class PoseSegment(Protocol):
    """One smooth piece of a path, over its own coordinate s from 0 to ``length`` [m].

    Attributes:
        length: of the piece, > 0 [m].
        knots: (k,) s between which the piece is analytic, 0 and ``length`` included.
        end: position (3,) and rotation (3, 3) at ``length``, exactly.
    """

    @property
    def length(self) -> float: ...  # noqa: D102

    @property
    def knots(self) -> Array: ...  # noqa: D102

    @property
    def end(self) -> tuple[Array, Array]: ...  # noqa: D102

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Positions (g, 3) and rotations (g, 3, 3) at s (g,)."""
        ...

    def motions(self, s: Array) -> tuple[Array, Array]:
        """First and second derivatives (g, 6), linear first, with respect to s (g,)."""
        ...


@dataclass(frozen=True, slots=True)
class LineSegment:
    """A straight line; with no displacement a turn on the spot.

    Attributes:
        start: (3,) [m].
        displacement: (3,) [m].
        turn: of the orientation along it.
        length: [m].
    """

    start: Array
    displacement: Array
    turn: Turn
    length: float

    @property
    def knots(self) -> Array:
        """Both ends."""
        return np.array([0.0, self.length])

    @property
    def end(self) -> tuple[Array, Array]:
        """Pose at the end."""
        return self.start + self.displacement, self.turn.rotations(np.ones(1))[0]

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Positions (g, 3) and rotations (g, 3, 3) at s (g,)."""
        part = s / self.length
        return self.start + part[:, None] * self.displacement, self.turn.rotations(part)

    def motions(self, s: Array) -> tuple[Array, Array]:
        """First and second derivatives (g, 6) at s (g,)."""
        first = np.concatenate((self.displacement, self.turn.vector)) / self.length
        return np.tile(first, (len(s), 1)), np.zeros((len(s), 6))


@dataclass(frozen=True, slots=True)
class ArcSegment:
    """Part of a circle, or any number of its turns.

    Attributes:
        center: (3,) [m].
        radius: (3,) from the centre to the start [m].
        normal: (3,) unit vector, about which the position goes round.
        angle: by which it goes round [rad].
        turn: of the orientation along it.
        length: [m].
    """

    center: Array
    radius: Array
    normal: Array
    angle: float
    turn: Turn
    length: float

    @property
    def knots(self) -> Array:
        """Both ends."""
        return np.array([0.0, self.length])

    @property
    def end(self) -> tuple[Array, Array]:
        """Pose at the end."""
        position, rotation = self.poses(np.array([self.length]))
        return position[0], rotation[0]

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Positions (g, 3) and rotations (g, 3, 3) at s (g,)."""
        part = s / self.length
        return self.center + self._spokes(part), self.turn.rotations(part)

    def motions(self, s: Array) -> tuple[Array, Array]:
        """First and second derivatives (g, 6) at s (g,)."""
        rate = self.angle / self.length
        spokes = self._spokes(s / self.length)
        first = np.empty((len(s), 6))
        first[:, :3] = rate * np.cross(self.normal, spokes)
        first[:, 3:] = self.turn.vector / self.length
        second = np.zeros((len(s), 6))
        second[:, :3] = -(rate**2) * spokes
        return first, second

    def _spokes(self, part: Array) -> Array:
        """From the centre to the positions (g, 3)."""
        beta = (self.angle * part)[:, None]
        return np.asarray(np.cos(beta) * self.radius + np.sin(beta) * np.cross(self.normal, self.radius))


@dataclass(frozen=True, slots=True)
class MovedSegment:
    """A piece seen in another frame.

    Attributes:
        segment: the piece.
        rotation: (3, 3) and
        translation: (3,) that take a point into that frame, ``rotation p + translation`` [m].
    """

    segment: PoseSegment
    rotation: Array
    translation: Array

    @property
    def length(self) -> float:
        """Of the piece [m]."""
        return self.segment.length

    @property
    def knots(self) -> Array:
        """Of the piece."""
        return self.segment.knots

    @property
    def end(self) -> tuple[Array, Array]:
        """Pose at the end."""
        position, rotation = self.segment.end
        return self.rotation @ position + self.translation, self.rotation @ rotation

    def poses(self, s: Array) -> tuple[Array, Array]:
        """Positions (g, 3) and rotations (g, 3, 3) at s (g,)."""
        positions, rotations = self.segment.poses(s)
        return positions @ self.rotation.T + self.translation, self.rotation @ rotations

    def motions(self, s: Array) -> tuple[Array, Array]:
        """First and second derivatives (g, 6) at s (g,)."""
        first, second = ((rows.reshape(-1, 2, 3) @ self.rotation.T).reshape(-1, 6) for rows in self.segment.motions(s))
        return first, second


def line_segment(start: Array, displacement: Array, turn: Turn, characteristic_length: float) -> LineSegment:
    """Line from a position (3,) by a displacement (3,) [m].

    Raises:
        InputError: neither position nor orientation moves.
    """
    length = max(float(np.linalg.norm(displacement)), characteristic_length * turn.angle)
    if length < COINCIDENT:
        raise InputError("line: the end pose is the start pose; leave the segment out, or move or turn by more")
    return LineSegment(start, displacement, turn, length)


def arc_through(start: Array, via: Array, end: Array) -> tuple[Array, Array, float]:
    """Circle through positions (3,): centre (3,) [m], unit normal (3,) and angle from start to end over via [rad].

    With ``a = via - start``, ``b = end - start``, ``n = a x b``: ``m = start + (|a|^2 b - |b|^2 a) x n / (2 |n|^2)``.

    Raises:
        InputError: two of the positions are one, or all three lie on a line.
    """
    a, b = via - start, end - start
    shortest = min(np.linalg.norm(a), np.linalg.norm(b), np.linalg.norm(end - via))
    if shortest < COINCIDENT:
        raise InputError(
            "arc: two of start, via and end are the same position, so there is no one circle through them;"
            " use a circle (centre, normal, angle) for a whole turn, a line for a turn on the spot"
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
    """Arc from a position (3,) about the axis through ``center`` along ``normal``, by an angle [rad] of any size.

    A negative angle goes round the other way.

    Raises:
        InputError: no angle, no normal, or a start on the axis.
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
