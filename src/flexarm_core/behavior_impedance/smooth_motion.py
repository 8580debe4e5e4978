"""SmoothMotion: a tool path at fifth-order time laws, made ready to be read at every sample in a microsecond.

Between two corners the coordinate follows the fifth-order law, at rest at both ends, in the shortest time in which the
limits hold. With ``s = L psi(t / T)``: ``v = p' L psi' / T`` and ``a = (p'' L^2 psi'^2 + p' L psi'') / T^2``, so that
the time of each limit follows from the largest value over the piece.

Poses are kept at equal steps of time with their velocities and accelerations, and read between them by fifth-order
Hermite polynomials: positions in the frame, orientations as rotation vectors from the step before.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.entrance import number, output
from flexarm_core.ik_redundancy.chain import rotation_error
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array

STEP = 0.01  # [s] between two kept poses
LEAST, MOST = 100, 20_000  # steps of a piece that its duration asks for: what is slow is also smooth
TURN = 0.02  # [rad] most that is turned in a step: orientations between are read to third order in it
SAMPLES = 400  # at which the limits of a piece are looked at
BETWEEN = 5e-4  # share by which a limit may be exceeded between those, and between kept poses
ROW = 24  # numbers a kept pose: position, rotation, twist, acceleration


class SmoothMotion:
    """A path as a motion over time.

    Attributes:
        path: geometry.
        duration: [s].
    """

    def __init__(self, path: PosePath, limits: PathLimits) -> None:
        """Find the time laws.

        Args:
            path: from the first pose on.
            limits: of the tool.
        """
        self.path = path
        ends = np.unique(np.concatenate(([0.0], path.corners, [path.length])))
        pieces = [(a, b, _shortest(path, a, b, limits)) for a, b in pairwise(ends)]
        self.duration = sum(time for *_, time in pieces)
        rows, self._steps, self._starts, begun = [], [], [], 0.0
        for a, b, time in pieces:
            count = 1 + max(LEAST, min(math.ceil(time / STEP), MOST), math.ceil(_largest_turn(path, a, b) / TURN))
            rows.append(_rows(path, a, b, time, count))
            self._steps.append(time / (count - 1))
            self._starts.append(begun)
            begun += time
        still = np.zeros((2, ROW))
        p, R = path.end
        still[:, :3], still[:, 3:12] = p, R.ravel()
        self._tables = [np.ascontiguousarray(table) for table in rows] or [still]
        self._steps, self._starts = self._steps or [1.0], self._starts or [0.0]

    def at(self, time: float, out: Array) -> None:
        """Position (3,), rotation (9,), twist (6,) and acceleration (6,) at a time [s] into ``out`` (24,)."""
        time, out = number("time", time), output("out", out, ROW)
        piece = max(bisect_right(self._starts, time) - 1, 0)
        _read(self._tables[piece], self._steps[piece], time - self._starts[piece], out)


def _shortest(path: PosePath, a: float, b: float, limits: PathLimits) -> float:
    """Shortest time [s] of the fifth-order law from coordinate a to b within the limits."""
    r = np.linspace(0.0, 1.0, SAMPLES + 1)
    knots = path.knots[(path.knots > a) & (path.knots < b)]  # where the limits may have a peak
    r = np.concatenate((r, np.interp((knots - a) / (b - a), _fifth_order(r)[0], r)))
    law, rate, acceleration = _fifth_order(r)
    s = np.clip(a + (b - a) * law, a, np.nextafter(b, a))
    first, second = path.motions(s)
    velocity = first * ((b - a) * rate)[:, None]
    change = second * (((b - a) * rate) ** 2)[:, None] + first * ((b - a) * acceleration)[:, None]
    times = []
    for part, fastest, strongest in (
        (slice(0, 3), limits.linear_velocity, limits.linear_acceleration),
        (slice(3, 6), limits.angular_velocity, limits.angular_acceleration),
    ):
        times.append(np.linalg.norm(velocity[:, part], axis=1).max() / fastest)
        times.append(math.sqrt(np.linalg.norm(change[:, part], axis=1).max() / strongest))
    return float(max(times)) * (1.0 + BETWEEN)


def _largest_turn(path: PosePath, a: float, b: float) -> float:
    """Fastest turn from coordinate a to b [rad], over the whole time of the piece."""
    law, rate, _ = _fifth_order(np.linspace(0.0, 1.0, SAMPLES + 1))
    first, _ = path.motions(np.clip(a + (b - a) * law, a, np.nextafter(b, a)))
    return float((np.linalg.norm(first[:, 3:], axis=1) * (b - a) * rate).max())


def _fifth_order(r: Array) -> tuple[Array, Array, Array]:
    return (
        r**3 * (10.0 + r * (-15.0 + 6.0 * r)),
        30.0 * r**2 * (1.0 - r) ** 2,
        60.0 * r * (1.0 - r) * (1.0 - 2.0 * r),
    )


def _rows(path: PosePath, a: float, b: float, time: float, count: int) -> Array:
    law, rate, acceleration = _fifth_order(np.linspace(0.0, 1.0, count))
    rate, acceleration = (b - a) * rate / time, (b - a) * acceleration / time**2
    s = np.clip(a + (b - a) * law, a, b)
    positions, rotations = path.poses(s)
    first, second = path.motions(np.clip(s, a, np.nextafter(b, a)))
    twist = first * rate[:, None]
    change = second * (rate**2)[:, None] + first * acceleration[:, None]
    return np.column_stack((positions, rotations.reshape(count, 9), twist, change))


@kernel
def _hermite(h: float, x: float, p0: float, v0: float, a0: float, p1: float, v1: float, a1: float, out: Array) -> None:
    """Value, rate and acceleration (3,) at ``x h`` of the fifth-order polynomial with these ends, ``h`` apart."""
    d = p1 - p0 - h * (v0 + 0.5 * h * a0)
    e = h * (v1 - v0 - h * a0)
    f = h * h * (a1 - a0)
    c3, c4, c5 = 10.0 * d - 4.0 * e + 0.5 * f, -15.0 * d + 7.0 * e - f, 6.0 * d - 3.0 * e + 0.5 * f
    out[0] = p0 + x * (h * v0 + x * (0.5 * h * h * a0 + x * (c3 + x * (c4 + x * c5))))
    out[1] = v0 + h * a0 * x + x * x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)) / h
    out[2] = a0 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5)) / (h * h)


@kernel
def _read(table: Array, step: float, time: float, out: Array) -> None:
    """Pose and motion between the kept ones."""
    last = table.shape[0] - 1
    k = min(max(int(time / step), 0), last - 1)
    x = min(max(time / step - k, 0.0), 1.0)
    value, phi, rate, change = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    before, after, turn = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for i in range(3):
        _hermite(
            step, x, table[k, i], table[k, 12 + i], table[k, 18 + i], table[k + 1, i], table[k + 1, 12 + i],
            table[k + 1, 18 + i], value,
        )  # fmt: skip
        out[i], out[12 + i], out[18 + i] = value[0], value[1], value[2]
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
        _hermite(step, x, 0.0, table[k, 15 + i], table[k, 21 + i], turn[i], back[i], table[k + 1, 21 + i], value)
        phi[i], rate[i], change[i] = value[0], value[1], value[2]
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
