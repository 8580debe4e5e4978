"""Time law along a path: as fast as limits of the tool and of the joints allow, at rest at both ends and at corners.

With ``x = ds/dt^2`` and ``u = d2s/dt2`` every limit at a coordinate s is linear in (u, x), or nearly (the norms)::

    |p'|^2 x <= v_max^2,  |p' u + p'' x| <= a_max        linear, and alike for the angular parts w', w''
    q_j'^2 x <= v_j^2,    |q_j' u + q_j'' x| <= a_j      each joint, where the joints' path q(s) is given

The grid splits the path into stages of constant u, on which ``x(s) = x_i + 2 u (s - s_i)``. TOPP-RA finds the fastest
x; a norm stands in it as a polygon inside its circle. Then every limit is measured itself, also between the points of
the grid, and the time of each part between two rests is stretched so that the tightest limit is just met.

Source: H. Pham, Q.-C. Pham, A New Approach to Time-Optimal Path Parameterization Based on Reachability Analysis, IEEE
Transactions on Robotics 34(3), 2018.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import numpy as np

from flexarm_core.entrance import integers
from flexarm_core.errors import InputError
from flexarm_core.path.joint_path import JointPath
from flexarm_core.path.path_constraints import (
    PathConstraints,
    PathLimits,
    check_length,
    path_constraints,
    stage_accelerations,
)
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array

STAGES = 200
MOST_STAGES = 100_000
LEAST_STAGES = 10  # between two knots of the path,
STAGES_PER_FOLD = 8.0  # and where its curvature grows or falls by a factor of e
LOOKS = 64  # at how many places between two knots that is seen
CHUNK = 16  # rows handed over at a time: the library multiplies each lot by a square matrix of its size
FASTEST = 10.0  # x in the units of the solver, in which it is about 1 at most
CORNER_TOLERANCE = 1e-6


class PathTiming:
    """A time law: s(t) with stages of constant acceleration, from rest to rest."""

    def __init__(self, nodes: Array, x: Array, constraints: PathConstraints) -> None:
        """Take coordinates (g,) of the stages' ends [m] and the squared rates there (g,) [m^2/s^2]."""
        self._nodes, self._x, self._constraints = nodes, x, constraints
        rates = np.sqrt(x)
        with np.errstate(divide="ignore"):
            times = np.concatenate(([0.0], np.cumsum(2.0 * np.diff(nodes) / (rates[1:] + rates[:-1]))))
        if not np.isfinite(times).all():
            at = nodes[int(np.argmax(~np.isfinite(times))) - 1]
            raise InputError(f"no time law: the path cannot be moved along at s = {at:.6g} m within the limits")
        self.duration = float(times[-1])
        self._stages = times.tolist(), nodes.tolist(), rates.tolist(), stage_accelerations(nodes, x).tolist()

    @property
    def end(self) -> float:
        """Coordinate at which the motion ends [m]."""
        return float(self._nodes[-1])

    def at(self, time: float) -> tuple[float, float, float]:
        """Coordinate [m], its rate [m/s] and acceleration [m/s^2] at a time [s]; at rest before 0 and after the end."""
        return self._at(time)[:3]

    def tool(self, time: float) -> tuple[Array, Array, Array, Array]:
        """Pose, twist and acceleration of the tool at a time [s]: (3,), (3, 3), (6,), (6,), exact derivatives.

        Raises:
            InputError: the time law is one of joints alone.
        """
        if self._constraints.path is None:
            raise InputError("this time law has no tool path")
        s, rate, acceleration, ends = self._at(time)
        position, rotation = self._constraints.path.pose(s)
        # Twice: at the end of a stage the derivatives are those of what lies before it.
        first, second = (rows[0] for rows in self._constraints.path.motions(np.full(2 if ends else 1, s)))
        return position, rotation, first * rate, first * acceleration + second * rate**2

    def joints(self, time: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n,) of the joints at a time [s], exact derivatives.

        Raises:
            InputError: the time law is one of the tool alone.
        """
        if self._constraints.joints is None:
            raise InputError("this time law has no joint path")
        s, rate, acceleration, ends = self._at(time)
        position, first, second = (rows[0] for rows in self._constraints.joints.sample(np.full(2 if ends else 1, s)))
        return position, first * rate, first * acceleration + second * rate**2

    def stopped(self, time: float) -> PathTiming:
        """The same time law until a time [s], from then on as fast to rest on the path as the same limits allow.

        Any fraction of a profile x that respects the limits respects them too (they are convex in (u, x) and hold at
        rest), so from every x below the profile there is a way on, and each stage may take the hardest braking that its
        own conditions allow.
        """
        if time >= self.duration:
            return self
        s, rate, _, _ = self._at(max(time, 0.0))
        stage = bisect_right(self._stages[0], max(time, 0.0)) - 1
        keep = stage + 1 if s > self._nodes[stage] + 1e-12 else stage
        done, done_x = self._nodes[:keep], self._x[:keep]
        if time <= 0.0 or rate == 0.0:
            return PathTiming(np.append(done, s), np.append(done_x, rate**2), self._constraints)
        later = stage + 1 if self._nodes[stage + 1] > s + 1e-9 * self._nodes[-1] else stage + 2
        nodes = np.concatenate(([s], self._nodes[later:]))
        x = np.concatenate(([rate**2], self._x[later:]))
        braked = _brake(self._constraints, nodes, x)
        stopped = PathTiming(np.concatenate((done, braked[0])), np.concatenate((done_x, braked[1])), self._constraints)
        return stopped if stopped.duration < self.duration else self

    def _at(self, time: float) -> tuple[float, float, float, bool]:
        """As :meth:`at`, and whether the coordinate is the end of its stage."""
        times, nodes, rates, u = self._stages
        if not time < times[-1]:
            return nodes[-1], 0.0, 0.0, True
        if time < 0.0:
            return nodes[0], 0.0, 0.0, False
        i = bisect_right(times, time) - 1
        passed = time - times[i]
        s = nodes[i] + passed * (rates[i] + 0.5 * u[i] * passed)
        if s >= nodes[i + 1]:
            return nodes[i + 1], rates[i + 1], u[i], True
        return s, max(rates[i] + u[i] * passed, 0.0), u[i], False


def timing_grid(path: PosePath, stages: int = STAGES) -> Array:
    """Coordinates (g,) [m] for a time law: every knot, about ``stages`` stages and more where the path bends unevenly.

    Inner breaks stand twice. This is also the grid for a :class:`JointPath` along the path: where a coordinate stands
    twice, the first is for the derivatives of what lies before it.

    Raises:
        InputError: the path has no length.
    """
    check_length(path)
    (stages,) = integers("stages", [stages], MOST_STAGES, 1)
    knots = path.knots
    lengths = np.diff(knots)
    part = np.linspace(0.0, 1.0, LOOKS + 1)
    looks = knots[:-1, None] + lengths[:, None] * part
    looks[:, -1] = knots[1:]
    _, second = path.motions(looks.ravel())
    weights = np.repeat((1.0, path.characteristic_length), 3)
    sharpness = np.linalg.norm(second * weights, axis=1).reshape(looks.shape) * lengths[:, None]
    even = np.maximum(LEAST_STAGES, stages * lengths / path.length)[:, None] / LOOKS
    needed = np.cumsum(even + STAGES_PER_FOLD * np.abs(np.diff(np.log1p(sharpness), axis=1)), axis=1)
    grid = [knots[-1:], path.breaks[1:-1]]
    for at, count in zip(looks, needed, strict=True):
        wanted = np.linspace(0.0, count[-1], int(np.ceil(count[-1])), endpoint=False)
        grid.append(np.interp(wanted, np.concatenate(([0.0], count)), at))
    return np.sort(np.concatenate(grid))


def time_path(
    path: PosePath | None,
    path_limits: PathLimits | None,
    grid: Array | None = None,
    joint_path: JointPath | None = None,
    joint_velocity: Array | None = None,
    joint_acceleration: Array | None = None,
) -> PathTiming:
    """Fastest time law within limits.

    Args:
        path: of the tool, or None for joints alone.
        path_limits: of the tool, with a path.
        grid: (g,) coordinates between which the acceleration is constant [m]; None: that of the joint path, or
            :func:`timing_grid`. Breaks of the path are added.
        joint_path: what the joints do along the path; every corner of the path stands twice in its grid.
        joint_velocity: (n,) [rad/s | m/s], infinite where there is no limit; with a joint path.
        joint_acceleration: (n,) [rad/s^2 | m/s^2], likewise.

    Raises:
        InputError: nothing to move along, arrays that do not fit, no time law found.
    """
    constraints = path_constraints(path, path_limits, joint_path, joint_velocity, joint_acceleration)
    if grid is None:
        grid = joint_path.grid if joint_path is not None else timing_grid(path) if path is not None else np.zeros(0)
    breaks = path.breaks if path is not None else np.asarray(grid)[[0, -1]]
    nodes, corners = _nodes(np.asarray(grid, dtype=float), breaks), _corners(path, joint_path)
    rests = np.unique(np.concatenate(([0, len(nodes) - 1], np.searchsorted(nodes, corners))))
    x = np.zeros(len(nodes))
    for begin, end in pairwise(rests):
        part = slice(int(begin), int(end) + 1)
        fastest = _reachable(constraints, nodes[part])
        x[part] = fastest / (constraints.peak(nodes[part], fastest) * (1.0 + 1e-12))
    return PathTiming(nodes, x, constraints)


def load_solver() -> None:
    """Import the solver now (about half a second), not when the first path is timed."""
    import toppra.algorithm  # noqa: F401


def _corners(path: PosePath | None, joints: JointPath | None) -> Array:
    """Coordinates at which a tangent jumps."""
    found = [] if path is None else [path.corners]
    if joints is not None:
        at = np.flatnonzero(np.diff(joints.grid) == 0.0)
        before, behind = joints.first[at], joints.first[at + 1]
        jumps = (np.abs(behind - before) > CORNER_TOLERANCE * (1.0 + np.abs(before))).any(axis=1)
        found.append(joints.grid[at[jumps]])
    return np.concatenate(found)


def _nodes(grid: Array, breaks: Array) -> Array:
    """Ends of the stages: each coordinate once, breaks exactly."""
    if grid.ndim != 1 or len(grid) < 2 or not np.isfinite(grid).all() or not (np.diff(grid) >= 0.0).all():
        raise InputError("time law: the grid needs at least two finite coordinates [m] that do not fall")
    near = 1e-9 * (breaks[-1] - breaks[0])
    distance = np.abs(grid[:, None] - breaks).min(axis=1)
    inside = (distance > near) & (grid > breaks[0]) & (grid < breaks[-1])
    return np.unique(np.concatenate((grid[inside], breaks)))


def _reachable(constraints: PathConstraints, nodes: Array) -> Array:
    """Fastest x (g,) from rest to rest, by TOPP-RA, in units in which the part is 1 long and x at most about 1."""
    from toppra.algorithm import TOPPRA  # takes half a second and brings matplotlib
    from toppra.constraint import LinearConstraint

    A, B = constraints.stage_rows(nodes, 2)
    length = nodes[-1] - nodes[0]
    with np.errstate(divide="ignore"):
        top = min(float((1.0 / B.max(axis=1)).max()), 2.0 * length * float((1.0 / np.abs(A).max(axis=1)).max()))
    if not 0.0 < top < np.inf:
        raise InputError("no time law: nothing limits the speed along the path, or nothing moves")

    class Rows(LinearConstraint):  # type: ignore[misc]  # the library has no types
        """Some of the conditions, already taken at the points of each stage."""

        def __init__(self, first: int) -> None:
            super().__init__()
            self.identical = True
            self.chosen = slice(first, first + CHUNK)

        def compute_constraint_params(self, *_: object) -> tuple[Array | None, ...]:
            a, b = (np.vstack((C[:, self.chosen], 0.0 * C[-1:, self.chosen])) for C in (A * top / length, B * top))
            ones = np.ones(a.shape[1])
            return a, b, np.zeros_like(a), np.eye(len(ones)), ones, bounds_u, bounds_x

    class Unit:
        """The interval that the library asks the path for."""

        path_interval, duration, dof = (0.0, 1.0), 1.0, 1

    grid = (nodes - nodes[0]) / length
    grid[-1] = 1.0
    # Without bounds of a size that fits, rounding in the library's linear programs makes some of them infeasible.
    bounds_x = np.tile((0.0, FASTEST), (len(grid), 1))
    bounds_u = np.outer(np.append(FASTEST / (2.0 * np.diff(grid)), FASTEST), (-1.0, 1.0))
    rows = [Rows(first) for first in range(0, A.shape[1], CHUNK)]
    _, rates, _ = TOPPRA(rows, Unit(), grid, solver_wrapper="seidel").compute_parameterization(0.0, 0.0)
    if rates is None or not np.isfinite(rates).all():
        raise InputError(
            f"no time law: TOPP-RA found none between s = {nodes[0]:.6g} and {nodes[-1]:.6g} m; the path may bend too"
            " sharply for its grid: give a finer grid, or smooth the path"
        )
    return top * np.asarray(rates) ** 2


def _brake(constraints: PathConstraints, nodes: Array, x: Array) -> tuple[Array, Array]:
    """Hardest braking from the first node on, below the profile x: nodes and x until rest."""
    A, B = constraints.stage_rows(nodes, 1)
    along = stage_accelerations(nodes, x)
    for margin in (0.0, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0):
        braked = _braked(nodes, x, along, A, B, 1.0 - margin)
        if constraints.peak(*braked) <= 1.0 + 1e-10:
            break
    return braked


def _braked(nodes: Array, x: Array, along: Array, A: Array, B: Array, bound: float) -> tuple[Array, Array]:
    """As :func:`_brake`, with every ratio below ``bound`` where the profile x itself allows it."""
    speed = float(x[0])
    reached = [speed]
    for i, length in enumerate(np.diff(nodes)):
        rest = bound - B[i] * speed
        down, up = A[i] < 0.0, A[i] > 0.0
        # Within a stage the tool may stop; the floor is for joints without a limit of acceleration.
        u = max((rest[down] / A[i][down]).max(initial=-np.inf), -500.0 * speed / length)
        fraction = along[i] * speed / x[i]
        if bound <= 0.0 or u > min((rest[up] / A[i][up]).min(initial=np.inf), fraction):
            u = fraction
        after = speed + 2.0 * u * length
        if after <= 1e-12 * x[0]:
            at = nodes[i + 1] if i + 2 == len(nodes) else nodes[i] + speed / (-2.0 * u)
            return np.append(nodes[: i + 1], min(at, nodes[i + 1])), np.array([*reached, 0.0])
        speed = after
        reached.append(speed)
    return nodes, np.array([*reached[:-1], 0.0])
