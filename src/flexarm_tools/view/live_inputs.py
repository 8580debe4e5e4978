"""LiveInputs: latest messages of a running graph, polled by the page.

The page must not disturb the controllers. Therefore there is no callback per sample: subscriptions keep only the latest
message (best effort, so that no publisher waits for the page), and the page polls them at its own, low rate.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BaseWrenchEstimate, JointReference, SimulationStatus
from flexarm_nodes.markers.arm_samples import GLANCE, SEEN
from flexarm_nodes.messages.foreign_joints import are_foreign
from flexarm_nodes.node import topics

SEVERAL = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=50)
GLANCED: dict[str, Any] = {
    **SEEN,
    topics.TRUE_TOOL_POSE: PoseStamped,
    topics.TRUE_JOINT_FRICTION: JointState,
    topics.TRUE_CONTACT_WRENCH: WrenchStamped,
    topics.BASE_WRENCH_ESTIMATE: BaseWrenchEstimate,
    topics.JOINT_REFERENCE: JointReference,
    topics.SIMULATION_STATUS: SimulationStatus,
}


class LiveInputs:
    """Latest messages of the topics.

    Attributes:
        wrenches: force/torque topics that are listened to.
        joints: joints of the arm; joint states without any of these are of others, and left out.
    """

    def __init__(self, node: Node) -> None:
        """Subscribe; publishers need not exist yet.

        Args:
            node: node of the subscriptions; it must not be spun by an executor, which would take the messages.
        """
        self._node = node
        self._glanced = {topic: self._subscribe(kind, topic, GLANCE) for topic, kind in GLANCED.items()}
        self._description = self._subscribe(String, topics.ROBOT_DESCRIPTION, topics.LATCHED)
        self._diagnostics = self._subscribe(DiagnosticArray, topics.DIAGNOSTICS, SEVERAL)
        self._newest: dict[str, tuple[Any, float]] = {}
        self._markers: dict[str, tuple[QoSProfile, Subscription]] = {}
        self.wrenches: tuple[str, ...] = ()
        self.joints: tuple[str, ...] = ()

    def listen_to_wrenches(self, names: tuple[str, ...]) -> None:
        """Subscribe to these force/torque topics instead of the previous ones."""
        for topic in self.wrenches:
            self._node.destroy_subscription(self._glanced.pop(topic))
            self._newest.pop(topic, None)
        self.wrenches = names
        self._glanced |= {topic: self._subscribe(WrenchStamped, topic, GLANCE) for topic in names}

    def listen_to_markers(self, wanted: Mapping[str, QoSProfile]) -> None:
        """Subscribe to these marker topics only."""
        for topic in [topic for topic, (quality, _) in self._markers.items() if wanted.get(topic) != quality]:
            self._node.destroy_subscription(self._markers.pop(topic)[1])
        for topic, quality in wanted.items():
            if topic not in self._markers:
                self._markers[topic] = (quality, self._subscribe(MarkerArray, topic, quality))

    def markers(self) -> dict[str, MarkerArray]:
        """Return the latest markers of each topic with new messages."""
        came = {topic: _messages(subscription) for topic, (_, subscription) in self._markers.items()}
        return {topic: messages[-1] for topic, messages in came.items() if messages}

    def take(self) -> None:
        """Take the messages that have arrived since the last call."""
        now = time.monotonic()
        for topic, subscription in self._glanced.items():
            for message in _messages(subscription):
                if topic == topics.JOINT_STATES and self.joints and are_foreign(message.name, self.joints):
                    continue
                self._newest[topic] = (message, now)

    def newest(self, topic: str, at_most: float = 2.0) -> Any:
        """Return the latest message of a topic, None if it is older than ``at_most`` [s] of wall time."""
        message, came = self._newest.get(topic, (None, 0.0))
        return message if time.monotonic() - came <= at_most else None

    def descriptions(self) -> list[str]:
        """Return the robot descriptions that have arrived since the last call."""
        return [message.data for message in _messages(self._description)]

    def diagnostics(self) -> list[Any]:
        """Return the diagnostic statuses that have arrived since the last call."""
        return [status for message in _messages(self._diagnostics) for status in message.status]

    def _subscribe(self, kind: Any, topic: str, quality: QoSProfile) -> Subscription:
        return self._node.create_subscription(kind, topic, lambda _: None, quality)


def _messages(subscription: Subscription) -> list[Any]:
    """Take all messages from a subscription, oldest first."""
    found = []
    with subscription.handle:
        while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
            found.append(taken[0])
    return found
