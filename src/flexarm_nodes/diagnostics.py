"""What a node says about itself on /diagnostics."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from flexarm_nodes.conversions import nanoseconds_to_stamp
from flexarm_nodes.topics import CONTROL, DIAGNOSTICS

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE

REPEAT_AFTER = 0.5  # [s] between two messages of the same level


class Diagnostics:
    """Publishes the node's status when it changes and once a second."""

    def __init__(self, node: Node) -> None:
        """Create the publisher and the one-second timer."""
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS, CONTROL)
        self._level, self._message, self._stamp = OK, "started", 0
        self._values: dict[str, str] = {}
        self._published = 0.0
        self._timer = node.create_timer(1.0, self._publish)

    def report(self, level: bytes, message: str, stamp: int, values: dict[str, str] | None = None) -> None:
        """Set the status at a stamp [ns]; publish and log it if level or message changed."""
        self._stamp = stamp
        if values is not None:
            self._values = values
        if (level, message) == (self._level, self._message):
            return
        now = time.monotonic()
        if level == self._level != OK and now - self._published < REPEAT_AFTER:
            return  # a message with a changing number must not flood the log
        self._published = now
        if level == ERROR:
            self._node.get_logger().error(message)
        elif level == WARN:
            self._node.get_logger().warning(message)
        elif level != self._level:
            self._node.get_logger().info(message)
        self._level, self._message = level, message
        self._publish()

    def _publish(self) -> None:
        status = DiagnosticStatus(
            level=self._level,
            name=self._node.get_name(),
            message=self._message,
            hardware_id=self._node.get_namespace(),
            values=[KeyValue(key=key, value=value) for key, value in self._values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = nanoseconds_to_stamp(self._stamp)
        self._publisher.publish(array)
