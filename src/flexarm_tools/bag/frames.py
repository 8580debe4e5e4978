"""RobotFrames: /tf and /tf_static of a recorded robot, for graphs in which no robot_state_publisher runs.

The messages are written as bytes, since a recording in a plain Python has no package tf2_msgs to make them with.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from rclpy.qos import QoSProfile
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.robot.description import Joint
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.markers.arm_samples import finite_by_name
from flexarm_nodes.messages.cdr import BODY, LITTLE_ENDIAN
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node.topics import LATCHED, TF, TF_STATIC
from flexarm_tools.graph.message_definition import MessageDefinition
from flexarm_tools.graph.packages import Packages

TF_TYPE = "tf2_msgs/msg/TFMessage"
TF_HASH = "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
TF_QUALITY = {TF: QoSProfile(depth=100), TF_STATIC: LATCHED}
PERIOD = 1e9 / 60.0  # [ns] least time between two messages on /tf, by the stamps of the joint states
_STAMP, _COUNT, _POSE = struct.Struct("<iI"), struct.Struct("<I"), struct.Struct("<7d")


def tf_definition(packages: Packages) -> MessageDefinition:
    """Return the definition of the messages on /tf."""
    return MessageDefinition.of(TF_TYPE, "geometry_msgs/TransformStamped[] transforms\n", packages)


class RobotFrames:
    """Transforms between the links of a robot from its joint states, as robot_state_publisher gives them."""

    def __init__(self, text: str) -> None:
        """Read a robot description.

        Raises:
            RobotDescriptionError: the description is not usable.
        """
        description = parse_robot_description(text, massless=True)
        self._arm = DeflectedArm(description, description.root)  # no tool: a robot may have several, and none named
        joints = self._arm.description.joints.values()
        self._fixed = [joint for joint in joints if joint.kind == "fixed"]
        self._moving = [joint for joint in joints if joint.kind != "fixed"]
        self._position: dict[str, float] = {}
        self._said = -np.inf  # stamp [ns]

    def static(self) -> bytes:
        """Return the message of the fixed joints."""
        return self._message(self._fixed, 0)

    def moving(self, state: JointState) -> bytes | None:
        """Return the message of the joints that move; None: the last one is too young. Unknown joints are at zero."""
        self._position |= finite_by_name(state.name, state.position)
        stamp = stamp_to_nanoseconds(state.header.stamp)
        if 0 <= stamp - self._said < PERIOD:
            return None
        self._said = stamp
        return self._message(self._moving, stamp)

    def _message(self, joints: Sequence[Joint], stamp: int) -> bytes:
        placed = self._arm.place(ArmSample(stamp * 1e-9, self._position), 1.0)  # links as if they did not bend
        raw = bytearray(LITTLE_ENDIAN + bytes(2) + _COUNT.pack(len(joints)))
        for joint in joints:
            _align(raw, 4)
            raw += _STAMP.pack(*divmod(stamp, 1_000_000_000))
            _text(raw, joint.parent)
            _text(raw, joint.child)
            _align(raw, 8)
            pose = np.linalg.solve(placed[joint.parent], placed[joint.child])
            raw += _POSE.pack(*pose[:3, 3], *Rotation.from_matrix(pose[:3, :3]).as_quat())
        return bytes(raw)


def _text(raw: bytearray, text: str) -> None:
    _align(raw, 4)
    raw += _COUNT.pack(len(text.encode()) + 1) + text.encode() + b"\0"


def _align(raw: bytearray, size: int) -> None:
    raw += bytes(-(len(raw) - BODY) % size)
