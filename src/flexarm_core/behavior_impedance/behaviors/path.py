"""Path: leads the tool along a path, or behind a stream of references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.behavior_impedance.setting import Setting
from flexarm_core.behavior_impedance.smooth_motion import ROW, SmoothMotion
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import rotation_error
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.path.rotations import checked_rotation
from flexarm_core.path.waypoint_file import load_waypoint_file
from flexarm_core.types import Array

SOURCES = ("waypoints", "file", "stream")


class Path(Behavior):
    """Leads: ``x_b, v_b, a_b`` of a path in time. It begins where the tool is."""

    KIND = "path"
    LEADS = True
    SETTINGS = (
        Setting("source", "string", "waypoints", "straight lines, a waypoint file, or a stream", choices=SOURCES),
        Setting("positions", "double[]", [], "waypoints: x y z of each, in the base link's frame", "m"),
        Setting("rpys", "double[]", [], "waypoints: roll pitch yaw of each; empty: as at the begin", "rad"),
        Setting("relative", "bool", False, "waypoints: positions count from where the tool is at the begin"),
        Setting("file", "string", "", "file: absolute path of a waypoint file"),
        Setting("repeats", "bool", False, "go back and forth, again and again"),
        Setting("start", "double", 0.0, "time to wait at the begin", "s", 0.0),
        Setting("max_linear_velocity", "double", 0.1, "along the path", "m/s", 1e-6),
        Setting("max_linear_acceleration", "double", 0.5, "along the path", "m/s^2", 1e-6),
        Setting("max_angular_velocity", "double", 0.5, "along the path", "rad/s", 1e-6),
        Setting("max_angular_acceleration", "double", 2.0, "along the path", "rad/s^2", 1e-6),
        Setting("timeout", "double", 0.1, "stream: age of a reference at which the tool is held there", "s", 1e-3),
        Setting(
            "max_jump",
            "double",
            0.2,
            "stream: way from the reference before it, or turn times the length scale, that is refused",
            "m",
            1e-6,
        ),
    )

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        self._source, self._repeats, self._start = settings["source"], settings["repeats"], settings["start"]
        self._limits = PathLimits(*(settings[f"max_{k}_{o}"] for k in ("linear", "angular") for o in ORDERS))
        self._relative = settings["relative"]
        self._waypoints = _waypoints(settings)
        self._spec = None
        if self._source == "file":
            if not settings["file"]:
                raise ConfigError("source 'file' needs a file")
            self._spec = load_waypoint_file(settings["file"])
        self._timeout, self._jump = round(settings["timeout"] * 1e9), settings["max_jump"]
        self._length_scale, self._begun = arm.length_scale, False
        self._motion: SmoothMotion | None = None
        self._time, self._row, self._stale = 0.0, np.zeros(ROW), False
        self._given: tuple[int, Array] | None = None

    def begin(self, sample: MotionSample) -> None:
        """The path begins where the tool is."""
        self._row[:3], self._row[3:12] = sample.tool_position, sample.tool_rotation.ravel()
        if self._given is not None and self._distance(self._given[1], self._row) > self._jump:
            self._given = None
        self._plan()

    def take_over(self, old: Behavior) -> None:
        """The path begins where the old one is; a stream goes on."""
        assert isinstance(old, Path)
        self._row[:12], self._given = old._row[:12], old._given
        self._plan()

    def give(self, stamp: int, position: Array, rotation: Array, twist: Array, acceleration: Array) -> None:
        """Take a reference of a stream: stamp [ns], pose (3,), (3, 3), twist (6,), acceleration (6,), base frame.

        Raises:
            InputError: numbers that are not finite, no rotation, a jump; the reference before it stands.
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
        """The leading pose and its motion."""
        if self._source == "stream":
            self._follow_stream(sample)
        elif self._motion is not None:
            self._time += sample.dt
            time, duration = self._time - self._start, self._motion.duration
            back = False
            if self._repeats and time > 0.0 and duration > 0.0:
                turns, time = divmod(time, duration)
                back = int(turns) % 2 == 1
            self._motion.at(duration - time if back else time, self._row)
            if back:
                self._row[12:18] *= -1.0
        out.lead[0] = 1.0
        out.lead_motion[:] = self._row
        out.measure[0] = self.progress

    @property
    def progress(self) -> float:
        """Part of the path that lies behind, 0 to 1; of a stream always 0."""
        if self._motion is None or self._repeats:
            return 0.0
        return min(max((self._time - self._start) / max(self._motion.duration, 1e-9), 0.0), 1.0)

    def note(self) -> str:
        """How far it is."""
        if self._source == "stream":
            return "no references" if self._stale else "following references"
        return "at its end" if self.progress >= 1.0 else "under way"

    def _follow_stream(self, sample: MotionSample) -> None:
        self._stale = self._given is None or abs(sample.stamp - self._given[0]) > self._timeout
        if self._given is not None and not self._stale:
            self._row[:] = self._given[1]
        else:  # held where it is
            self._row[12:] = 0.0

    def _distance(self, row: Array, before: Array) -> float:
        """Way between two poses [m], or turn times the length scale, whichever is more."""
        turn = np.empty(3)
        rotation_error(row[3:12].reshape(3, 3), before[3:12].reshape(3, 3), turn)
        return max(float(np.linalg.norm(row[:3] - before[:3])), self._length_scale * float(np.linalg.norm(turn)))

    def _plan(self) -> None:
        self._begun = True
        if self._source == "stream":
            return
        p, R = self._row[:3].copy(), self._row[3:12].reshape(3, 3).copy()
        if self._spec is not None:
            path = self._spec.build(p, R)
        else:
            path = PosePath(p, R)
            for position, rotation in self._waypoints:
                goal = p + position if self._relative else position
                if np.linalg.norm(goal - path.end[0]) > 1e-9 or _turned(rotation, path.end[1]):
                    path = path.line(goal, rotation)
        self._motion, self._time = SmoothMotion(path, self._limits), 0.0


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
    if not rpys:
        return [(point, None) for point in points]
    turns = Rotation.from_euler("xyz", np.reshape(rpys, (-1, 3))).as_matrix()
    return list(zip(points, turns, strict=True))
