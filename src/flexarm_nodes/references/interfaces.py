"""Topics twist_command, joint_velocity_command, joint_jog: velocities that the reference generator follows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_core.path.velocity_commands import JointVelocityMotion, TwistMotion
from flexarm_core.pipeline.reference_stage import ReferenceStage
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_nodes.node.input.command_age import check_age
from flexarm_nodes.node.interfaces import Interfaces

TIMEOUT = "command_timeout"


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
            stamp = self._when(message)
            motion.give(stamp, twist, in_tool=sent == tool)
            check_age(stamp, self._stage.answered, motion.config.command_timeout, TIMEOUT)
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
            stamp = self._when(message)
            motion.give(stamp, np.array([given[name] for name in names]))
            check_age(stamp, self._stage.answered, motion.config.command_timeout, TIMEOUT)
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
        by_way, duration = not len(message.velocities), message.duration
        values = np.array(message.displacements if by_way else message.velocities)
        if len(values) != len(given):
            raise InputError(f"it has {len(given)} joints and {len(values)} values: send one velocity for each joint")
        if not np.isfinite(duration) or duration < 0.0 or (by_way and duration == 0.0):
            raise InputError(f"its duration is {duration}; displacements need one > 0 s")
        place, velocity = [names.index(name) for name in given], np.zeros(len(names))
        if by_way:
            self._check_way(motion, names, place, values, duration)
        velocity[place] = values / duration if by_way else values
        stamp, newest = self._when(message), self._stage.answered
        late = (newest - stamp) * 1e-9 > motion.config.command_timeout
        # A way takes its duration from now on, however long the message has taken.
        motion.give(newest if by_way and not late else stamp, velocity, duration or np.inf, exactly=by_way)
        check_age(stamp, newest, motion.config.command_timeout, TIMEOUT)

    def _check_way(
        self, motion: JointVelocityMotion, names: Sequence[str], place: list[int], way: Array, duration: float
    ) -> None:
        """Raise InputError if displacements (k,) of joints would not be gone within their duration [s]."""
        longest, shortest = motion.config.command_timeout, motion.period
        if not shortest <= duration + 1e-9 <= longest + 2e-9:
            raise InputError(
                f"its duration is {duration:g} s; displacements take one from the time between joint states"
                f" ({shortest:g} s) to {TIMEOUT} ({longest:g} s): divide them, and send the next before it is over"
            )
        needed = np.abs(way) / duration
        if (needed > motion.limit[place] * (1.0 + 1e-9)).any():
            i = int((needed / motion.limit[place]).argmax())
            raise InputError(
                f"the displacement of '{names[place[i]]}' needs {needed[i]:.4g} rad/s or m/s, at most"
                f" {motion.limit[place[i]]:.4g} are allowed (velocity_scale of its limit): give it more time"
            )

    def _when(self, message: TwistStamped | JointState | JointJog) -> int:
        given, newest = stamp_to_nanoseconds(message.header.stamp), self._stage.answered
        return min(given, newest) if given else newest
