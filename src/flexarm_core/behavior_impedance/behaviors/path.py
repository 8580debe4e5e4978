"""Path: moves the tool along a path, or along a stream of references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.behavior_impedance.smooth_motion import AT_REST, ROW, SmoothMotion
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.path.rotations import checked_rotation
from flexarm_core.path.waypoint_file import load_waypoint_file
from flexarm_core.settings import Setting
from flexarm_core.types import Array

SOURCES = ("waypoints", "file", "stream")
MOST_WAYPOINTS = 100  # the tick waits while the way through them is planned
SAME = 0.02  # [m] a changed waypoint counts as the same one if it moved, or turned times the length scale, by less


class Path(Behavior):
    """Moves the tool: provides ``x_b, v_b, a_b`` of a path over time. The path starts at the present tool pose.

    After a change of limits the tool continues along the same path, faster or slower. After a change that moves the
    waypoints by less than :data:`SAME`, it continues to the waypoint that it was moving to. Any other change starts a
    new path at the last leading pose. A change never stops the tool.
    """

    KIND = "path"
    LEADS = True
    SETTINGS = (
        Setting("source", "string", "waypoints",
            "source of the path: straight lines through waypoints, a waypoint file, or a stream of references",
            choices=SOURCES),
        Setting("positions", "double[]", [],
            "positions of the waypoints in the frame of the base link, x y z each (source waypoints)", "m"),
        Setting("rpys", "double[]", [],
            "orientations of the waypoints as roll, pitch, yaw each; empty: initial orientation is kept (source"
            " waypoints)", "rad"),
        Setting("relative", "bool", False,
            "positions of the waypoints are relative to the initial position of the tool (source waypoints)"),
        Setting("file", "string", "", "waypoint file in the file_folder (source file)"),
        Setting("repeats", "bool", False, "move back and forth along the path without end; false: move once"),
        Setting("start", "double", 0.0, "waiting time before the motion along the path starts", "s", 0.0),
        Setting("max_linear_velocity", "double", 0.1,
            "largest linear velocity of the tool along the path", "m/s", 1e-6),
        Setting("max_linear_acceleration", "double", 0.5,
            "largest linear acceleration of the tool along the path", "m/s^2", 1e-6),
        Setting("max_angular_velocity", "double", 0.5,
            "largest angular velocity of the tool along the path", "rad/s", 1e-6),
        Setting("max_angular_acceleration", "double", 2.0,
            "largest angular acceleration of the tool along the path", "rad/s^2", 1e-6),
        Setting("timeout", "double", 0.1,
            "age of the newest streamed reference at which the tool is held at the pose of that reference (source"
            " stream)", "s", 1e-3),
        Setting("max_jump", "double", 0.2,
            "distance between successive streamed references, or rotation times length_scale, beyond which the new"
            " one is refused", "m", 1e-6),
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        self._source, self._repeats, self._start = settings["source"], settings["repeats"], settings["start"]
        self._limits = PathLimits(*(settings[f"max_{k}_{o}"] for k in ("linear", "angular") for o in ORDERS))
        self._relative = settings["relative"]
        self._waypoints = _waypoints(settings)
        self._geometry = tuple(settings[name] for name in ("source", "positions", "rpys", "relative", "file"))
        self._aims: list[int] = []  # index of the waypoint at the end of each path segment
        self._spec = None
        if self._source == "file":
            if not settings["file"]:
                raise ConfigError("source 'file' needs a file")
            self._spec = load_waypoint_file(settings["file"], arm.files)
            if (count := len(self._spec.segments)) > MOST_WAYPOINTS:
                raise ConfigError(f"the file has {count} segments, at most {MOST_WAYPOINTS} are taken")
        self._timeout, self._jump = round(settings["timeout"] * 1e9), settings["max_jump"]
        self._length_scale, self._begun = arm.length_scale, False
        self._motion: SmoothMotion | None = None
        # time since the start of the motion; negative while waiting
        self._time, self._row, self._stale = -self._start, np.zeros(ROW), False
        self._origin = np.zeros(3)  # origin of relative positions
        self._given: tuple[int, Array] | None = None

    def begin(self, sample: MotionSample) -> None:
        """Start the path at the present tool pose, at rest."""
        self._row[:3], self._row[3:12] = sample.tool_position, sample.tool_rotation.ravel()
        if self._given is not None and self._distance(self._given[1], self._row) > self._jump:
            self._given = None
        self._origin = self._row[:3].copy()
        self._begun = True
        self._plan(0, AT_REST)

    def take_over(self, old: Behavior) -> None:
        """Continue from the leading pose of the old instance, at the same velocity."""
        assert isinstance(old, Path)
        self._row[:], self._given, self._begun = old._row, old._given, True
        same = self._follows(old)
        self._origin = old._origin.copy() if same else old._row[:3].copy()
        if self._source == "stream":
            return
        self._time = min(old._time + old._start - self._start, 0.0)  # remaining waiting time, if any
        motion, back = old._motion, old._time > 0.0 and old._phase()[1]
        if motion is not None and self._geometry == old._geometry and (self._repeats or not back):
            self._motion, self._aims = motion.within(self._limits), old._aims
            if old._time > 0.0:
                time, back = old._phase()
                time = self._motion.time_of(*motion.moment(time))
                self._time = 2.0 * self._motion.duration - time if back else time
            return
        first = 0
        if motion is not None and not back and same:
            passed = int(np.searchsorted(motion.path.breaks[1:], motion.coordinate(old._time) - 1e-9))
            first = old._aims[passed] if passed < len(old._aims) else max(len(self._waypoints) - 1, 0)
        self._plan(first, None)
        self._time = self._time if old._time <= 0.0 else 0.0

    def give(self, stamp: int, position: Array, rotation: Array, twist: Array, acceleration: Array) -> None:
        """Accept a reference of a stream, in the base link frame.

        Args:
            stamp: time of the reference [ns].
            position: (3,) tool position [m].
            rotation: (3, 3) tool orientation.
            twist: (6,) tool twist [m/s, rad/s].
            acceleration: (6,) tool acceleration [m/s^2, rad/s^2].

        Raises:
            InputError: a value is not finite, ``rotation`` is not a rotation matrix, or the pose jumps by more than
                ``max_jump``; the previous reference is kept.
        """
        turned = checked_rotation(rotation, "reference: rotation").ravel()
        try:
            motion = [np.array(part, dtype=float) for part in (position, twist, acceleration)]
        except (TypeError, ValueError) as error:
            raise InputError("a reference is a pose, a twist and an acceleration of finite numbers") from error
        if [part.shape for part in motion] != [(3,), (6,), (6,)] or not all(np.isfinite(part).all() for part in motion):
            raise InputError("a reference is a pose, a twist and an acceleration of finite numbers")
        row = np.concatenate((motion[0], turned, motion[1], motion[2]))
        before = self._row if self._given is None else self._given[1]
        distance = self._distance(row, before)
        if (self._begun or self._given is not None) and distance > self._jump:
            raise InputError(f"reference jumps by {distance:.3f} m, more than max_jump {self._jump} m")
        self._given = stamp, row

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write the leading pose with its twist and acceleration."""
        if self._source == "stream":
            self._follow_stream(sample)
        elif self._motion is not None:
            self._time += sample.dt
            time, back = self._phase()
            self._motion.at(time, self._row)
            if back:
                self._row[12:18] *= -1.0
        out.lead[0] = 1.0
        out.lead_motion[:] = self._row
        out.measure[0] = self.progress

    def _follows(self, old: Path) -> bool:
        """Return whether this is the same path as that of the old instance, up to waypoint shifts of :data:`SAME`."""
        if (self._source, self._relative, self._spec) != (old._source, old._relative, old._spec):
            return self._geometry == old._geometry
        if len(self._waypoints) != len(old._waypoints):
            return False
        for (p, R), (q, Q) in zip(self._waypoints, old._waypoints, strict=True):
            if (R is None) != (Q is None) or np.linalg.norm(p - q) > SAME:
                return False
            if R is not None and Q is not None and self._length_scale * np.linalg.norm(R - Q) > SAME:
                return False
        return True

    def _phase(self) -> tuple[float, bool]:
        """Return the time within the motion [s], and whether the path is being traversed backward."""
        assert self._motion is not None
        duration = self._motion.duration
        if not (self._repeats and self._time > 0.0 and duration > 0.0):
            return self._time, False
        turns, time = divmod(self._time, duration)
        back = int(turns) % 2 == 1
        return duration - time if back else time, back

    @property
    def progress(self) -> float:
        """Elapsed fraction of the duration, 0 to 1; always 0 for a stream or a repeated path."""
        if self._motion is None or self._repeats:
            return 0.0
        return min(max(self._time / max(self._motion.duration, 1e-9), 0.0), 1.0)

    def note(self) -> str:
        """Return the progress, or for a stream whether references are available."""
        if self._source == "stream":
            return "no references" if self._stale else "following references"
        return "at its end" if self.progress >= 1.0 else "under way"

    def _follow_stream(self, sample: MotionSample) -> None:
        self._stale = self._given is None or abs(sample.stamp - self._given[0]) > self._timeout
        if self._given is not None and not self._stale:
            self._row[:] = self._given[1]
        else:  # stale: hold the pose
            self._row[12:] = 0.0

    def _distance(self, row: Array, before: Array) -> float:
        """Return the distance between two poses [m], or the angle times the length scale, whichever is larger."""
        turn = np.empty(3)
        rotation_error(row[3:12].reshape(3, 3), before[3:12].reshape(3, 3), turn)
        return max(float(np.linalg.norm(row[:3] - before[:3])), self._length_scale * float(np.linalg.norm(turn)))

    def _plan(self, first: int, running: tuple[float, float] | None) -> None:
        """Plan a path from the present leading pose through the waypoints from index ``first`` on, or from the file.

        Args:
            first: index of the first waypoint.
            running: initial rate [m/s] and acceleration [m/s^2] of the path coordinate; None: taken from the present
                leading motion.

        Raises:
            InputError: a waypoint needs a rotation by half a turn, which has no unique axis.
        """
        if self._source == "stream":
            return
        p, R = self._row[:3].copy(), self._row[3:12].reshape(3, 3).copy()
        self._aims = []
        if self._spec is not None:
            path = self._spec.build(p, R)
        else:
            path = PosePath(p, R)
            for index, (position, rotation) in enumerate(self._waypoints[first:], first):
                goal = self._origin + position if self._relative else position
                if np.linalg.norm(goal - path.end[0]) > 1e-9 or _turned(rotation, path.end[1]):
                    path = path.line(goal, rotation)
                    self._aims.append(index)
        self._motion = SmoothMotion(path, self._limits, _along(path, self._row) if running is None else running)


