"""Topics twist_command and joint_velocity_command: velocities that the reference generator follows as they come."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_core.path.velocity_commands import JointVelocityMotion, TwistMotion
from flexarm_core.pipeline.reference_stage import ReferenceStage
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_nodes.node.interfaces import Interfaces


class VelocityInterfaces(Interfaces):
    """Takes velocities for a stage.

    A stamp of 0 stands for the stamp of the newest sample. A later stamp is limited to it, so that a sender's clock
    that is ahead does not delay the timeout of a stream that has ended.
    """

    def __init__(self, stage: ReferenceStage) -> None:
        """Take velocities for this stage."""
        self._stage = stage

    def open(self) -> None:
        """Create the subscription."""
        if isinstance(self._stage.motion, TwistMotion):
            self._topic = self.node.hear(TwistStamped, self.name(topics.TWIST_COMMAND), self._on_twist)
        else:
            self._topic = self.node.hear(JointState, self.name(topics.JOINT_VELOCITY_COMMAND), self._on_velocities)

    def close(self) -> None:
        """Destroy it."""
        self.node.destroy_subscription(self._topic)

    def _on_twist(self, message: TwistStamped) -> None:
        motion, sent = self._stage.motion, message.header.frame_id
        assert isinstance(motion, TwistMotion)
        if sent not in ("", motion.config.frame):
            self.refuse(f"twist command is in frame '{sent}'; followed is '{motion.config.frame}'")
            return
        linear, angular = message.twist.linear, message.twist.angular
        twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
        try:
            motion.give(self._when(message), twist)
        except InputError as error:
            self.refuse(f"twist command: {error}")

    def _on_velocities(self, message: JointState) -> None:
        motion, names = self._stage.motion, self._stage.model.joint_names
        assert isinstance(motion, JointVelocityMotion)
        given = dict(zip(message.name, message.velocity, strict=False))
        if set(given) != set(names):
            self.refuse(f"joint velocity command is for {', '.join(given) or 'no joint'}, not for {', '.join(names)}")
            return
        try:
            motion.give(self._when(message), np.array([given[name] for name in names]))
        except InputError as error:
            self.refuse(f"joint velocity command: {error}")

    def _when(self, message: TwistStamped | JointState) -> int:
        given, newest = stamp_to_nanoseconds(message.header.stamp), self._stage.answered
        return min(given, newest) if given else newest
