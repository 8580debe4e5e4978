"""Spline: joint positions through points at given times, segment by segment.

Between two points with velocities the polynomial is cubic, with velocities and accelerations quintic, as in
joint_trajectory_controller of ros2_controllers. There, points without velocities are joined by straight lines, and the
velocity jumps at every point, which shakes an arm that bends. Here such a point gets the velocity of a monotone cubic
spline (Fritsch, Butland 1984): all points are passed, and no joint leaves the interval between two points. With
``linear`` the lines are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flexarm_core.types import Array

SAMPLES = 4  # samples of a segment from which its extremes are taken: its first point, its middle, and between
Motion = tuple[Array, Array, Array]  # position, velocity and acceleration (n,)


@dataclass(frozen=True, slots=True)
class Spline:
    """Polynomials between points.

    Attributes:
        times: (p,) times of the points [ns], increasing.
        position: (p, n) positions of the points [rad | m].
        velocity: (p, n) velocities with which the points are passed [rad/s | m/s].
        acceleration: (p, n) accelerations of the points, zero where none are given [rad/s^2 | m/s^2].
        accelerated: (p,) bool, whether a point has velocities and accelerations.
        coefficients: (p - 1, 6, n) of ascending powers of the time [s] since the first point of the segment.
        guessed: whether the velocity of the first point is not given: it depends on where the joints were before.
    """

    times: NDArray[np.int64]
    position: Array
    velocity: Array
    acceleration: Array
    accelerated: NDArray[np.bool_]
    coefficients: Array
    guessed: bool = False

    def sample(self, time: int) -> Motion:
        """Return the motion at a time [ns]: before the first point at its velocity, behind the last one at rest."""
        i = int(np.searchsorted(self.times, time, side="right")) - 1
        still = np.zeros(self.position.shape[1])
        if i < 0:
            return self.position[0] + (time - int(self.times[0])) * 1e-9 * self.velocity[0], self.velocity[0], still
        if i >= len(self.coefficients):
            return self.position[i], still, still
        return polynomial(self.coefficients[i], (time - int(self.times[i])) * 1e-9)

    def path(self, times: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return positions and velocities (k, n) at times (k,) [ns], as :meth:`sample`."""
        i = np.searchsorted(self.times, times, side="right") - 1
        since: Array = 1e-9 * (times - self.times[np.maximum(i, 0)]).astype(np.float64)[:, None]
        position, velocity = np.empty((2, len(times), self.position.shape[1]))
        within, early, late = (i >= 0) & (i < len(self.coefficients)), i < 0, i >= len(self.coefficients)
        position[within], velocity[within] = value_and_slope(self.coefficients[i[within]], since[within])
        position[early], velocity[early] = self.position[0] + since[early] * self.velocity[0], self.velocity[0]
        position[late], velocity[late] = self.position[-1], 0.0
        return position, velocity

    def end(self) -> Motion:
        """Return the motion at the last point."""
        return self.position[-1], self.velocity[-1], self.acceleration[-1]

    def shifted(self, by: Array) -> Spline:
        """Return the spline with positions shifted by (n,)."""
        if not by.any():
            return self
        moved = self.coefficients.copy()
        moved[:, 0] += by
        return replace(self, position=self.position + by, coefficients=moved)

    def by_itself(self) -> Spline:
        """Return the spline with a velocity of the first point that depends on the next one alone, if it is guessed."""
        if not (self.guessed and len(self.coefficients)):
            return self
        h = np.diff(self.times[:2])[:, None] * 1e-9
        velocity, coefficients = self.velocity.copy(), self.coefficients.copy()
        velocity[:1] = np.diff(self.position[:2], axis=0) / h
        coefficients[:1] = cubic(h, (self.position[:1], velocity[:1]), (self.position[1:2], velocity[1:2]))
        return replace(self, velocity=velocity, coefficients=coefficients)

    def extremes(self) -> tuple[Array, Array]:
        """Return positions and velocities (.., n) at SAMPLES places of each segment, and at the last point."""
        if not len(self.coefficients):
            return self.position, self.velocity
        c, h = self.coefficients, np.diff(self.times)[:, None] * 1e-9
        shape = len(h), SAMPLES, self.position.shape[1]
        position, velocity = np.empty(shape), np.empty(shape)
        for i in range(SAMPLES):
            position[:, i], velocity[:, i] = value_and_slope(c, h * i / SAMPLES)
        flat = -1, shape[2]
        every = np.vstack((position.reshape(flat), self.position[-1:]))
        return every, np.vstack((velocity.reshape(flat), self.velocity[-1:]))


def polynomial(coefficients: Array, time: float) -> Motion:
    """Return value, first and second derivative at a time [s] of polynomials with coefficients (6, n)."""
    t, t2, t3, t4 = time, time**2, time**3, time**4
    powers = np.array((
        (1.0, t, t2, t3, t4, t4 * t),
        (0.0, 1.0, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t4),
        (0.0, 0.0, 2.0, 6.0 * t, 12.0 * t2, 20.0 * t3),
    ))  # fmt: skip
    position, velocity, acceleration = powers @ coefficients
    return position, velocity, acceleration


