"""LiveFrames: /tf and /tf_static of a run, for programs that draw its robot (RViz, Foxglove)."""

from __future__ import annotations

import time

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from flexarm_nodes.node import topics
from flexarm_tools.bag.frames import TF_QUALITY, RobotFrames

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # a ROS without it, for which `make setup` did not generate it
    TFMessage = None

LOOK = 0.2  # [s] wall time between two looks for listeners
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class LiveFrames:
    """Publishes the frames of a robot from its joint states, while there is a subscriber and no other publisher."""

    def __init__(self, node: Node, text: str) -> None:
        """Publish the fixed frames of a description; those that move follow while :meth:`poll` is called."""
        self._node, self._frames, self._looked = node, RobotFrames(text), 0.0
        self._states: Subscription | None = None
        if TFMessage is None or node.count_publishers(topics.TF):
            self._moving = None
            return
        self._moving = node.create_publisher(TFMessage, topics.TF, TF_QUALITY[topics.TF])
        self._fixed = node.create_publisher(TFMessage, topics.TF_STATIC, TF_QUALITY[topics.TF_STATIC])
        self._fixed.publish(self._frames.static())

    def poll(self) -> None:
        """Subscribe to joint states while the frames have a subscriber.

        A robot_state_publisher that comes later takes over.
        """
        now = time.monotonic()
        if self._moving is None or now - self._looked < LOOK:
            return
        self._looked = now
        alone = self._node.count_publishers(topics.TF) == 1
        wanted = alone and self._moving.get_subscription_count() > 0
        if wanted and self._states is None:
            self._states = self._node.create_subscription(JointState, topics.JOINT_STATES, self._tell, NEWEST)
        elif not wanted and self._states is not None:
            self._node.destroy_subscription(self._states)
            self._states = None

    def _tell(self, state: JointState) -> None:
        if self._moving is not None and (said := self._frames.moving(state)) is not None:
            self._moving.publish(said)
