"""MotionMarkers: the wrench of an arm on its base, and actual and reference path of its tool, for RViz."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.types import Array
from flexarm_nodes.markers.robot import point_of

Color = tuple[float, float, float, float]
FORCE, TORQUE = (0.85, 0.15, 0.2, 1.0), (0.6, 0.3, 0.75, 1.0)
ACTUAL, REFERENCE = (0.12, 0.47, 0.71, 1.0), (0.9, 0.51, 0.08, 1.0)
SHAFT = 0.025  # [m] diameter of arrows
NARROW, WIDE = 0.006, 0.012  # [m] widths of trails: the wider reference is visible on both sides of the actual one
FAINT = 1e-3  # [m] arrows shorter than this are not drawn
MOST_POINTS = 2000  # largest number of points of a trail


class MotionMarkers:
    """Draws in the root link's frame; points of the trails stay as they were first drawn.

    Attributes:
        force_scale: arrow length per force [m/N].
        torque_scale: arrow length per torque [m/(N*m)].
        trail_duration: length of the trails in time [s].
    """

    def __init__(self, arm: DeflectedArm) -> None:
        """Draw this arm's motion."""
        self._arm = arm
        self.force_scale, self.torque_scale, self.trail_duration = 0.005, 0.02, 10.0
        self._factor = float("nan")
        self.reset()

    def reset(self) -> None:
        """Discard the trails."""
        self._trail: deque[tuple[float, Point | None, Point | None]] = deque(maxlen=MOST_POINTS)

    def markers(self, header: Header, sample: ArmSample, placed: dict[str, Array], factor: float) -> list[Marker]:
        """Return the markers of a sample.

        Args:
            header: header with the root link's frame.
            sample: state to draw; if its time is before that of the last sample, the trails are restarted.
            placed: poses (4, 4) of the links in the root link, with the same exaggeration.
            factor: exaggeration of all deflections; if it changes, the trails are restarted.
        """
        if factor != self._factor or (self._trail and sample.time < self._trail[-1][0]):
            self.reset()
        self._factor = factor
        if not self._trail or sample.time > self._trail[-1][0]:
            wanted = _finite_point(self._arm.reference(sample, factor))
            self._trail.append((sample.time, _finite_point(placed[self._arm.tool_frame][:3, 3]), wanted))
        while self._trail[0][0] < sample.time - self.trail_duration:
            self._trail.popleft()
        frame, force, torque = placed[self._arm.wrench_frame], sample.base_wrench[:3], sample.base_wrench[3:]
        found = [
            _arrow(header, "base_wrench/force", frame, self.force_scale * force, FORCE),
            _arrow(header, "base_wrench/torque", frame, self.torque_scale * torque, TORQUE),
            _line(header, "trail/reference", [wanted for _, _, wanted in self._trail], WIDE, REFERENCE),
            _line(header, "trail/actual", [actual for _, actual, _ in self._trail], NARROW, ACTUAL),
        ]
        return [marker for marker in found if marker is not None]


def _arrow(header: Header, name: str, frame: Array, way: Array, color: Color) -> Marker | None:
    """Return an arrow from a frame's origin along ``way`` (3,) in its axes; None if it is too short or unknown."""
    if not np.linalg.norm(way) > FAINT or not np.isfinite(way).all():
        return None
    marker = _marker(header, name, Marker.ARROW, (SHAFT, 2.0 * SHAFT, 0.0), color)
    marker.points = [point_of(frame[:3, 3]), point_of(frame[:3, 3] + frame[:3, :3] @ way)]
    return marker


def _line(header: Header, name: str, points: list[Point | None], width: float, color: Color) -> Marker | None:
    """Return a line through points, with gaps at unknown points; None if there is nothing to draw."""
    ends = [end for pair in pairwise(points) if None not in pair for end in pair]
    if not ends:
        return None
    marker = _marker(header, name, Marker.LINE_LIST, (width, 0.0, 0.0), color)
    marker.points = ends
    return marker


def _marker(header: Header, name: str, kind: int, scale: tuple[float, float, float], color: Color) -> Marker:
    r, g, b, a = color
    marker = Marker(header=header, ns=name, type=kind, action=Marker.ADD, color=ColorRGBA(r=r, g=g, b=b, a=a))
    marker.scale, marker.pose.orientation.w = Vector3(x=scale[0], y=scale[1], z=scale[2]), 1.0
    return marker


def _finite_point(position: Array) -> Point | None:
    return point_of(position) if np.isfinite(position).all() else None
