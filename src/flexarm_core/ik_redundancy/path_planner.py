"""PathPlanner: joint positions along a whole tool path before the motion starts, then a time law within joint limits.

The joint positions are computed along the path coordinate, each point from the previous one, with the configured
objective. If joints move far between two points, points are inserted. If the path is not feasible this way, a redundant
arm tries other objectives: first away from the joint limits, then towards random joint positions, to find a different
joint path.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import allocate
from flexarm_core.errors import ConfigError, InputError, JointLimitError
from flexarm_core.ik_redundancy.chain import Chain, build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.objectives import JointRange, Objective, Quadratic, Sum, quadratic_form
from flexarm_core.ik_redundancy.plan import view_plan, weight_roots
from flexarm_core.ik_redundancy.planned_path import JointsAlongPath, PlannedPath, smooth_joint_path
from flexarm_core.ik_redundancy.solver import ALL_AXES
from flexarm_core.ik_redundancy.tracking import pose_errors, reach, view_track
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.path.joint_path import JointPath
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.path_timing import PathTiming, time_path, timing_grid
from flexarm_core.path.pose_path import PosePath
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array

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
        furthest, why = -1.0, ""
        for objective, gain_length, straight in self._attempts(start, int(axes.sum())):
            grid = np.unique(timing_grid(path))
            for _ in range(REFINEMENTS):
                joints = self._solve(
                    path, grid, start, axes, tolerance, objective, gain_length * path.length, straight, allow_dropped
                )
                reached, reason = joints.grid[-1], joints.reason
                if reason:
                    break
                joint_path = smooth_joint_path(path, joints.grid, joints.position)
                rough = self._rough(path, joint_path, joints, axes, tolerance)
                if not rough.size:
                    timing = self._time(path, path_limits, joint_path)
                    return PlannedPath(path, self.chain, timing, joints)
                grid = np.union1d(joints.grid, rough)
                where = f"at {100.0 * rough[0] / path.length:.1f} % of the path"
                reached, reason = rough[0], f"{where} the joints would have to turn too sharply"
                if len(grid) > MOST_POINTS:
                    break
            if reached > furthest:
                furthest, why = reached, reason
        raise PathError(why, float(furthest / path.length))

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

    def _attempts(self, start: Array, rows: int) -> Iterator[tuple[Objective, float, float]]:
        """Yield attempts: objective, share of the path to reach its minimum (0 = at once), row threshold [m]."""
        own = self.config.objective_of(self.chain, start)
        settling = 0.0 if isinstance(own, Quadratic) and not self.config.origin else SETTLING
        for straight in STRAIGHT:
            yield own, settling, straight
        if self.chain.n <= rows:
            return
        weights = self.config.each_joint_weight(self.chain.n)
        small, (lower, upper) = Quadratic(0.05 * weights, start), (self.limits.lower, self.limits.upper)
        for weight in (0.1, 1.0):
            yield Sum((small, JointRange(lower, upper, weight))), SETTLING, STRAIGHT[0]
        random, barrier = np.random.default_rng(self._seed), JointRange(lower, upper, 0.1)
        low = np.where(np.isfinite(lower), lower, start - math.pi)
        high = np.where(np.isfinite(upper), upper, start + math.pi)
        for attempt in range(ATTEMPTS):
            towards = Quadratic(weights, random.uniform(low, high))
            yield Sum((towards, barrier)), SETTLING * (1 + attempt % 4), STRAIGHT[attempt % len(STRAIGHT)]

    def _solve(
        self,
        path: PosePath,
        base: Array,
        start: Array,
        axes: NDArray[np.bool_],
        tolerance: Array,
        objective: Objective,
        gain_length: float,
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
        limits, (memory, tracked) = self.limits.table(), allocate(view_track, self.chain.n)
        inset = np.minimum(INSET, 0.1 * (limits[1] - limits[0]))
        limits[0], limits[1] = np.minimum(limits[0] + inset, start), np.maximum(limits[1] - inset, start)
        positions, rotations = path.poses(base)
        points = [(base[i], positions[i], rotations[i]) for i in range(len(base) - 1, -1, -1)]
        rows: tuple[list[Array], ...] = ([], [], [], [])
        q, at, reason, rate = start.copy(), 0.0, "", np.zeros(self.chain.n)
        while points:
            s, p, R = points[-1]
            weights, origin = quadratic_form(objective, q)
            gain = 1.0 if gain_length == 0.0 else -math.expm1(-(s - at) / gain_length)
            for plan in plans:
                if not isinstance(objective, Quadratic):
                    view_plan(plan, self.chain.n).weights[:] = weight_roots(weights)
                there, share = np.clip(q + rate * (s - at), limits[0], limits[1]), np.empty((2, 6))
                least = reach(self.chain.links, limits, plan, p, R, origin, gain, 1.0, share, memory, there)
                error = np.where(axes, tracked.error, 0.0)
                missed, far = bool((np.abs(error) > tolerance).any()), bool(np.abs(there - q).max() > LONGEST_STEP)
                if not missed and not far:
                    break
            if (missed and not allow_dropped) or far:
                if s - at > FINEST * path.length:
                    middle = 0.5 * (at + s)
                    points.append((middle, *path.pose(middle)))
                    continue
                reason = self._reason(path, s, error, least, there)
                break
            points.pop()
            if s > at:
                rate = (there - q) / (s - at)
            q, at = there, s
            for row, value in zip(rows, (s, q, error, share[0] * share[1]), strict=True):
                row.append(np.copy(value))
        if not rows[0]:
            rows = ([np.zeros(())], [start], [np.zeros(6)], [np.ones(6)])
        grid, position, errors, shares = (np.array(row) for row in rows)
        return JointsAlongPath(grid, position, errors, shares, reason)

    def _reason(self, path: PosePath, s: float, error: Array, least: float, q: Array) -> str:
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

    def _time(self, path: PosePath, path_limits: PathLimits, joint_path: JointPath) -> PathTiming:
        return time_path(
            path,
            path_limits,
            None,
            joint_path,
            self.limits.velocity * (1.0 - MARGIN),
            self.limits.acceleration * (1.0 - MARGIN),
        )
