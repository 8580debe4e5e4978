"""What a node says about itself on /diagnostics."""

from __future__ import annotations

import time
from collections import deque

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.node.topics import CONTROL, DIAGNOSTICS

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE

REPEAT_AFTER = 0.5  # [s] between two messages of the same level
BURST, BURST_TIME = 8, 1.0  # changes that are said at once, and [s] in which no more are


class Diagnostics:
    """Publishes the node's status when it changes, and once a second.

    What changes to and fro in every sample must not flood the log, since to write a line takes longer than a sample
    does: beyond a few changes the status waits for the second to pass. A failure, and what others act on, does not
    wait: it is published at once, and its line in the log may follow.
    """

    def __init__(self, node: Node) -> None:
        """Create the publisher and the one-second timer."""
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS, CONTROL)
        self._level, self._message, self._stamp = OK, "started", 0
        self._said = OK, "started"
        self._values: dict[str, str] = {}
        self._times = deque([-BURST_TIME] * BURST, maxlen=BURST)  # at which it was said
        self._timer = node.create_timer(1.0, self._say, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def report(
        self, level: bytes, message: str, stamp: int, values: dict[str, str] | None = None, *, at_once: bool = False
    ) -> None:
        """Set the status at a stamp [ns], which is said as the class has it; ``at_once``: others act on it."""
        urgent = at_once or level == ERROR != self._level
        self._level, self._message, self._stamp = level, message, stamp
        if values is not None:
            self._values = values
        if (level, message) == self._said and not urgent:
            return
        now = time.monotonic()
        changing = level == self._said[0] != OK and now - self._times[-1] < REPEAT_AFTER  # its numbers are
        if not changing and now - self._times[0] >= BURST_TIME:
            self._say()
        elif urgent:
            self._publish()

    def announce(self, level: bytes, message: str) -> None:
        """Set the status, publish and log it whatever was said just before."""
        self._level, self._message, self._stamp = level, message, 0
        self._say()

    def _say(self) -> None:
        before, self._said = self._said, (self._level, self._message)
        if self._said != before:
            self._times.append(time.monotonic())
            log = self._node.get_logger()
            if self._level == ERROR:
                log.error(self._message)
            elif self._level == WARN:
                log.warning(self._message)
            elif self._level != before[0]:
                log.info(self._message)
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
