"""Pieces of a motion of the joints, each of which takes over smoothly from the one before, and their shaped sum.

A piece follows a course: a spline, a stop, a held position. Where the joints are elsewhere when it begins, or move
otherwise, the difference fades by a quintic polynomial: no position, velocity or acceleration jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flexarm_core.entrance import finite
from flexarm_core.joint_trajectory.spline import Motion, Spline, cubic, polynomial, quintic, value_and_slope
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper
from flexarm_core.path.joint_stop import JointStop
from flexarm_core.types import Array, JointReference

SHORTEST = 0.1  # [s] least time in which a difference fades
SHARE = 0.5  # of velocity and acceleration limit that a fading difference may take
LEAST = 0.1  # of the velocity limit that it may take in any case, however fast the course is
PLACES = 24  # samples of a fade, an approach or a stop from which its extremes are taken
MOST_PLACES = 100  # points of a course within a fade that are samples, too
NO_POINTS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
UNLIMITED = 1e9  # [rad/s^2 | m/s^2] acceleration without a limit
_INNER = np.linspace(0.05, 0.95, 10)


class Course(Protocol):
    """Where a piece leads."""

    @property
    def end(self) -> int:
        """Stamp from which on it rests [ns]."""

    @property
    def speed(self) -> Array:
        """Largest speed of each joint (n,) [rad/s | m/s]."""

    @property
    def added(self) -> Sequence[tuple[int, int]]:
        """Stamps between which it leads where no point of a client does [ns]."""

    @property
    def stamps(self) -> NDArray[np.int64]:
        """Stamps of its points and between them [ns]."""

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""

    def path(self, stamps: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return positions and velocities (k, n) at stamps (k,) [ns]."""


