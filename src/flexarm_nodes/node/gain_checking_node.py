"""A node that checks its gains at the measured joint positions before activation, so that no sample is delayed."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState

from flexarm_core.errors import FlexarmError, InputError
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.diagnostics import ERROR


class GainCheckingNode(ArmNode):
    """Keeps the newest joint state that arrives while inactive; a subclass overrides :meth:`look_at_gains`."""

    def __init__(self, name: str) -> None:
        """Subscribe to joint states from the start."""
        super().__init__(name)
        self._before: bytes | None = None
        self.create_subscription(JointState, topics.JOINT_STATES, self._on_idle, topics.NEWEST, raw=True)

    def look_at_gains(self, message: JointState) -> None:
        """Check the gains at these joint positions; raise FlexarmError to reject them."""
        raise TypeError(f"{type(self).__name__} does not override look_at_gains()")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Check the gains before the first sample is processed."""
        raw, self._before = self._before, None
        try:
            if raw is not None:
                self.look_at_gains(message_reader(JointState)(raw))
        except InputError:
            pass  # an unusable joint state is reported when the node is active
        except FlexarmError as error:
            self.diagnostics.announce(ERROR, f"cannot activate: {error}")
            return TransitionCallbackReturn.FAILURE
        return super().on_activate(state)

    def _on_idle(self, raw: bytes) -> None:
        if not self.active:
            self._before = raw
