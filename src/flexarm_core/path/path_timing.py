"""Time-optimal time law along a path within tool and joint limits, at rest at both ends and at corners.

With ``x = (ds/dt)^2`` and ``u = d2s/dt2``, the limits at a path coordinate s are linear in (u, x), except for norms::

    |p'|^2 x <= v_max^2,  |p' u + p'' x| <= a_max        linear motion; angular motion with w', w''
    q_j'^2 x <= v_j^2,    |q_j' u + q_j'' x| <= a_j      each joint, if a joint path q(s) is given

The grid splits the path into stages of constant u, in which ``x(s) = x_i + 2 u (s - s_i)``. TOPP-RA computes the
largest x, with polygons inscribed in the circles of the norms. Then the original limits are evaluated, also between
grid points, and each part between two rests is scaled in time so that its tightest limit is just reached.

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

STAGES = 200  # default number of stages of a path
MOST_STAGES = 100_000
LEAST_STAGES = 10  # between two knots of the path
STAGES_PER_FOLD = 8.0  # additional stages per change of the curvature by a factor of e
LOOKS = 64  # intervals between two knots at whose ends the curvature is evaluated
CHUNK = 16  # inequalities per constraint object: TOPP-RA multiplies each object by a square matrix of its size
FASTEST = 10.0  # upper bound of x in the units of the solver, in which x is about 1 at most
CORNER_TOLERANCE = 1e-6


class PathTiming:
    """Time law s(t) from rest to rest, with stages of constant acceleration."""

    def __init__(self, nodes: Array, x: Array, constraints: PathConstraints) -> None:
        """Compute the time law.

        Args:
            nodes: (g,) path coordinates of the ends of the stages [m].
            x: (g,) squared rates ``(ds/dt)^2`` at the nodes [m^2/s^2].
            constraints: paths and limits.

        Raises:
            InputError: x is zero at two successive nodes, so that the duration would be infinite.
        """
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
        """Path coordinate at which the motion ends [m]."""
        return float(self._nodes[-1])

    def at(self, time: float) -> tuple[float, float, float]:
        """Return s [m], ds/dt [m/s] and d2s/dt2 [m/s^2] at a time [s]; at rest before 0 and after the end."""
        return self._at(time)[:3]

    def tool(self, time: float) -> tuple[Array, Array, Array, Array]:
        """Return position (3,), rotation (3, 3), twist (6,) and acceleration (6,) of the tool at a time [s].

        Twist and acceleration are exact derivatives of the pose.

        Raises:
            InputError: the time law has no tool path.
        """
        if self._constraints.path is None:
            raise InputError("this time law has no tool path")
        s, rate, acceleration, ends = self._at(time)
        position, rotation = self._constraints.path.pose(s)
        # A doubled coordinate: at the end of a stage, use the derivatives from below.
        first, second = (rows[0] for rows in self._constraints.path.motions(np.full(2 if ends else 1, s)))
        return position, rotation, first * rate, first * acceleration + second * rate**2

    def joints(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration (n,) of the joints at a time [s], with exact derivatives.

        Raises:
            InputError: the time law has no joint path.
        """
        if self._constraints.joints is None:
            raise InputError("this time law has no joint path")
        s, rate, acceleration, ends = self._at(time)
        position, first, second = (rows[0] for rows in self._constraints.joints.sample(np.full(2 if ends else 1, s)))
        return position, first * rate, first * acceleration + second * rate**2

    def stopped(self, time: float) -> PathTiming:
        """Return a time law that is equal to this one until a time [s] and then stops on the path as fast as possible.

        The stop respects the same limits. If a profile x respects the limits, x times a factor below 1 respects them
        too, because the limits are convex in (u, x) and hold at rest. Hence a feasible continuation exists from every x
        below the profile, and each stage can brake as hard as its own inequalities allow.
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
        """Return the result of :meth:`at`, and whether the coordinate is the end of its stage."""
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
    """Return path coordinates (g,) [m] for a time law: all knots, and a finer grid where the curvature varies.

    Inner breaks appear twice. The grid also suits a :class:`JointPath` along the path: the first of two equal
    coordinates is for the derivatives from below, the second for those from above.

    Args:
        path: tool path.
        stages: approximate number of stages of a path with constant curvature.

    Raises:
        InputError: the path has zero length, or ``stages`` is out of range.
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
    """Compute the time-optimal time law within limits.

    Args:
        path: tool path, or None if only a joint path is given.
        path_limits: tool limits; needed with a tool path.
        grid: (g,) path coordinates between which the acceleration is constant [m]; None: the grid of the joint path,
            or :func:`timing_grid`. Breaks of the path are added.
        joint_path: joint positions along the path; its grid contains every corner of the tool path twice.
        joint_velocity: (n,) velocity limits, infinite for joints without a limit; needed with a joint path
            [rad/s | m/s].
        joint_acceleration: (n,) acceleration limits, infinite for joints without a limit; needed with a joint path
            [rad/s^2 | m/s^2].

    Raises:
        InputError: no path is given, the arrays do not fit, or there is no feasible time law.
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
    """Import the solver now (about half a second), instead of during the first call of :func:`time_path`."""
    import toppra.algorithm  # noqa: F401


def _corners(path: PosePath | None, joints: JointPath | None) -> Array:
    """Return the coordinates at which the tangent of the tool path or of the joint path is discontinuous."""
    found = [] if path is None else [path.corners]
    if joints is not None:
        at = np.flatnonzero(np.diff(joints.grid) == 0.0)
        before, behind = joints.first[at], joints.first[at + 1]
        jumps = (np.abs(behind - before) > CORNER_TOLERANCE * (1.0 + np.abs(before))).any(axis=1)
        found.append(joints.grid[at[jumps]])
    return np.concatenate(found)


def _nodes(grid: Array, breaks: Array) -> Array:
    """Return the ends of the stages: each coordinate once, and the breaks with their exact values."""
    if grid.ndim != 1 or len(grid) < 2 or not np.isfinite(grid).all() or not (np.diff(grid) >= 0.0).all():
        raise InputError("time law: the grid needs at least two finite coordinates [m] that do not fall")
    near = 1e-9 * (breaks[-1] - breaks[0])
    distance = np.abs(grid[:, None] - breaks).min(axis=1)
    inside = (distance > near) & (grid > breaks[0]) & (grid < breaks[-1])
    return np.unique(np.concatenate((grid[inside], breaks)))


def _reachable(constraints: PathConstraints, nodes: Array) -> Array:
    """Compute the largest x (g,) from rest to rest by TOPP-RA, scaled to length 1 and x of at most about 1."""
    from toppra.algorithm import TOPPRA  # the import takes half a second and loads matplotlib
    from toppra.constraint import LinearConstraint

    A, B = constraints.stage_rows(nodes, 2)
    length = nodes[-1] - nodes[0]
    with np.errstate(divide="ignore"):
        top = min(float((1.0 / B.max(axis=1)).max()), 2.0 * length * float((1.0 / np.abs(A).max(axis=1)).max()))
    if not 0.0 < top < np.inf:
        raise InputError("no time law: nothing limits the speed along the path, or nothing moves")

    class Rows(LinearConstraint):  # type: ignore[misc]  # the library has no types
        """A chunk of the inequalities, evaluated at the samples of each stage beforehand."""

        def __init__(self, first: int) -> None:
            super().__init__()
            self.identical = True
            self.chosen = slice(first, first + CHUNK)

        def compute_constraint_params(self, *_: object) -> tuple[Array | None, ...]:
            a, b = (np.vstack((C[:, self.chosen], 0.0 * C[-1:, self.chosen])) for C in (A * top / length, B * top))
            ones = np.ones(a.shape[1])
            return a, b, np.zeros_like(a), np.eye(len(ones)), ones, bounds_u, bounds_x

    class Unit:
        """Replacement for the path object of TOPP-RA, which only asks for the interval."""

        path_interval, duration, dof = (0.0, 1.0), 1.0, 1

    grid = (nodes - nodes[0]) / length
    grid[-1] = 1.0
    # Without bounds of suitable size, rounding makes some linear programs of TOPP-RA infeasible.
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
    """Return nodes and x of the hardest braking from the first node to rest, at or below the profile x."""
    A, B = constraints.stage_rows(nodes, 1)
    along = stage_accelerations(nodes, x)
    for margin in (0.0, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0):
        braked = _braked(nodes, x, along, A, B, 1.0 - margin)
        if constraints.peak(*braked) <= 1.0 + 1e-10:
            break
    return braked


def _braked(nodes: Array, x: Array, along: Array, A: Array, B: Array, bound: float) -> tuple[Array, Array]:
    """Brake as :func:`_brake`, with ratios to the limits of at most ``bound``.

    A stage in which this is impossible, or slower than the scaled profile x, uses the scaled profile.
    """
    speed = float(x[0])
    reached = [speed]
    for i, length in enumerate(np.diff(nodes)):
        rest = bound - B[i] * speed
        down, up = A[i] < 0.0, A[i] > 0.0
        # The motion may stop within a stage; the lower bound on u is for joints without an acceleration limit.
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