def _along(path: PosePath, row: Array) -> tuple[float, float]:
    """Project the twist and acceleration in ``row`` onto the start of a path: rate [m/s] and acceleration [m/s^2]."""
    if path.length == 0.0:
        return AT_REST
    first, second = path.derivatives(0.0)
    weights = np.repeat((1.0, path.characteristic_length**2), 3)
    square = float(first @ (weights * first))
    rate = max(float(first @ (weights * row[12:18])) / square, 0.0)
    change = float(first @ (weights * (row[18:] - second * rate**2))) / square
    return rate, change if rate > 0.0 or change > 0.0 else 0.0


ORDERS = ("velocity", "acceleration")


def _turned(rotation: Array | None, present: Array) -> bool:
    return rotation is not None and bool(np.abs(rotation - present).max() > 1e-9)


def _waypoints(settings: Mapping[str, Any]) -> list[tuple[Array, Array | None]]:
    positions, rpys = settings["positions"], settings["rpys"]
    if settings["source"] != "waypoints":
        return []
    if not positions or len(positions) % 3 or len(rpys) not in (0, len(positions)):
        raise ConfigError(
            f"positions needs three numbers a waypoint, rpys as many or none; got {len(positions)} and {len(rpys)}"
        )
    points = np.reshape(positions, (-1, 3))
    if len(points) > MOST_WAYPOINTS:
        raise ConfigError(f"{len(points)} waypoints are too many: at most {MOST_WAYPOINTS}")
    if not rpys:
        return [(point, None) for point in points]
    turns = Rotation.from_euler("xyz", np.reshape(rpys, (-1, 3))).as_matrix()
    return list(zip(points, turns, strict=True))
