"""PathPlanner: joint positions along a whole tool path before the motion starts, then a time law within joint limits.

The joint positions are computed along the path coordinate, each point from the previous one, with the configured
objective. If joints move far between two points, points are inserted. If the path is not feasible this way, a redundant
arm tries other objectives: first away from the joint limits, then towards random joint positions, to find a different
joint path. A closed path from a minimum of the objective ends at the joint positions where it starts. At last, the
shortest of all its joint paths (:mod:`joint_paths`) is followed, smoothed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from flexarm_core.errors import ConfigError, InputError, JointLimitError
from flexarm_core.ik_redundancy.chain import Chain, build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.joint_paths import even_layers, joint_paths, more_layers, shortest
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.objectives import JointRange, Objective, Quadratic, Sum, quadratic_form
from flexarm_core.ik_redundancy.plan import view_plan, weight_roots
from flexarm_core.ik_redundancy.planned_path import JointsAlongPath, PlannedPath, smooth_joint_path
from flexarm_core.ik_redundancy.solver import ALL_AXES
from flexarm_core.ik_redundancy.solver_memory import solver_memory
from flexarm_core.ik_redundancy.tracking import pose_errors, reach
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.path.joint_path import JointPath
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.path_timing import time_path, timing_grid
from flexarm_core.path.pose_path import PosePath
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array

Along = Callable[[float], Objective]  # objective at a path coordinate [m]
LONGEST_STEP = 0.08  # [rad | m] largest joint motion between two points
INSET = 1e-3  # [rad | m] distance of points from the position limits, so that the curve between them keeps the limits
FINEST = 2.0**-20  # smallest spacing of points, as a share of the path
SETTLING = 0.1  # share of the path over which null-space motion approaches the minimum of an objective
EXACT = 1e-5  # [m] threshold of a row if no row may be dropped
# [m] thresholds tried in turn for passing straight through a singularity with the tool within tolerance
STRAIGHT = (3e-3, 3e-4, 3e-2)
LOOKS = np.array([0.25, 0.5, 0.75])  # positions between two points at which the joint path is checked
POINTS = 0.5  # share of the tolerance for points, so that the curve between them keeps the full tolerance
REFINEMENTS = 5  # maximum number of rounds in which the grid is refined
ATTEMPTS = 12  # number of attempts with random objectives
MOST_POINTS = 4000  # maximum number of points; a path that needs more has too sharp turns
RETURNED = 1e-7  # [rad | m] distance from the start at which joints have returned
EFFORT = 20  # points of all attempts, as a multiple of those of the path, after which no further one begins
PATIENCE = 5  # attempts from the first one on whose closed path does not return
CHANGES = (1.0, 0.5, 0.2)  # shares of a closed path over which the joints change over to the way back
SMOOTHED = 501  # points of a smoothed joint path
SMOOTHING = (0.05, 0.01, 0.0)  # standard deviations that a joint path is smoothed with, as shares of the path
MARGIN = 1e-9  # relative margin of velocity and acceleration limits for rounding


class PathError(InputError):
    """The arm cannot follow the path.

    Attributes:
        fraction: fraction of the path that the arm can follow.
    """

    def __init__(self, message: str, fraction: float) -> None:
        """Store the message and the feasible fraction of the path."""
        super().__init__(message, fraction)
        self.fraction = fraction


class _Attempt(NamedTuple):
    """A way to find joint positions along a path."""

    objective: Objective
    settling: float  # share of the path to reach the minimum of the objective, 0 = at once
    straight: float  # [m] threshold of a row
    returns: bool = True  # whether a closed path is to end at the joint positions of its start


class _Reversed:
    """A path from its end to its start."""

    def __init__(self, path: PosePath) -> None:
        self._path, self.length = path, path.length

    def pose(self, s: float) -> tuple[Array, Array]:
        return self._path.pose(self.length - s)

    def poses(self, s: Array) -> tuple[Array, Array]:
        return self._path.poses(self.length - s)


def _same(objective: Objective, _: float) -> Objective:
    return objective


def _interpolated(s: Array, grid: Array, position: Array) -> Array:
    """Return joint positions (k, n) at coordinates (k,), linear between those (g, n) of a grid (g,)."""
    return np.column_stack([np.interp(s, grid, column) for column in position.T])


def _near(grid: Array, position: Array, s: float) -> Objective:
    """Return the distance from joint positions (g, n) at coordinates (g,), interpolated at another one."""
    return Quadratic(np.ones(position.shape[1]), np.array([np.interp(s, grid, column) for column in position.T]))


def _smooth(grid: Array, position: Array, deviation: float) -> tuple[Array, Array]:
    """Smooth joint positions (g, n) at coordinates (g,) over a standard deviation [m]; both ends stay."""
    if deviation == 0.0:
        return grid, position
    even = np.linspace(0.0, grid[-1], SMOOTHED)
    padded = [
        np.pad(np.interp(even, grid, column), SMOOTHED - 1, "reflect", reflect_type="odd") for column in position.T
    ]
    smooth = gaussian_filter1d(np.array(padded), deviation / even[1])
    return even, smooth[:, SMOOTHED - 1 : 2 * SMOOTHED - 1].T


class PathPlanner:
    """Plans tool paths of one arm."""

    def __init__(self, chain: Chain, limits: MotionLimits, config: RedundancyConfig, seed: int = 0) -> None:
        """Bind the planner to an arm; the seed makes its random attempts repeatable.

        Raises:
            ConfigError: the limits are for a different number of joints.
        """
        if len(limits.lower) != chain.n:
            raise ConfigError(f"limits are of {len(limits.lower)} joints, the chain has {chain.n}")
        self.chain, self.limits, self.config, self._seed = chain, limits, config, seed

    @classmethod
    def of(
        cls,
        robot: RobotDescription,
        tool_frame: str = "",
        config: RedundancyConfig | None = None,
        acceleration: float = 10.0,
    ) -> PathPlanner:
        """Set up a planner for a robot.

        Args:
            robot: robot description.
            tool_frame: link that is the tool; empty: ``tool0`` or the only tip link.
            config: settings; None: defaults.
            acceleration: acceleration limit of every joint [rad/s^2 | m/s^2]; all others are the robot's.

        Raises:
            RobotDescriptionError: no actuated joint moves the tool.
        """
        chain = build_chain(robot, tool_frame)
        return cls(chain, MotionLimits.of(chain, acceleration), config or RedundancyConfig())

    def __repr__(self) -> str:
        return f"PathPlanner({self.chain!r})"

    def plan(
        self,
        path: PosePath,
        start: Array,
        path_limits: PathLimits,
        axes: NDArray[np.bool_] = ALL_AXES,
        position_tolerance: float = 1e-4,
        rotation_tolerance: float = 1e-3,
        allow_dropped: bool = False,
    ) -> PlannedPath:
        """Plan the joint motion over time along a path.

        On a closed path the joints return to where they start, unless the configured objective has its minimum
        elsewhere, or no such way is found (the plan says so).

        Args:
            path: path of the tool in axes of the base link, starting at the current tool pose.
            start: (n,) current joint positions [rad | m].
            path_limits: limits of the tool motion.
            axes: (6,) which of x y z rx ry rz are controlled.
            position_tolerance: position tolerance along each axis [m].
            rotation_tolerance: rotation tolerance about each axis [rad].
            allow_dropped: whether rows may be dropped at singularities and out of reach, in order of priority.

        Raises:
            PathError: the arm cannot follow the path.
            InputError: the start is invalid, or the path does not start at the tool pose.
        """
        start, axes = np.array(start, dtype=float), np.asarray(axes, dtype=bool)
        if axes.shape != (6,) or not axes.any():
            raise InputError(f"axes must name at least one of x y z rx ry rz, got {axes}")
        tolerance = POINTS * np.repeat((position_tolerance, rotation_tolerance), 3)
        self._check_start(path, start, axes, tolerance)
        ways = {"axes": axes, "tolerance": tolerance, "allow_dropped": allow_dropped}
        closed = self._is_closed(path, tolerance)
        points = len(timing_grid(path))
        furthest, why, drifting, left, spent = -1.0, "", None, PATIENCE, 0
        for attempt in self._attempts(path, start, **ways):
            objective, more = partial(_same, attempt.objective), {"straight": attempt.straight, **ways}
            settling = attempt.settling * path.length
            joints, curve = self._refine(path, start, objective, settling, **more)
            if curve is None:
                if joints.grid[-1] > furthest:
                    furthest, why = joints.grid[-1], joints.reason
            elif not (closed and attempt.returns) or self._away(joints, start) <= RETURNED:
                return self._planned(path, path_limits, joints, curve)
            elif found := self._return(path, start, joints, objective, settling, **more):
                return self._planned(path, path_limits, *found)
            else:
                drifting = drifting or (joints, curve)
            spent, left = spent + len(joints.position), left - (drifting is not None)
            if not left or spent > EFFORT * points:
                break
        ends = [start] * closed + [None] * (drifting is None)
        for end in ends if self.chain.n > axes.sum() else []:
            if searched := self._search(path, start, end, **ways):
                if end is not None or not closed:
                    return self._planned(path, path_limits, *searched)
                drifting = searched
        if drifting is not None:
            far = self._away(drifting[0], start)
            remark = f"the path is closed, but the joints end up to {far:.2g} from where they started"
            return self._planned(path, path_limits, *drifting, remark)
        raise PathError(why, float(furthest / path.length))

    def _refine(
        self, path: PosePath, start: Array, objective: Along, gain_length: float, **ways: Any
    ) -> tuple[JointsAlongPath, JointPath | None]:
        """Compute the joint positions along the path on a grid that becomes finer until the curve keeps its bounds.

        Without a curve, the joint positions are those of the feasible first part.
        """
        grid, before = np.unique(timing_grid(path)), math.inf
        for number in range(REFINEMENTS):
            joints = self._solve(path, grid, start, objective, gain_length, **ways)
            if joints.reason:
                return joints, None
            curve = smooth_joint_path(path, joints.grid, joints.position)
            rough = self._rough(path, curve, joints, ways["axes"], ways["tolerance"])
            if not rough.size:
                return joints, curve
            grid = np.union1d(joints.grid, rough)
            if len(grid) > MOST_POINTS or (number > 1 and rough.size > before):  # finer points do not help
                break
            before = rough.size
        where = f"at {100.0 * rough[0] / path.length:.1f} % of the path"
        until = np.array([rough[0]])
        return replace(joints, grid=until, reason=f"{where} the joints would have to turn too sharply"), None

    def _return(
        self, path: PosePath, start: Array, forth: JointsAlongPath, objective: Along, settling: float, **ways: Any
    ) -> tuple[JointsAlongPath, JointPath] | None:
        """Compute joint positions along a closed path that end where they start, None if there are none.

        The lap from the start, and that back in time from the end at the same joint positions, both keep the limits.
        The joints change over from the first to the second on the way: the origin of the objective is their mean.
        """
        length, points = path.length, np.unique(timing_grid(path))
        back = self._solve(_Reversed(path), points, start, objective, settling, **ways)
        if back.reason:
            return None
        grid = np.union1d(forth.grid, length - back.grid)
        there = _interpolated(grid, forth.grid, forth.position)
        apart = _interpolated(grid, length - back.grid[::-1], back.position[::-1]) - there
        weights = self.config.each_joint_weight(self.chain.n)
        nearest = grid[np.abs(apart).max(axis=1).argmin()]
        for share in CHANGES:
            width = share * length
            x = np.clip((grid - min(max(nearest - 0.5 * width, 0.0), length - width)) / width, 0.0, 1.0)
            mean = there + (x * x * (3.0 - 2.0 * x))[:, None] * apart

            def towards(s: float, mean: Array = mean) -> Objective:
                return Quadratic(weights, _interpolated(np.array([s]), grid, mean)[0])

            joints, curve = self._refine(path, start, towards, 0.0, **ways)
            if curve is not None and self._away(joints, start) <= RETURNED:
                return joints, curve
        return None

    def _search(
        self, path: PosePath, start: Array, end: Array | None, **ways: Any
    ) -> tuple[JointsAlongPath, JointPath] | None:
        """Follow the shortest of all joint paths, or of those that end at joint positions (n,); None if none is found.

        Where it is too steep to be followed, it is searched again in more layers.
        """
        config = replace(self.config, threshold=STRAIGHT[0], band=0.0, given_up="hold", weights=(1.0,))
        plan = config.plan(self.chain.n, ways["axes"])
        setup = self.chain, self._inset(start), plan, ways["axes"], ways["tolerance"], path, start
        grid, before = even_layers(path), 0
        while before < len(grid) <= MOST_POINTS:
            layers = joint_paths(*setup, grid)
            position = shortest(layers, end) if layers[-1].s == path.length else None
            if position is None:
                return None
            there, before = np.array([layer.s for layer in layers]), len(grid)
            for share in SMOOTHING:
                objective = partial(_near, *_smooth(there, position, share * path.length))
                joints, curve = self._refine(path, start, objective, 0.0, straight=STRAIGHT[0], **ways)
                if curve is not None:
                    return joints, curve
            grid = np.union1d(grid, more_layers(there, position))
        return None

    def _away(self, joints: JointsAlongPath, start: Array) -> float:
        """Return how far the joints end from the start at most [rad | m]; an endless joint may have turned."""
        return float(np.abs(self.chain.turns.difference(joints.position[-1], start)).max())

    def _is_closed(self, path: PosePath, tolerance: Array) -> bool:
        (p, R), (end, R_end), turn = path.pose(0.0), path.pose(path.length), np.empty(3)
        rotation_error(R_end, R, turn)
        return bool((np.abs(np.concatenate((end - p, turn))) <= tolerance).all())

    def _check_start(self, path: PosePath, start: Array, axes: NDArray[np.bool_], tolerance: Array) -> None:
        n = self.chain.n
        if start.shape != (n,) or not np.isfinite(start).all():
            raise InputError(f"the path must start from {n} finite joint positions, got {start}")
        low, high = self.limits.lower - 1e-6, self.limits.upper + 1e-6
        outside = [
            name for name, ok in zip(self.chain.joint_names, (start >= low) & (start <= high), strict=True) if not ok
        ]
        if outside:
            first = self.chain.joint_names.index(outside[0])
            raise JointLimitError(
                f"{', '.join(outside)} begin outside their position limits: move them back first",
                outside[0],
                float(start[first]),
                float(self.limits.lower[first]),
                float(self.limits.upper[first]),
            )
        p, R = self.chain.pose(start)
        wanted, R_wanted = path.pose(0.0)
        turn = np.empty(3)
        rotation_error(R_wanted, R, turn)
        error = np.where(axes, np.concatenate((wanted - p, turn)), 0.0)
        if (np.abs(error) > tolerance / POINTS).any():
            raise InputError(
                f"the path begins {np.linalg.norm(error[:3]):.4g} m and {np.linalg.norm(error[3:]):.4g} rad away from"
                " the tool: begin it at the tool's present pose"
            )

    def _attempts(self, path: PosePath, start: Array, **ways: Any) -> Iterator[_Attempt]:
        own = self.config.objective_of(self.chain, start)
        settled = isinstance(own, Quadratic) and self._is_minimum(own, path, start, **ways)
        settling = 0.0 if settled else SETTLING
        for straight in STRAIGHT:
            yield _Attempt(own, settling, straight, settled)
        if self.chain.n <= int(ways["axes"].sum()):
            return
        weights = self.config.each_joint_weight(self.chain.n)
        small, (lower, upper) = Quadratic(0.05 * weights, start), (self.limits.lower, self.limits.upper)
        for weight in (0.1, 1.0):
            yield _Attempt(Sum((small, JointRange(lower, upper, weight))), SETTLING, STRAIGHT[0])
        random, barrier = np.random.default_rng(self._seed), JointRange(lower, upper, 0.1)
        low = np.where(np.isfinite(lower), lower, start - math.pi)
        high = np.where(np.isfinite(upper), upper, start + math.pi)
        for attempt in range(ATTEMPTS):
            towards = Quadratic(weights, random.uniform(low, high))
            settling, straight = SETTLING * (1 + attempt % 4), STRAIGHT[attempt % len(STRAIGHT)]
            yield _Attempt(Sum((towards, barrier)), settling, straight)

    def _is_minimum(self, objective: Objective, path: PosePath, start: Array, **ways: Any) -> bool:
        """Return whether the joint positions (n,) of the start minimize an objective within the limits."""
        there = self._solve(path, np.zeros(1), start, partial(_same, objective), 0.0, straight=STRAIGHT[0], **ways)
        return self._away(there, start) <= RETURNED

    def _solve(
        self,
        path: PosePath | _Reversed,
        base: Array,
        start: Array,
        objective: Along,
        gain_length: float,
        *,
        axes: NDArray[np.bool_],
        tolerance: Array,
        straight: float,
        allow_dropped: bool,
    ) -> JointsAlongPath:
        """Compute the joint positions along the path, or along its feasible first part."""
        ways = [
            replace(self.config, threshold=EXACT, band=0.0),
            replace(self.config, threshold=straight, band=0.0, given_up="hold"),
            replace(self.config, given_up="hold"),
        ]
        plans = [way.plan(self.chain.n, axes) for way in ways[: 3 if allow_dropped else 2]]
        roots = [view_plan(plan, self.chain.n).weights for plan in plans]
        limits = self._inset(start)
        memory, solver = solver_memory(self.chain.links, limits)
        positions, rotations = path.poses(base)
        points = [(base[i], positions[i], rotations[i]) for i in range(len(base) - 1, -1, -1)]
        rows: tuple[list[Array], ...] = ([], [], [], [])
        q, at, reason, rate = start.copy(), 0.0, "", np.zeros(self.chain.n)
        while points:
            s, p, R = points[-1]
            aim = objective(s)
            weights, origin = quadratic_form(aim, q)
            solver.request.position[:], solver.request.rotation[:], solver.request.origin[:] = p, R, origin
            solver.request.gain[0] = 1.0 if gain_length == 0.0 else -math.expm1(-(s - at) / gain_length)
            for plan, root in zip(plans, roots, strict=True):
                root[:] = weight_roots(weights)
                there = np.clip(q + rate * (s - at), limits[0], limits[1])
                reach(memory, plan, there)
                error = np.where(axes, solver.track.error, 0.0)
                missed, far = bool((np.abs(error) > tolerance).any()), bool(np.abs(there - q).max() > LONGEST_STEP)
                if not missed and not far:
                    break
            if (missed and not allow_dropped) or far:
                if s - at > FINEST * path.length and len(rows[0]) + len(points) < MOST_POINTS + len(base):
                    middle = 0.5 * (at + s)
                    points.append((middle, *path.pose(middle)))
                    continue
                reason = self._reason(path, s, error, solver.least.item(), there)
                break
            points.pop()
            if s > at:
                rate = (there - q) / (s - at)
            q, at = there, s
            for row, value in zip(rows, (s, q, error, solver.share[0] * solver.share[1]), strict=True):
                row.append(np.copy(value))
        if not rows[0]:
            rows = ([np.zeros(())], [start], [np.zeros(6)], [np.ones(6)])
        grid, position, errors, shares = (np.array(row) for row in rows)
        return JointsAlongPath(grid, position, errors, shares, reason)

    def _inset(self, start: Array) -> Array:
        """Return the table of limits, its positions a little inside of the limits, but for those of the start."""
        limits = self.limits.table()
        inset = np.minimum(INSET, 0.1 * (limits[1] - limits[0]))
        limits[0], limits[1] = np.minimum(limits[0] + inset, start), np.maximum(limits[1] - inset, start)
        return limits

    def _reason(self, path: PosePath | _Reversed, s: float, error: Array, least: float, q: Array) -> str:
        at = (q <= self.limits.lower + 1e-6) | (q >= self.limits.upper - 1e-6)
        held = ", ".join(name for name, there in zip(self.chain.joint_names, at, strict=True) if there)
        where = f"at {100.0 * s / path.length:.1f} % of the path"
        miss = f"{np.linalg.norm(error[:3]):.3g} m and {np.linalg.norm(error[3:]):.3g} rad"
        if held:
            return f"{where} {held} would have to leave the position limits; the tool would miss it by {miss}"
        if least < 1e-3:
            return f"{where} the arm is singular; the tool would miss it by {miss}, or the joints would have to jump"
        return f"{where} the joints would have to jump; the tool would miss it by {miss}"

    def _rough(
        self, path: PosePath, joint_path: JointPath, joints: JointsAlongPath, axes: NDArray[np.bool_], tolerance: Array
    ) -> Array:
        """Find coordinates (r,) between points at which the joint path exceeds the tolerance or the position limits."""
        begin, step = joints.grid[:-1, None], np.diff(joints.grid)[:, None]
        between = (begin + step * LOOKS).ravel()
        q, _, _ = joint_path.sample(between)
        error = np.empty((len(between), 6))
        pose_errors(self.chain.links, q, *path.poses(between), error)
        ends = np.maximum(np.abs(joints.error[1:]), np.abs(joints.error[:-1]))
        allowed = np.repeat(np.maximum(ends, tolerance / POINTS), len(LOOKS), axis=0)
        rough = ((np.abs(error) > allowed)[:, axes]).any(axis=1)
        low, high = np.minimum(self.limits.lower, joints.position[0]), np.maximum(self.limits.upper, joints.position[0])
        rough |= ((q < low) | (q > high)).any(axis=1)
        return between[rough]

    def _planned(
        self, path: PosePath, path_limits: PathLimits, joints: JointsAlongPath, curve: JointPath, remark: str = ""
    ) -> PlannedPath:
        timing = time_path(
            path,
            path_limits,
            None,
            curve,
            self.limits.velocity * (1.0 - MARGIN),
            self.limits.acceleration * (1.0 - MARGIN),
        )
        return PlannedPath(path, self.chain, timing, joints, remark)
