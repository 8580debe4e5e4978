"""SmoothMotion: a tool path with fifth-order time laws, tabulated so that it can be read within a microsecond.

Between two corners the path coordinate follows a fifth-order law, at rest at both ends, in the shortest time within
the limits; the first piece may start with an initial velocity and acceleration. With ``s = L psi(t / T)``:
``v = p' L psi' / T`` and ``a = (p'' L^2 psi'^2 + p' L psi'') / T^2``. The duration that each limit requires therefore
follows from the largest value over the piece, and a change of limits changes only ``T``.

Poses are stored at equal time steps with their velocities and accelerations, and interpolated by fifth-order Hermite
polynomials: positions in the path's frame, orientations as rotation vectors from the previous stored pose.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.entrance import finite, number, output
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array

STEP = 0.01  # [s] time between two stored poses
LEAST, MOST = 100, 20_000  # bounds on the number of steps from the duration: a slow motion needs no finer table
TURN = 0.02  # [rad] largest rotation in one step: the interpolation of orientations has an error of third order in it
SAMPLES = 400  # number of intervals at whose ends the limits of a piece are checked
BETWEEN = 5e-4  # relative margin for peaks between these points and between stored poses
ROUNDS = 5  # iterations that match the duration of a piece and the initial motion of its law
AT_REST = (0.0, 0.0)
GRID = np.linspace(0.0, 1.0, 41)
ROW = 24  # length of a stored row: position, rotation, twist, acceleration


class SmoothMotion:
    """A path as a motion over time.

    Attributes:
        path: geometry of the path.
        duration: total duration [s].
    """

    def __init__(self, path: PosePath, limits: PathLimits, running: tuple[float, float] = AT_REST) -> None:
        """Compute the time laws.

        Args:
            path: geometry of the path.
            limits: velocity and acceleration limits of the tool.
            running: initial rate [m/s] and acceleration [m/s^2] of the path coordinate; reduced if the first piece is
                too short for them.
        """
        self.path = path
        rate, change = finite("running", running, 2).tolist()
        running = rate, change
        ends = np.unique(np.concatenate(([0.0], path.corners, [path.length])))
        self._pieces = [_Piece.of(path, a, b, limits, running if a == 0.0 else AT_REST) for a, b in pairwise(ends)]
        self._time_pieces(limits)
        still = np.zeros((2, ROW))
        p, R = path.end
        still[:, :3], still[:, 3:12] = p, R.ravel()
        self._tables = [piece.table(path, time) for piece, time in zip(self._pieces, self._times, strict=True)]
        self._tables = self._tables or [still]

    def _time_pieces(self, limits: PathLimits) -> None:
        self._times = [piece.shortest(limits) for piece in self._pieces]
        self.duration = sum(self._times)
        self._starts = [sum(self._times[:k]) for k in range(len(self._times))] or [0.0]

    def within(self, limits: PathLimits) -> SmoothMotion:
        """Return a copy of this motion on the same path, timed for other limits; the tables are shared."""
        other = copy(self)
        other._time_pieces(limits)
        return other

    def at(self, time: float, out: Array) -> None:
        """Write position (3,), rotation (9,), twist (6,) and acceleration (6,) at a time [s] into ``out`` (24,)."""
        time, out = number("time", time), output("out", out, ROW)
        piece, share = self.moment(time)
        table = self._tables[piece]
        _read(table, 1.0 / (table.shape[0] - 1), share, self._times[piece] if self._times else 1.0, out)

    def moment(self, time: float) -> tuple[int, float]:
        """Return the index of the piece at a time [s], and the elapsed fraction of its duration."""
        piece = max(bisect_right(self._starts, time) - 1, 0)
        passed = (time - self._starts[piece]) / self._times[piece] if self._times else 0.0
        return piece, min(max(passed, 0.0), 1.0)

    def time_of(self, piece: int, share: float) -> float:
        """Return the time [s] of a piece index and elapsed fraction; the inverse of :meth:`moment`."""
        return self._starts[piece] + share * self._times[piece] if self._times else 0.0

    def coordinate(self, time: float) -> float:
        """Return the path coordinate at a time [s]."""
        if not self._pieces:
            return 0.0
        piece, share = self.moment(time)
        one = self._pieces[piece]
        return one.a + (one.b - one.a) * float(_fifth_order(np.array([share]), one.law)[0][0])


@dataclass(frozen=True, slots=True)
class _Piece:
    """One piece of a path between two corners, with its own duration as the unit of time.

    Attributes:
        a, b: path coordinates of its start and end [m].
        law: initial rate and acceleration of its normalized law.
        peaks: largest linear and angular velocity, then linear and angular acceleration, per unit of time [m, rad].
        ease: factor on the duration that the limits require; it makes a piece with an initial motion take at least as
            long as the same piece from rest.
    """

    a: float
    b: float
    law: tuple[float, float]
    peaks: tuple[float, float, float, float]
    ease: float = 1.0

    @classmethod
    def of(cls, path: PosePath, a: float, b: float, limits: PathLimits, running: tuple[float, float]) -> _Piece:
        """Create the piece from ``a`` to ``b``, with a law that starts with the motion ``running``."""
        piece = cls(a, b, AT_REST, _peaks(path, a, b, AT_REST))
        if running == AT_REST:
            return piece
        time = piece.shortest(limits)
        for _ in range(ROUNDS):  # the law depends on the duration, and that on the law
            law = _begun(running[0] * time / (b - a), running[1] * time**2 / (b - a))
            piece = cls(a, b, law, _peaks(path, a, b, law))
            needed = piece.shortest(limits)
            if needed <= time:
                break
            time = needed
        return replace(piece, ease=time / needed)

    def shortest(self, limits: PathLimits) -> float:
        """Return the shortest duration [s] within the limits, times ``ease``."""
        linear, angular, linear_change, angular_change = self.peaks
        velocity = max(linear / limits.linear_velocity, angular / limits.angular_velocity)
        change = max(linear_change / limits.linear_acceleration, angular_change / limits.angular_acceleration)
        return max(velocity, math.sqrt(change)) * (1.0 + BETWEEN) * self.ease

    def table(self, path: PosePath, time: float) -> Array:
        """Return the table of poses, twists and accelerations, one per row, for a duration of about ``time`` [s]."""
        a, b = self.a, self.b
        count = 1 + max(LEAST, min(math.ceil(time / STEP), MOST), math.ceil(self.peaks[1] / TURN))
        law, rate, acceleration = _fifth_order(np.linspace(0.0, 1.0, count), self.law)
        s, rate, acceleration = np.clip(a + (b - a) * law, a, b), (b - a) * rate, (b - a) * acceleration
        positions, rotations = path.poses(s)
        first, second = path.motions(np.clip(s, a, np.nextafter(b, a)))
        twist = first * rate[:, None]
        change = second * (rate**2)[:, None] + first * acceleration[:, None]
        return np.column_stack((positions, rotations.reshape(count, 9), twist, change))


def _peaks(path: PosePath, a: float, b: float, begun: tuple[float, float]) -> tuple[float, float, float, float]:
    """Return the largest linear and angular velocity, then acceleration, of a piece per unit of time [m, rad]."""
    r = np.linspace(0.0, 1.0, SAMPLES + 1)
    knots = path.knots[(path.knots > a) & (path.knots < b)]  # velocity and acceleration may have a peak at a knot
    r = np.concatenate((r, np.interp((knots - a) / (b - a), _fifth_order(r, begun)[0], r)))
    law, rate, acceleration = _fifth_order(r, begun)
    s = np.clip(a + (b - a) * law, a, np.nextafter(b, a))
    first, second = path.motions(s)
    velocity = first * ((b - a) * rate)[:, None]
    change = second * (((b - a) * rate) ** 2)[:, None] + first * ((b - a) * acceleration)[:, None]
    parts = [np.linalg.norm(rows[:, k : k + 3], axis=1).max() for rows in (velocity, change) for k in (0, 3)]
    return float(parts[0]), float(parts[1]), float(parts[2]), float(parts[3])


def _begun(rate: float, acceleration: float) -> tuple[float, float]:
    """Reduce an initial rate and acceleration until the fifth-order law never moves backward."""
    rate, acceleration = min(max(rate, 0.0), 2.5), min(max(acceleration, -20.0), 20.0)
    while acceleration != 0.0 and (_fifth_order(GRID, (rate, acceleration))[1] < -1e-9).any():
        acceleration = 0.5 * acceleration if abs(acceleration) > 1e-3 else 0.0
    return rate, acceleration


def _fifth_order(r: Array, begun: tuple[float, float]) -> tuple[Array, Array, Array]:
    """Evaluate the fifth-order law from 0 to 1 at ``r``, from the initial rate and acceleration ``begun`` to rest.

    Returns:
        Value, rate and acceleration, each with the shape of ``r``.
    """
    u, a = begun
    c, d, e = 10.0 - 6.0 * u - 1.5 * a, -15.0 + 8.0 * u + 1.5 * a, 6.0 - 3.0 * u - 0.5 * a
    return (
        r * (u + r * (0.5 * a + r * (c + r * (d + r * e)))),
        u + r * (a + r * (3.0 * c + r * (4.0 * d + r * 5.0 * e))),
        a + r * (6.0 * c + r * (12.0 * d + r * 20.0 * e)),
    )


Motion = tuple[float, float, float]  # value, rate and acceleration


@kernel
def _hermite(h: float, x: float, begin: Motion, end: Motion) -> Motion:
    """Return the motion at ``x h`` of the fifth-order polynomial with these motions at 0 and h."""
    p0, v0, a0 = begin
    p1, v1, a1 = end
    d = p1 - p0 - h * (v0 + 0.5 * h * a0)
    e = h * (v1 - v0 - h * a0)
    f = h * h * (a1 - a0)
    c3, c4, c5 = 10.0 * d - 4.0 * e + 0.5 * f, -15.0 * d + 7.0 * e - f, 6.0 * d - 3.0 * e + 0.5 * f
    return (
        p0 + x * (h * v0 + x * (0.5 * h * h * a0 + x * (c3 + x * (c4 + x * c5)))),
        v0 + h * a0 * x + x * x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)) / h,
        a0 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5)) / (h * h),
    )


@allocating_kernel
def _read(table: Array, step: float, time: float, duration: float, out: Array) -> None:
    """Interpolate pose, twist and acceleration between the stored rows; they are stored for a duration of 1 s."""
    last = table.shape[0] - 1
    k = min(max(int(time / step), 0), last - 1)
    x = min(max(time / step - k, 0.0), 1.0)
    phi, rate, change = np.empty(3), np.empty(3), np.empty(3)
    before, after, turn = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for i in range(3):
        begin = table[k, i], table[k, 12 + i], table[k, 18 + i]
        end = table[k + 1, i], table[k + 1, 12 + i], table[k + 1, 18 + i]
        out[i], out[12 + i], out[18 + i] = _hermite(step, x, begin, end)
        for j in range(3):
            before[i, j], after[i, j] = table[k, 3 + 3 * i + j], table[k + 1, 3 + 3 * i + j]
    rotation_error(after, before, turn)
    # the rate of a small rotation vector is J_l^-1 w, to second order w - turn x w / 2
    w1 = table[k + 1, 15:18]
    back = np.array([
        w1[0] - 0.5 * (turn[1] * w1[2] - turn[2] * w1[1]),
        w1[1] - 0.5 * (turn[2] * w1[0] - turn[0] * w1[2]),
        w1[2] - 0.5 * (turn[0] * w1[1] - turn[1] * w1[0]),
    ])  # fmt: skip
    for i in range(3):
        begin, end = (0.0, table[k, 15 + i], table[k, 21 + i]), (turn[i], back[i], table[k + 1, 21 + i])
        phi[i], rate[i], change[i] = _hermite(step, x, begin, end)
    square = phi[0] ** 2 + phi[1] ** 2 + phi[2] ** 2
    a, b = 1.0 - square / 6.0, 0.5 - square / 24.0
    turned = np.empty((3, 3))
    for i in range(3):
        j, m = (i + 1) % 3, (i + 2) % 3
        turned[i, i] = 1.0 - b * (square - phi[i] * phi[i])
        turned[i, j] = b * phi[i] * phi[j] - a * phi[m]
        turned[i, m] = b * phi[i] * phi[m] + a * phi[j]
        out[15 + i] = rate[i] + 0.5 * (phi[j] * rate[m] - phi[m] * rate[j])
        out[21 + i] = change[i] + 0.5 * (phi[j] * change[m] - phi[m] * change[j])
    for i in range(3):
        for j in range(3):
            out[3 + 3 * i + j] = 0.0
            for m in range(3):
                out[3 + 3 * i + j] += turned[i, m] * before[m, j]
    for i in range(12, 18):
        out[i] /= duration
        out[6 + i] /= duration**2
