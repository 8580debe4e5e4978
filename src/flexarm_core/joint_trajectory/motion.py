"""Pieces of a motion of the joints, each of which takes over smoothly from the one before, and their shaped sum.

A piece follows a course: a spline, a stop, a held position. Where the joints are elsewhere when it begins, or move
otherwise, the difference fades by a quintic polynomial: no position, velocity or acceleration jumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flexarm_core.joint_trajectory.spline import Motion, Spline, cubic, polynomial, quintic
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper
from flexarm_core.path.joint_stop import JointStop
from flexarm_core.types import Array, JointReference

SHORTEST = 0.1  # [s] least time in which a difference fades
SHARE = 0.5  # of velocity and acceleration limit that a fading difference may take
LONGER = 1.2  # factor by which the time is prolonged until that holds
SWING = 0.07  # largest velocity of a quintic from an acceleration to rest, relative to that and to its duration
_INNER = np.linspace(0.05, 0.95, 10)


class Course(Protocol):
    """Where a piece leads."""

    @property
    def end(self) -> int:
        """Stamp from which on it rests [ns]."""

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""


@dataclass(frozen=True, slots=True)
class Held:
    """The joints rest."""

    position: Array
    end: int = 0

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""
        still = np.zeros(len(self.position))
        return self.position, still, still


class Stopped:
    """The joints come to rest, all at once."""

    def __init__(self, stamp: int, motion: Motion, acceleration: Array) -> None:
        """Stop from a motion at a stamp [ns] within acceleration limits (n,)."""
        self._stop = JointStop(JointReference(stamp, *motion), acceleration)
        self.end = stamp + round(self._stop.duration * 1e9)

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""
        reference = self._stop.update(stamp)
        assert reference.position is not None and reference.velocity is not None and reference.acceleration is not None
        return reference.position, reference.velocity, reference.acceleration


class Followed:
    """The joints follow a spline, which begins where they are; if it ends in motion, they come to rest behind it."""

    def __init__(self, start: int, spline: Spline, now: int, motion: Motion, limits: Limits) -> None:
        """Follow a spline whose times count from a stamp ``start`` [ns], from a motion at the stamp ``now`` on."""
        self._start, self._spline, self._now = start, spline, now
        self.last = self.end = start + int(spline.times[-1])
        first = start + int(spline.times[0])
        self._approach: Array | None = None
        if now < first:
            self._approach = _approach((first - now) * 1e-9, motion, spline, limits)
            if self._approach is None:  # the joints are not there in time: the way from where they are tells no speed
                self._spline = spline.by_itself()
        self._tail: Stopped | None = None
        position, velocity, acceleration = spline.end()
        if velocity.any():
            self._tail = Stopped(self.last, (position, velocity, acceleration), limits.acceleration)
            self.end = self._tail.end

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""
        time = stamp - self._start
        if self._approach is not None and time < self._spline.times[0]:
            return polynomial(self._approach, (stamp - self._now) * 1e-9)
        if self._tail is not None and stamp >= self.last:
            return self._tail.sample(stamp)
        return self._spline.sample(time)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits (n,) of what is added to a motion.

    Attributes:
        velocity: velocity limits, inf if there are none [rad/s | m/s].
        acceleration: acceleration limits [rad/s^2 | m/s^2].
    """

    velocity: Array
    acceleration: Array


def _approach(duration: float, motion: Motion, spline: Spline, limits: Limits) -> Array | None:
    """Return coefficients of the segment from a motion to the first point, None if it would be too fast.

    From SHORTEST on its acceleration is the client's choice, as that of all other segments.
    """
    h = np.array([duration])
    first = spline.position[0], spline.velocity[0], spline.acceleration[0]
    found = quintic(h, motion, first) if spline.accelerated[0] else cubic(h, motion[:2], first[:2])
    for share in _INNER:
        _, velocity, acceleration = polynomial(found, share * duration)
        hard = duration < SHORTEST and (np.abs(acceleration) > limits.acceleration).any()
        if hard or (np.abs(velocity) > limits.velocity).any():
            return None
    return found


