"""A node that looks at its gains where the arm is before it becomes active: what takes long delays no sample."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState

from flexarm_core.errors import FlexarmError, InputError
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.diagnostics import ERROR


class GainCheckingNode(ArmNode):
    """Keeps the newest joint state that comes while it is not active; a child overrides :meth:`look_at_gains`."""

    def __init__(self, name: str) -> None:
        """Listen to joint states from the beginning."""
        super().__init__(name)
        self._before: bytes | None = None
        self.create_subscription(JointState, topics.JOINT_STATES, self._on_idle, topics.NEWEST, raw=True)

    def look_at_gains(self, message: JointState) -> None:
        """Look at the gains where the arm is; raise FlexarmError to refuse them."""
        raise TypeError(f"{type(self).__name__} does not override look_at_gains()")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Look at the gains, before the first sample is to be answered."""
        raw, self._before = self._before, None
        try:
            if raw is not None:
                self.look_at_gains(message_reader(JointState)(raw))
        except InputError:
            pass  # a joint state that cannot be used is reported when it comes to an active node
        except FlexarmError as error:
            self.diagnostics.announce(ERROR, f"cannot activate: {error}")
            return TransitionCallbackReturn.FAILURE
        return super().on_activate(state)

    def _on_idle(self, raw: bytes) -> None:
        if not self.active:
            self._before = raw