def value_and_slope(c: Array, t: Array) -> tuple[Array, Array]:
    """Return values and first derivatives (k, n) at times (k, 1) [s] of polynomials with coefficients (k, 6, n)."""
    p, v = c[:, 5] * t, 5.0 * c[:, 5] * t
    for k in (4, 3, 2):
        p, v = (p + c[:, k]) * t, (v + k * c[:, k]) * t
    return (p + c[:, 1]) * t + c[:, 0], v + c[:, 1]


def cubic(h: Array, start: tuple[Array, Array], end: tuple[Array, Array]) -> Array:
    """Return coefficients (.., 6, n) of cubic segments of lengths h (.., 1) [s] between positions and velocities."""
    (q0, v0), (q1, v1) = start, end
    none = np.zeros_like(q0)
    d = (q1 - q0) / h
    return np.stack((q0, v0, (3.0 * d - 2.0 * v0 - v1) / h, (v0 + v1 - 2.0 * d) / h**2, none, none), axis=-2)


def quintic(h: Array, start: Motion, end: Motion) -> Array:
    """Return coefficients (.., 6, n) of quintic segments of lengths h (.., 1) [s] between two motions."""
    (q0, v0, a0), (q1, v1, a1) = start, end
    d = (q1 - q0) / h
    return np.stack(
        (
            q0,
            v0,
            0.5 * a0,
            (10.0 * d - 6.0 * v0 - 4.0 * v1) / h**2 + (0.5 * a1 - 1.5 * a0) / h,
            (8.0 * v0 + 7.0 * v1 - 15.0 * d) / h**3 + (1.5 * a0 - a1) / h**2,
            (6.0 * d - 3.0 * v0 - 3.0 * v1) / h**4 + 0.5 * (a1 - a0) / h**3,
        ),
        axis=-2,
    )


def fitted(
    times: NDArray[np.int64],
    position: Array,
    velocity: Array,
    acceleration: Array,
    has_velocity: NDArray[np.bool_],
    has_acceleration: NDArray[np.bool_],
    before: Array,
    linear: bool = False,
) -> Spline:
    """Fit the segments between points.

    Args:
        times: (p,) times of the points [ns], increasing.
        position: (p, n) positions [rad | m].
        velocity: (p, n) velocities, of use where a point has some.
        acceleration: (p, n) accelerations, of use where a point has velocities, too.
        has_velocity: (p,) whether a point has velocities.
        has_acceleration: (p,) whether a point has accelerations.
        before: (n,) position from which the first point is approached, if its time is later than 0.
        linear: whether segments without velocities at both ends are straight lines.
    """
    accelerated = has_velocity & has_acceleration
    acceleration = np.where(accelerated[:, None], acceleration, 0.0)
    if not has_velocity.all():
        first = max(int(times[0]), 0)
        slopes = _monotone(np.diff(times, prepend=times[0] - max(first, 1)) * 1e-9, position, before if first else None)
        velocity = np.where(has_velocity[:, None], velocity, slopes)
    h = np.diff(times)[:, None] * 1e-9
    q, v, a = position, velocity, acceleration
    both = accelerated[:-1] & accelerated[1:]
    coefficients = cubic(h, (q[:-1], v[:-1]), (q[1:], v[1:]))
    if both.any():
        fifth = quintic(h, (q[:-1], v[:-1], a[:-1]), (q[1:], v[1:], a[1:]))
        coefficients = np.where(both[:, None, None], fifth, coefficients)
    if linear:
        slope = np.diff(q, axis=0) / h
        still = np.zeros_like(slope)
        lines = np.stack((q[:-1], slope, *[still] * 4), axis=-2)
        curved = has_velocity[:-1] & has_velocity[1:]
        coefficients = np.where(curved[:, None, None], coefficients, lines)
    guessed = not linear and not has_velocity[0]
    return Spline(times, position, velocity, acceleration, accelerated, coefficients, bool(guessed))


def _monotone(h: Array, position: Array, before: Array | None) -> Array:
    """Return velocities (p, n) of a monotone spline; zero at the last point, and at the first if nothing is before it.

    Args:
        h: (p,) time since the point before [s].
        position: (p, n) positions.
        before: (n,) position before the first point, None if there is none.
    """
    start = position[:1] if before is None else before[None]
    d = np.diff(position, axis=0, prepend=start) / h[:, None]  # slope of the segment before each point
    velocity = np.zeros_like(position)
    if len(position) > 1:
        left, right, hl, hr = d[:-1], d[1:], h[:-1, None], h[1:, None]
        w1, w2 = 2.0 * hr + hl, hr + 2.0 * hl
        same = left * right > 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = (w1 + w2) / (w1 / left + w2 / right)
        velocity[:-1] = np.where(same, mean, 0.0)
    return velocity
