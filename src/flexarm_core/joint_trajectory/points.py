"""Points of a joint trajectory as a client sends them, and the rules by which they are accepted or rejected.

The rules are those of joint_trajectory_controller of ros2_controllers (validate_trajectory_msg, release for Jazzy).
Some things that it passes on to the hardware are rejected here: numbers that are not finite, joints that are named
twice, points out of the position limits, and speeds above the velocity limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.entrance import ANY, finite
from flexarm_core.errors import InputError
from flexarm_core.joint_trajectory.spline import SAMPLES, Spline, fitted
from flexarm_core.types import Array

FIELDS = ("positions", "velocities", "accelerations", "effort")
MOST_POINTS = 5000  # points of a trajectory; checking and fitting that many takes some 20 ms
AT_REST = float(np.finfo(np.float32).eps)  # velocity of a last point up to which it counts as zero, as upstream
POSITION_MARGIN = 1e-3  # [rad | m] by which points may be beyond the limits: planners stop there, encoders are noisy
SPEED_MARGIN = 1.05  # by this factor the speed between points may exceed the limit: so do splines of planners' points
MOST_AHEAD = 3600.0  # [s] by which a start may be later than the newest joint state
ON_THE_WAY = "from the present motion to the trajectory, or at rest behind it,"
REMEDY = (
    ": begin where the joints are and as fast as they move, and end at rest or further from the limit; or raise"
    " max_acceleration"
)


@dataclass(frozen=True, slots=True)
class Points:
    """Points of a trajectory, in the order of the joints that the client names (k).

    Attributes:
        names: (k,) joint names.
        stamp: stamp at which the trajectory starts [ns]; 0: at once.
        times: (p,) times of the points after the start [ns].
        sizes: (p, 4) lengths of the lists of each point, in the order of FIELDS.
        numbers: (p, k) positions, velocities, accelerations; NaN where a point has none; None where a size is neither
            0 nor k.
    """

    names: tuple[str, ...]
    stamp: int
    times: NDArray[np.int64]
    sizes: NDArray[np.int64]
    numbers: tuple[Array, Array, Array] | None


@dataclass(frozen=True, slots=True)
class Rules:
    """What is accepted.

    Attributes:
        joint_names: (n,) joints of the arm.
        lower: (n,) lower position limits, -inf if there are none [rad | m].
        upper: (n,) upper position limits.
        velocity: (n,) velocity limits, inf if there are none [rad/s | m/s].
        allow_partial_joints_goal: whether joints may be missing; they are held.
        allow_nonzero_velocity_at_trajectory_end: whether the last point may have velocities.
        check_limits: whether points out of limits are rejected.
        linear: whether points without velocities are joined by straight lines.
    """

    joint_names: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    allow_partial_joints_goal: bool = False
    allow_nonzero_velocity_at_trajectory_end: bool = False
    check_limits: bool = True
    linear: bool = False

    def accept(self, points: Points, now: int, held: Array) -> Spline:
        """Return the trajectory of accepted points, for all joints of the arm.

        Args:
            points: points as they came.
            now: present time [ns].
            held: (n,) positions at which the joints are now, and at which missing joints are held [rad | m].

        Raises:
            InputError: a rule rejects them.
        """
        place = self._place(points.names)
        count = len(points.times)
        if not count:
            raise InputError("the trajectory has no points")
        if count > MOST_POINTS:
            raise InputError(f"the trajectory has {count} points, at most {MOST_POINTS} are accepted")
        self._check_sizes(points)
        assert points.numbers is not None  # the sizes fit
        given = np.array(points.numbers)
        self._check_end(points, given[1, -1])
        if points.stamp and points.stamp + int(points.times[-1]) < now:
            late = (now - points.stamp - int(points.times[-1])) * 1e-9
            raise InputError(
                f"the trajectory ended {late:.3f} s ago, by its start time and its last point: send it earlier, with"
                " the clock of the joint states, or with the stamp 0"
            )
        if (ahead := (points.stamp - now) * 1e-9) > MOST_AHEAD:
            raise InputError(
                f"the trajectory starts {ahead:.3f} s after the newest joint state, at most {MOST_AHEAD:g} s are"
                " accepted: is its stamp of another clock? With the stamp 0 it starts at once"
            )
        steps = np.diff(points.times)
        if (steps <= 0).any():
            at = int(np.argmax(steps <= 0))
            raise InputError(
                f"the times of the points {at} and {at + 1} do not increase:"
                f" {points.times[at] * 1e-9:g} s, {points.times[at + 1] * 1e-9:g} s"
            )
        absent = np.repeat((points.sizes[:, :3] == 0).T[:, :, None], given.shape[2], axis=2)
        wrong = ~np.isfinite(given) & ~absent
        if wrong.any():
            field, point, joint = (int(at[0]) for at in np.nonzero(wrong))
            value = given[field, point, joint]
            raise InputError(f"{FIELDS[field]} of point {point}: joint '{points.names[joint]}' is {value}")
        whole = np.zeros((3, count, len(held)))
        whole[0] = held
        whole[:, :, place] = np.where(absent, 0.0, given)
        q, v, a = whole
        spline = fitted(points.times, q, v, a, points.sizes[:, 1] > 0, points.sizes[:, 2] > 0, held, self.linear)
        if self.check_limits:
            self._check_limits(spline, place)
        return spline

    def check_added(self, position: Array, velocity: Array) -> None:
        """Reject a motion beside the points that leads beyond limits, or further beyond them than it begins.

        Args:
            position: (k, n) positions, the first of which is the present one [rad | m].
            velocity: (k, n) velocities [rad/s | m/s].

        Raises:
            InputError: a joint would leave its limits.
        """
        n = len(self.joint_names)
        position, velocity = finite("position", position, ANY, n), finite("velocity", velocity, ANY, n)
        if not (len(position) and len(velocity)):
            raise InputError("the motion to check has no samples")
        before, (lower, upper) = position[0], (self.lower, self.upper)
        beyond = np.maximum(np.minimum(lower, before) - position, position - np.maximum(upper, before)).max(axis=0)
        if beyond.max() > POSITION_MARGIN:
            joint = int(beyond.argmax())
            at = int(np.abs(position[:, joint] - before[joint]).argmax())
            raise InputError(
                f"{ON_THE_WAY} joint '{self.joint_names[joint]}' would go to {position[at, joint]:.4g}, its limits are"
                f" {lower[joint]:g} and {upper[joint]:g}{REMEDY}"
            )
        fastest = np.abs(velocity).max(axis=0)
        over = fastest > np.maximum(SPEED_MARGIN * self.velocity, np.abs(velocity[0]) + 1e-9)
        if over.any():
            joint = int(over.argmax())
            raise InputError(
                f"{ON_THE_WAY} joint '{self.joint_names[joint]}' would move at {fastest[joint]:.4g}, its velocity limit"
                f" is {self.velocity[joint]:g}{REMEDY}"
            )

    def _place(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the indices (k,) of named joints in the arm."""
        known = {name: index for index, name in enumerate(self.joint_names)}
        if not names:
            raise InputError("the trajectory names no joints")
        if not self.allow_partial_joints_goal and len(names) != len(known):
            raise InputError(
                f"the trajectory names {len(names)} joints, the arm has {len(known)}: {', '.join(self.joint_names)};"
                " allow_partial_joints_goal is false"
            )
        for name in names:
            if name not in known:
                raise InputError(f"joint '{name}' is none of the arm's: {', '.join(self.joint_names)}")
        if len(set(names)) < len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise InputError(f"joint '{twice}' is named twice")
        return np.array([known[name] for name in names])

    def _check_sizes(self, points: Points) -> None:
        count, sizes = len(points.names), points.sizes
        for field, name in enumerate(FIELDS[:3]):
            wrong = sizes[:, field] != count
            if field:
                wrong &= sizes[:, field] != 0
            if wrong.any():
                at = int(np.argmax(wrong))
                raise InputError(f"point {at} has {sizes[at, field]} {name} for {count} joints")
        if sizes[:, 3].any():
            at = int(np.argmax(sizes[:, 3] > 0))
            raise InputError(f"point {at} has efforts, which are not followed: leave them empty")

    def _check_end(self, points: Points, velocity: Array) -> None:
        """Reject a last point that moves; ``velocity``: (k,), NaN if it has none."""
        moving = np.abs(velocity) > AT_REST
        if not self.allow_nonzero_velocity_at_trajectory_end and moving.any():
            joint = int(np.argmax(moving))
            raise InputError(
                f"the velocity of the last point is not zero: joint '{points.names[joint]}' {velocity[joint]:g};"
                " allow_nonzero_velocity_at_trajectory_end is false"
            )

    def _check_limits(self, spline: Spline, place: NDArray[np.int64]) -> None:
        position, velocity = spline.extremes()
        for joint in place.tolist():
            name = self.joint_names[joint]
            beyond = np.maximum(self.lower[joint] - position[:, joint], position[:, joint] - self.upper[joint])
            if beyond.max() > POSITION_MARGIN:
                at = int(beyond.argmax())
                raise InputError(
                    f"joint '{name}' goes to {position[at, joint]:.4g} at point {at // SAMPLES},"
                    f" its limits are {self.lower[joint]:g} and {self.upper[joint]:g}"
                )
            speed = np.abs(velocity[:, joint])
            if speed.max() > SPEED_MARGIN * self.velocity[joint]:
                at = int(speed.argmax())
                raise InputError(
                    f"joint '{name}' moves at {speed[at]:.4g} between the points {at // SAMPLES} and"
                    f" {at // SAMPLES + 1}, its velocity limit is {self.velocity[joint]:g}"
                )
