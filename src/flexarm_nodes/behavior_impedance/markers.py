"""BehaviorMarkers: forces, obstacles, set-point and shape of the arm, for RViz."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from flexarm_core.behavior_impedance.avoidance.arm_shape import place_capsules
from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle, obstacles_from_lists
from flexarm_core.behavior_impedance.behaviors.obstacles import Obstacles
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp, rotation_to_quaternion

MEASURED, COMMANDED, OBSTACLE = (0.9, 0.2, 0.1, 1.0), (0.1, 0.5, 0.9, 1.0), (0.9, 0.6, 0.1, 0.4)
SHAPE, AXES = (0.5, 0.5, 0.5, 0.3), ((1.0, 0.0, 0.0, 1.0), (0.0, 0.8, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0))
SHAFT, HEAD, AXIS = 0.01, 0.02, 0.1  # [m] diameters of arrow shaft and head, length of the set-point's axes
FAINT = 1e-3  # [N] forces below this are not drawn
PLANE = (2.0, 0.01)  # [m] side and thickness of the plate drawn for a half-space


class BehaviorMarkers:
    """Draws a sample in the base link's frame; every message replaces the previous one.

    Attributes:
        scale: arrow length per force [m/N].
        capsules: whether the shape of the arm is drawn.
    """

    def __init__(self, controller: BehaviorImpedanceController) -> None:
        """Draw the output of this controller."""
        self._controller, self.scale, self.capsules = controller, 0.01, False
        n = controller.arm.chain.n
        self._frames, self._J = np.zeros((len(controller.arm.chain.links), 12)), np.zeros((6, n))
        self._placed = np.zeros((len(controller.arm.shape.capsules), 6))

    def message(self, stamp: int, wrench: Array | None) -> MarkerArray:
        """Return the markers of the sample of this stamp [ns]; ``wrench`` (6,) used by the law [N, N*m], or None."""
        self._header = Header(stamp=nanoseconds_to_stamp(stamp), frame_id=self._controller.arm.chain.base_frame)
        self._markers = [Marker(header=self._header, action=Marker.DELETEALL)]
        output = self._controller.output
        if wrench is not None:
            self._force("measured", output.position, wrench[:3], MEASURED)
        for active in self._controller.behaviors:
            self._force(active.spec.name, output.position, active.out.force[:3], COMMANDED)
            if isinstance(active.behavior, Obstacles):
                for obstacle in _obstacles_of(active.spec.settings):
                    self._obstacle(f"obstacles/{active.spec.name}", obstacle)
        self._set_point()
        if self.capsules:
            self._arm()
        return MarkerArray(markers=self._markers)

    def _add(self, name: str, kind: int, size: tuple[float, float, float], color: tuple[float, ...]) -> Marker:
        r, g, b, a = color
        marker = Marker(header=self._header, ns=name, id=len(self._markers), type=kind, action=Marker.ADD)
        marker.scale, marker.color = Vector3(x=size[0], y=size[1], z=size[2]), ColorRGBA(r=r, g=g, b=b, a=a)
        marker.pose.orientation.w = 1.0
        self._markers.append(marker)
        return marker

    def _arrow(self, name: str, begin: Array, way: Array, color: tuple[float, ...]) -> None:
        marker = self._add(name, Marker.ARROW, (SHAFT, HEAD, 0.0), color)
        marker.points = [_point(begin), _point(begin + way)]

    def _force(self, name: str, at: Array, force: Array, color: tuple[float, ...]) -> None:
        if float(np.linalg.norm(force)) > FAINT:
            self._arrow(f"forces/{name}", at, self.scale * force, color)

    def _set_point(self) -> None:
        at, R, *_ = self._controller.set_point()
        for axis, color in enumerate(AXES):
            self._arrow("set_point", at, AXIS * R[:, axis], color)

    def _obstacle(self, name: str, obstacle: Obstacle) -> None:
        position = obstacle.position
        if obstacle.kind == "sphere":
            kind, size = Marker.SPHERE, (2.0 * obstacle.size[0],) * 3
        elif obstacle.kind == "box":
            x, y, z = obstacle.size
            kind, size = Marker.CUBE, (2.0 * x, 2.0 * y, 2.0 * z)
        else:
            side, thick = PLANE
            kind, size = Marker.CUBE, (side, side, thick)
            position = position - 0.5 * thick * obstacle.rotation[:, 2]  # the plate's face is the boundary
        self._add(name, kind, size, OBSTACLE).pose = _pose(position, obstacle.rotation)

    def _arm(self) -> None:
        arm = self._controller.arm
        arm_kinematics(arm.chain.links, self._controller.solver.position, self._frames, self._J)
        place_capsules(arm.shape.capsules, self._frames, self._placed)
        for link, capsule, ends in zip(arm.shape.links, arm.shape.capsules, self._placed, strict=True):
            radius, begin, end = float(capsule[7]), ends[:3], ends[3:]
            length, name = float(np.linalg.norm(end - begin)), f"shape/{link}"
            for center in (begin, end):
                ball = self._add(name, Marker.SPHERE, (2.0 * radius,) * 3, SHAPE)
                ball.pose.position = _point(center)
            if length > 1e-9:
                tube = self._add(name, Marker.CYLINDER, (2.0 * radius, 2.0 * radius, length), SHAPE)
                tube.pose = _pose(0.5 * (begin + end), _along((end - begin) / length))


def _obstacles_of(settings: Mapping[str, Any]) -> tuple[Obstacle, ...]:
    """Return the obstacles of an existing behavior, whose settings are already validated."""
    return obstacles_from_lists(*(settings.get(name, []) for name in ("names", "kinds", "positions", "rpys", "sizes")))


def _along(z: Array) -> Array:
    """Return a rotation whose third column is the unit vector ``z`` (3,)."""
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(z, x), z))


def _point(values: Array) -> Point:
    x, y, z = (float(value) for value in values)
    return Point(x=x, y=y, z=z)


def _pose(position: Array, rotation: Array) -> Pose:
    return Pose(position=_point(position), orientation=rotation_to_quaternion(rotation))