class Piece:
    """A course, with what the motion before it differed by, which fades.

    Attributes:
        begin: stamp from which on the piece leads [ns].
        course: where it leads.
        end: stamp from which on the motion rests, or only the course moves [ns].
        offset: (n,) position by which the motion was away from the course at the beginning [rad | m].
    """

    def __init__(self, begin: int, course: Course, before: Motion, limits: Limits) -> None:
        """Take over from a motion at a stamp [ns]."""
        self.begin, self.course = begin, course
        away = tuple(one - other for one, other in zip(before, course.sample(begin), strict=True))
        self.offset: Array = away[0]
        self._fades: tuple[tuple[Array, float], ...] = ()
        if any(np.abs(one).max() > 1e-12 for one in away):
            self._fades = _fadings((away[0], away[1], away[2]), limits)
        self.end = max(course.end, *(begin + round(duration * 1e9) for _, duration in self._fades), 0)

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""
        motion, time = self.course.sample(stamp), (stamp - self.begin) * 1e-9
        for fade, duration in self._fades:
            if time < duration:
                fading = polynomial(fade, time)
                motion = motion[0] + fading[0], motion[1] + fading[1], motion[2] + fading[2]
        return motion


def _fadings(away: Motion, limits: Limits) -> tuple[tuple[Array, float], ...]:
    """Return coefficients of polynomials from a motion to zero, and their durations [s].

    Position and velocity fade as slowly as the limits ask. An acceleration fades by itself, at once: over a longer time
    it would move the joints, by more the longer it is.
    """
    nothing = np.zeros(len(away[0]))
    still = (nothing, nothing, nothing)
    speed = float((SWING * np.abs(away[2]) / (SHARE * limits.velocity)).max())
    brief = SHORTEST / max(1.0, SHORTEST * speed)
    sudden = quintic(np.array([brief]), (nothing, nothing, away[2]), still), brief
    duration = SHORTEST
    most = SHARE * limits.velocity + np.abs(away[1]), SHARE * limits.acceleration + np.abs(away[2])
    while True:  # ends: the polynomial becomes slower
        found = quintic(np.array([duration]), (away[0], away[1], nothing), still)
        samples = [polynomial(found, share * duration) for share in _INNER]
        if not any((np.abs(v) > most[0]).any() or (np.abs(a) > most[1]).any() for _, v, a in samples):
            return sudden, (found, duration)
        duration *= LONGER


class ShapedMotion:
    """The pieces of a motion, and their convolution with an impulse train.

    Attributes:
        limits: limits of what is added to a motion.
    """

    def __init__(self, position: Array, limits: Limits) -> None:
        """Begin at rest at positions (n,)."""
        self.limits = limits
        self._at_rest = Held(position)
        self._pieces: list[Piece] = []
        self._shaper = UNSHAPED

    @property
    def delay(self) -> int:
        """Time by which a motion ends later than its piece [ns]."""
        return round(self._shaper.length * 1e9)

    def raw(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns] before it is shaped."""
        for piece in reversed(self._pieces):
            if piece.begin <= stamp:
                return piece.sample(stamp)
        return self._at_rest.sample(stamp)

    def sample(self, stamp: int) -> Motion:
        """Return the shaped motion at a stamp [ns]."""
        shaper = self._shaper
        if not shaper.length:
            return self.raw(stamp)
        position, velocity, acceleration = (np.zeros(len(self._at_rest.position)) for _ in range(3))
        for amplitude, late in zip(shaper.amplitudes, shaper.times, strict=True):
            motion = self.raw(stamp - round(late * 1e9))
            position += amplitude * motion[0]
            velocity += amplitude * motion[1]
            acceleration += amplitude * motion[2]
        return position, velocity, acceleration

    def lead(self, stamp: int, course: Course) -> Piece:
        """Follow a course from a stamp [ns] on."""
        before = stamp - self.delay
        while len(self._pieces) > 1 and self._pieces[1].begin < before:
            self._pieces.pop(0)
        piece = Piece(stamp, course, self.raw(stamp), self.limits)
        self._pieces.append(piece)
        return piece

    def rests(self, stamp: int) -> bool:
        """Return whether the shaped motion has ended at a stamp [ns]."""
        return not self._pieces or stamp >= self._pieces[-1].end + self.delay

    def shape(self, stamp: int, shaper: InputShaper) -> None:
        """Use another shaper from a stamp [ns] on, at which the motion rests."""
        self._at_rest, self._pieces, self._shaper = Held(self.raw(stamp)[0]), [], shaper
