"""Publishes the status of a node on /diagnostics."""

from __future__ import annotations

import time
from collections import deque

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.node.topics import CONTROL, DIAGNOSTICS

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE

REPEAT_AFTER = 0.5  # [s] between two log lines of the same level
BURST, BURST_TIME = 8, 1.0  # number of changes logged at once, and time window [s] in which no more are logged


class Diagnostics:
    """Publishes the node's status when it changes, and once a second.

    A status that alternates in every sample must not flood the log, since writing a log line takes longer than a
    sampling period. After BURST changes within BURST_TIME, the status waits for the one-second timer. A new error, or a
    status on which other nodes act, is published at once; only its log line may be delayed.
    """

    def __init__(self, node: Node) -> None:
        """Create the publisher and the one-second timer."""
        self._node = node
        self._name = f"{node.get_namespace()}/{node.get_name()}".strip("/")  # all arms of a graph share the topic
        self._publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS, CONTROL)
        self._level, self._message, self._stamp = OK, "started", 0
        self._said = OK, "started"
        self._values: dict[str, str] = {}
        self._times = deque([-BURST_TIME] * BURST, maxlen=BURST)  # times of the last log lines [s]
        self._timer = node.create_timer(1.0, self._say, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def report(
        self, level: bytes, message: str, stamp: int, values: dict[str, str] | None = None, *, at_once: bool = False
    ) -> None:
        """Set the status at a stamp [ns]; ``at_once``: publish without delay, since other nodes act on this status."""
        urgent = at_once or level == ERROR != self._level
        self._level, self._message, self._stamp = level, message, stamp
        if values is not None:
            self._values = values
        if (level, message) == self._said and not urgent:
            return
        now = time.monotonic()
        changing = level == self._said[0] != OK and now - self._times[-1] < REPEAT_AFTER  # only its numbers change
        if not changing and now - self._times[0] >= BURST_TIME:
            self._say()
        elif urgent:
            self._publish()

    def announce(self, level: bytes, message: str) -> None:
        """Set the status, then publish and log it regardless of the rate limit."""
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
            name=self._name,
            message=self._message,
            hardware_id=self._node.get_namespace(),
            values=[KeyValue(key=key, value=value) for key, value in self._values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = nanoseconds_to_stamp(self._stamp)
        self._publisher.publish(array)