@dataclass(frozen=True, slots=True)
class Held:
    """The joints rest."""

    position: Array
    end: int = 0
    added: Sequence[tuple[int, int]] = ()

    @property
    def speed(self) -> Array:
        """Largest speed of each joint (n,)."""
        return np.zeros(len(self.position))

    @property
    def stamps(self) -> NDArray[np.int64]:
        """It has no points."""
        return NO_POINTS

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""
        still = np.zeros(len(self.position))
        return self.position, still, still

    def path(self, stamps: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return positions and velocities (k, n) at stamps (k,) [ns]."""
        shape = len(stamps), len(self.position)
        return np.broadcast_to(self.position, shape).copy(), np.zeros(shape)


class Stopped:
    """The joints come to rest, all at once."""

    def __init__(self, stamp: int, motion: Motion, acceleration: Array) -> None:
        """Stop from a motion at a stamp [ns] within acceleration limits (n,)."""
        self._stop = JointStop(JointReference(stamp, *motion), acceleration)
        self.end = stamp + round(self._stop.duration * 1e9)
        self.added, self.speed, self.stamps = [(stamp, self.end)], np.abs(motion[1]), NO_POINTS

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""
        reference = self._stop.update(stamp)
        assert reference.position is not None and reference.velocity is not None and reference.acceleration is not None
        return reference.position, reference.velocity, reference.acceleration

    def path(self, stamps: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return positions and velocities (k, n) at stamps (k,) [ns]."""
        motions = [self.sample(stamp) for stamp in stamps.tolist()]
        return np.array([motion[0] for motion in motions]), np.array([motion[1] for motion in motions])


class Followed:
    """The joints follow a spline, which begins where they are; if it ends in motion, they come to rest after it."""

    def __init__(self, start: int, spline: Spline, now: int, motion: Motion, limits: Limits) -> None:
        """Follow a spline whose times count from a stamp ``start`` [ns], from a motion at the stamp ``now`` on."""
        self._start, self._spline, self._now = start, spline, now
        self.last = self.end = start + int(spline.times[-1])
        first = start + int(spline.times[0])
        self._approach: Array | None = None
        if now < first:
            self._approach = _approach((first - now) * 1e-9, motion, spline, limits)
        _, speed, _ = motion
        moves = bool(finite("velocity", speed, spline.position.shape[1]).any())
        if self._approach is None and (now != first or moves):
            # Joints that are not there in time, or move already: their way tells no speed of the first point.
            self._spline = spline.by_itself()
        self._tail: Stopped | None = None
        position, velocity, acceleration = spline.end()
        if velocity.any():
            self._tail = Stopped(self.last, (position, velocity, acceleration), limits.acceleration)
            self.end = self._tail.end
        self.added = [(now, first)] if self._approach is not None else []
        self.added += [] if self._tail is None else self._tail.added
        self.speed: Array = np.abs(self._spline.extremes()[1]).max(axis=0)
        times = self._spline.times
        self.stamps = start + np.concatenate((times, times[:-1] + np.diff(times) // 2))

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""
        time = stamp - self._start
        if self._approach is not None and time < self._spline.times[0]:
            return polynomial(self._approach, (stamp - self._now) * 1e-9)
        if self._tail is not None and stamp >= self.last:
            return self._tail.sample(stamp)
        return self._spline.sample(time)

    def path(self, stamps: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return positions and velocities (k, n) at stamps (k,) [ns]."""
        position, velocity = self._spline.path(stamps - self._start)
        if self._approach is not None and (early := stamps - self._start < self._spline.times[0]).any():
            since = (stamps[early] - self._now)[:, None] * 1e-9
            position[early], velocity[early] = value_and_slope(self._approach[None], since)
        if self._tail is not None and (late := stamps >= self.last).any():
            position[late], velocity[late] = self._tail.path(stamps[late])
        return position, velocity


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits (n,) of the part that is added to a motion.

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
    """A course, plus the difference to the previous motion, which fades.

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
        self._fade: _Quintic | _Shortest | None = None
        self.end, self._faded = max(course.end, begin), begin  # before, the joints may have moved
        if any(np.abs(one).max() > 1e-12 for one in away[:2]):
            self._fade = _fading(away[0], away[1], limits, course.speed)
            self._faded = begin + round(self._fade.duration * 1e9)
            self.end = max(course.end, self._faded)

    def sample(self, stamp: int) -> Motion:
        """Return the motion at a stamp [ns]."""
        motion, time = self.course.sample(stamp), (stamp - self.begin) * 1e-9
        if self._fade is None or time >= self._fade.duration:
            return motion
        position, velocity, acceleration = self._fade.sample(time)
        return motion[0] + position, motion[1] + velocity, motion[2] + acceleration

    def added(self) -> tuple[Array, Array]:
        """Return positions and velocities (.., n) where it leads otherwise than by the points of a client."""
        spans = [(self.begin, self._faded), *self.course.added]
        own = self.course.stamps
        own = own[(own > self.begin) & (own < self._faded)]
        own = own[:: 1 + len(own) // MOST_PLACES]
        stamps = np.concatenate([*(np.linspace(first, last, PLACES) for first, last in spans), own])
        stamps = stamps[stamps >= self.begin].astype(np.int64)
        position, velocity = self.course.path(stamps)
        if self._fade is not None:
            since = (stamps - self.begin)[:, None] * 1e-9
            fades = since[:, 0] < self._fade.duration
            left = self._fade.path(since[fades])
            position[fades] += left[0]
            velocity[fades] += left[1]
        return position, velocity


class _Quintic:
    """A polynomial that takes a position and a velocity to zero in SHORTEST."""

    duration = SHORTEST

    def __init__(self, position: Array, velocity: Array) -> None:
        nothing = np.zeros(len(position))
        still = nothing, nothing, nothing
        self._fade = quintic(np.array([SHORTEST]), (position, velocity, nothing), still)

    def sample(self, time: float) -> Motion:
        """Return what is left after a time [s]."""
        return polynomial(self._fade, time)

    def path(self, times: Array) -> tuple[Array, Array]:
        """Return positions and velocities (k, n) that are left after times (k, 1) [s]."""
        return value_and_slope(self._fade[None], times)

    def is_within(self, velocity: Array, acceleration: Array) -> bool:
        """Return whether it needs no more than this velocity (n,) and acceleration (n,)."""
        samples = [polynomial(self._fade, share * SHORTEST) for share in _INNER]
        return not any((np.abs(v) > velocity).any() or (np.abs(a) > acceleration).any() for _, v, a in samples)


class _Shortest:
    """The fastest motion of each joint to zero within limits: its velocity is a trapezoid.

    Where it leads depends on position and velocity alone. So if another course begins meanwhile, and the fade anew, it
    goes on as before. A motion that began anew with the acceleration zero would never get anywhere.
    """

    def __init__(self, position: Array, velocity: Array, fastest: Array, most: Array) -> None:
        rests = position + velocity * np.abs(velocity) / (2.0 * most)  # where braking now would end
        self._most, self._sense = most, np.where(rests > 0.0, -1.0, 1.0)
        self._way, self._speed = -position * self._sense, velocity * self._sense
        self._top = np.minimum(np.sqrt(np.maximum(most * self._way + 0.5 * self._speed**2, 0.0)), fastest)
        self._first = most * np.sign(self._top - self._speed)
        change = np.abs(self._top - self._speed) / most
        braking = self._top / most
        rest = self._way - 0.5 * (self._top + self._speed) * change - 0.5 * self._top * braking
        cruising = np.maximum(rest, 0.0) / np.maximum(self._top, 1e-300)
        self._times = change, cruising, braking
        self.duration = float((change + cruising + braking).max())

    def path(self, times: Array) -> tuple[Array, Array]:
        """Return positions and velocities (k, n) that are left after times (k, 1) [s]."""
        position, velocity, _ = self.sample(times)
        return position, velocity

    def sample(self, time: float | Array) -> Motion:
        """Return what is left after a time [s], or after times (k, 1)."""
        change, cruising, braking = self._times
        first, second = np.minimum(time, change), np.clip(time - change, 0.0, cruising)
        third = np.clip(time - change - cruising, 0.0, braking)
        gone = (self._speed + 0.5 * self._first * first) * first + self._top * second
        gone += (self._top - 0.5 * self._most * third) * third
        begins = time < change
        speed = np.where(begins, self._speed + self._first * first, self._top - self._most * third)
        acceleration = np.where((third > 0.0) & (third < braking), -self._most, np.where(begins, self._first, 0.0))
        return self._sense * (gone - self._way), self._sense * speed, self._sense * acceleration


def _fading(position: Array, velocity: Array, limits: Limits, taken: Array | float = 0.0) -> _Quintic | _Shortest:
    """Return how a position and a velocity (n,) fade within a share of the limits, beside the speed that is taken."""
    fastest = np.clip(limits.velocity - taken, LEAST * limits.velocity, SHARE * limits.velocity)
    most = SHARE * np.minimum(limits.acceleration, UNLIMITED)
    smooth = _Quintic(position, velocity)
    if smooth.is_within(fastest + np.abs(velocity), most):
        return smooth
    return _Shortest(position, velocity, fastest, most)


class ShapedMotion:
    """The pieces of a motion, and their convolution with an impulse train.

    Attributes:
        limits: limits of the part that is added to a motion.
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

    def begin(self, stamp: int, course: Course) -> None:
        """Follow a course from a stamp [ns] on, wherever the joints were; nothing fades, and nothing is shaped."""
        motion = course.sample(stamp)
        self._at_rest, self._shaper = Held(motion[0]), UNSHAPED
        self._pieces = [Piece(stamp, course, motion, self.limits)]

    def rests(self, stamp: int) -> bool:
        """Return whether the shaped motion has ended at a stamp [ns]."""
        return not self._pieces or stamp >= self._pieces[-1].end + self.delay

    def shape(self, stamp: int, shaper: InputShaper) -> None:
        """Use another shaper from a stamp [ns] on, at which the motion rests."""
        self._at_rest, self._pieces, self._shaper = Held(self.raw(stamp)[0]), [], shaper
