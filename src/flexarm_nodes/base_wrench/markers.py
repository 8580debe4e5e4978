"""BaseWrenchMarkers: contact force, and torque and friction of the joints, for RViz."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from flexarm_core.base_wrench.contact_detection import nearest_point
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array, BaseWrenchEstimate
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp

Color = tuple[float, float, float, float]
CONTACT, TORQUE, FRICTION = (0.9, 0.2, 0.1, 1.0), (0.1, 0.5, 0.9, 1.0), (0.9, 0.6, 0.1, 0.5)
SHAFT = {CONTACT: 0.01, TORQUE: 0.01, FRICTION: 0.02}  # [m] arrow diameters; the friction arrow encloses the torque
FAINT = 1e-3  # [N, N*m] smaller values have no arrow


class BaseWrenchMarkers:
    """Draws an estimate; every message replaces the previous one.

    The contact force is drawn at the point of its line of action that is nearest to the sensor. Torque and friction are
    drawn along the joint axes, in the frames of the joints' child links, whose poses are given by tf.

    Attributes:
        scale: arrow length per value [m/N, 1/N].
    """

    def __init__(self, model: ArmModel, sensor_frame: str) -> None:
        """Draw in the frames of an arm and its sensor."""
        joints = [model.description.joints[name] for name in model.joint_names]
        self._joints = [(joint.name, joint.child, joint.axis) for joint in joints]
        self._frame, self.scale = sensor_frame, 0.01

    def message(self, estimate: BaseWrenchEstimate) -> MarkerArray:
        """Return the markers of one estimate."""
        self._stamp = nanoseconds_to_stamp(estimate.stamp)
        self._markers = [Marker(header=Header(stamp=self._stamp, frame_id=self._frame), action=Marker.DELETEALL)]
        if estimate.contact and estimate.valid:
            # wrench of the robot on its base: a contact force has the same direction and line of action
            self._arrow(
                "contact", self._frame, nearest_point(estimate.residual_wrench), estimate.residual_wrench[:3], CONTACT
            )
        for (name, link, axis), torque, friction in zip(self._joints, estimate.torque, estimate.friction, strict=True):
            self._arrow(f"torque/{name}", link, np.zeros(3), torque * axis, TORQUE)
            self._arrow(f"friction/{name}", link, np.zeros(3), friction * axis, FRICTION)
        return MarkerArray(markers=self._markers)

    def _arrow(self, name: str, frame: str, at: Array, way: Array, color: Color) -> None:
        if not np.isfinite(at).all() or not np.linalg.norm(way) > FAINT:  # zero, or not a number
            return
        r, g, b, a = color
        marker = Marker(ns=name, id=len(self._markers), type=Marker.ARROW, action=Marker.ADD)
        marker.header = Header(stamp=self._stamp, frame_id=frame)
        marker.color = ColorRGBA(r=r, g=g, b=b, a=a)
        marker.scale = Vector3(x=SHAFT[color], y=2.0 * SHAFT[color], z=0.0)
        marker.pose.orientation.w = 1.0
        marker.points = [_point(at), _point(at + self.scale * way)]
        self._markers.append(marker)


def _point(values: Array) -> Point:
    x, y, z = (float(value) for value in values)
    return Point(x=x, y=y, z=z)
