"""Topics twist_command, joint_velocity_command, joint_jog: velocities that the reference generator follows."""

from __future__ import annotations

import numpy as np
from control_msgs.msg import JointJog
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
        """Create the subscriptions."""
        hear, name = self.node.hear, self.name
        if isinstance(self._stage.motion, TwistMotion):
            self._topics = [hear(TwistStamped, name(topics.TWIST_COMMAND), self._on_twist)]
        else:
            self._topics = [
                hear(JointState, name(topics.JOINT_VELOCITY_COMMAND), self._on_velocities),
                hear(JointJog, name(topics.JOINT_JOG), self._on_jog),
            ]

    def close(self) -> None:
        """Destroy them."""
        for subscription in self._topics:
            self.node.destroy_subscription(subscription)

    def _on_twist(self, message: TwistStamped) -> None:
        motion, sent = self._stage.motion, message.header.frame_id
        assert isinstance(motion, TwistMotion)
        tool = self._stage.model.tool_frame
        if sent not in ("", motion.config.frame, tool):
            self.refuse(f"twist command is in frame '{sent}'; followed are '{motion.config.frame}' and '{tool}'")
            return
        linear, angular = message.twist.linear, message.twist.angular
        twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
        try:
            motion.give(self._when(message), twist, in_tool=sent == tool)
        except InputError as error:
            self.refuse(f"twist command: {error}")

    def _on_velocities(self, message: JointState) -> None:
        motion, names = self._stage.motion, self._stage.model.joint_names
        assert isinstance(motion, JointVelocityMotion)
        if sorted(message.name) != sorted(names) or len(message.velocity) != len(names):
            self.refuse(
                f"joint velocity command has {len(message.velocity)} velocities for"
                f" {', '.join(message.name) or 'no joint'}, not one for each of {', '.join(names)}"
            )
            return
        given = dict(zip(message.name, message.velocity, strict=True))
        try:
            motion.give(self._when(message), np.array([given[name] for name in names]))
        except InputError as error:
            self.refuse(f"joint velocity command: {error}")

    def _on_jog(self, message: JointJog) -> None:
        try:
            self._jog(message)
        except InputError as error:
            self.refuse(f"joint jog: {error}")

    def _jog(self, message: JointJog) -> None:
        """Follow the velocities of a jog, or its displacements within its duration; joints without either rest."""
        motion, names, given = self._stage.motion, self._stage.model.joint_names, list(message.joint_names)
        assert isinstance(motion, JointVelocityMotion)
        if not given or not set(given) <= set(names) or len(set(given)) < len(given):
            raise InputError(f"it is for {', '.join(given) or 'no joint'}, expected some of {', '.join(names)}, once")
        by_way = not len(message.velocities)
        values = np.array(message.displacements if by_way else message.velocities)
        if len(values) != len(given):
            raise InputError(f"it has {len(given)} joints and {len(values)} values")
        if not np.isfinite(message.duration) or message.duration < 0.0 or (by_way and message.duration == 0.0):
            raise InputError(f"its duration is {message.duration}; displacements need one > 0 s")
        velocity = np.zeros(len(names))
        velocity[[names.index(name) for name in given]] = values / message.duration if by_way else values
        motion.give(self._when(message), velocity, message.duration or np.inf)

    def _when(self, message: TwistStamped | JointState | JointJog) -> int:
        given, newest = stamp_to_nanoseconds(message.header.stamp), self._stage.answered
        return min(given, newest) if given else newest
