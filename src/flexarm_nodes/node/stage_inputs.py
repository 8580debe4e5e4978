"""StageInputs: holds a joint state until the other readings of its stamp have arrived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType

from flexarm.msg import JointReference
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import FlexibleSample
from flexarm_nodes.messages.conversions import joint_reference_from_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.readings import Readings


class StageInputs:
    """Completes joint states.

    A joint state is processed when every sensor has delivered its reading of the same stamp, when the next joint state
    arrives, or after the longest wait, whichever is first: the order of messages on different topics is not guaranteed.

    Attributes:
        readings: newest readings.
    """

    def __init__(self, node: ArmNode, process: Callable[[FlexibleSample], None], refuse: Callable[[str], None]) -> None:
        """Call ``process`` with each complete sample, and ``refuse`` with the reason why a reading was rejected."""
        self._node, self._process, self._refuse = node, process, refuse
        self._subscriptions: list[Any] = []
        self._timer: Any = None
        self._pending: FlexibleSample | None = None
        self._overdue = False  # it has waited for the longest time

    def open(
        self,
        readings: Readings,
        model: ArmModel,
        wait: float,
        *,
        before: bool = False,
        lacks: Callable[[bool], bool] = lambda overdue: False,
    ) -> None:
        """Subscribe to the sensors of these readings.

        Args:
            readings: keeps the readings.
            model: arm model.
            wait: longest wait for readings [s]; 0: none.
            before: whether to subscribe to the joint references that answer the samples, too.
            lacks: returns whether the waiting joint state has to wait on, whatever has come and, with the argument
                True, although it has waited for the longest time.
        """
        node, self.readings, self._pending, self._wait = self._node, readings, None, wait
        self._lacks = lacks
        for subscription in self._subscriptions:
            node.destroy_subscription(subscription)
        self._subscriptions = [
            node.hear(kind, topic, self._on_reading(kind, sensor), raw=True)
            for topic, kind, sensor in readings.subscriptions()
        ]
        if before:

            def on_reference(message: Any) -> None:
                readings.take_reference(joint_reference_from_message(message, model.joint_names))
                self._flush_if_complete()

            self._subscriptions.append(node.hear(JointReference, topics.JOINT_REFERENCE, on_reference))
        if self._timer is not None:
            node.destroy_timer(self._timer)
        waited = node.guarded(lambda _: self._on_waited())
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(wait or 1.0, lambda: waited(None), clock=steady)
        self._timer.cancel()

    @property
    def stamp(self) -> int | None:
        """Stamp of the waiting joint state [ns]."""
        return None if self._pending is None else self._pending.stamp

    def reset(self) -> None:
        """Discard what waits and every reading."""
        self.drop()
        self.readings.reset()

    def drop(self) -> None:
        """Discard the waiting joint state."""
        self._pending = None
        self._timer.cancel()

    def put(self, joints: FlexibleSample) -> None:
        """Let a joint state wait for the readings of its stamp."""
        self._pending, self._overdue = joints, False
        if (self._wait <= 0.0 or self.readings.complete(joints.stamp)) and not self._lacks(False):
            self.flush()
        else:
            self._timer.reset()

    def came(self, name: str, stamp: int) -> None:
        """Take note that something that ``Readings.awaits`` names has arrived with this stamp [ns]."""
        self.readings.came(name, stamp)
        self._flush_if_complete()

    def flush(self) -> None:
        """Process the waiting joint state, if there is one, with the readings that arrived for its stamp."""
        joints, self._pending = self._pending, None
        self._timer.cancel()
        if joints is not None:
            self._process(self.readings.sample(joints))

    def _on_reading(self, kind: Any, sensor: tuple[str, str]) -> Callable[[bytes], None]:
        """Return the callback of a sensor; a rejected reading is no longer waited for."""
        read = self._node.reader(kind)

        def on_reading(raw: bytes) -> None:
            try:
                self.readings.take_raw(sensor, raw, read)
            except InputError as error:
                self._refuse(str(error))
            self._flush_if_complete()

        return on_reading

    def _on_waited(self) -> None:
        self._timer.cancel()
        self._overdue = True
        if not self._lacks(True):
            self.flush()

    def _flush_if_complete(self) -> None:
        if self._pending is None:
            return
        if (self._overdue or self.readings.complete(self._pending.stamp)) and not self._lacks(self._overdue):
            self.flush()
