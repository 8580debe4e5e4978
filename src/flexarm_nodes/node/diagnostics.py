"""Publishes the status of a node, or of a stage in it, on /diagnostics."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher

from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.node.topics import CONTROL, DIAGNOSTICS

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE
Shown = dict[str, str] | Callable[[], dict[str, str]]  # values of a status, or what finds them

REPEAT_AFTER = 0.5  # [s] between two messages of the same level, on the topic and for errors in the log
BURST, BURST_TIME = 8, 1.0  # number of changes published or logged at once, and time window [s] in which no more are
LASTING = 0.5  # [s] that a warning lasts, with shorter interruptions, before it is logged; and that its end lasts
AGAIN = 10.0  # [s] between two warnings in the log


class Diagnostics:
    """Publishes the node's status when it changes, and once a second; logs important changes.

    A status that alternates in every sample must not flood the topic. After BURST changes within BURST_TIME, the status
    waits for the one-second timer. A new error, or a status on which other nodes act, is published at once.

    The log is for people: an error stands there at once (BURST per BURST_TIME), a warning when it lasts, and no more
    than one every AGAIN seconds, with the number of changes that were left out. A limit that is met for a moment, or a
    controller that is activated a moment later, is nothing to be warned of.

    Any thread may report: a gate's watchdog does while the executor hangs.

    Attributes:
        doubt: what makes a status that is OK a warning, and is added to warnings, as long as it lasts; empty: nothing.
    """

    def __init__(self, node: Node, stage: str = "", beside: Diagnostics | None = None) -> None:
        """Create the publisher and the one-second timer.

        Args:
            node: the node.
            stage: stage in the node that the status is of, under the name that a node of its own would have; empty: the
                status is that of the node.
            beside: status that shares its publisher; None: create one.
        """
        self._node, self._lock = node, threading.RLock()
        self._logger = node.get_logger().get_child(stage) if stage else node.get_logger()
        self._name = f"{node.get_namespace()}/{stage or node.get_name()}".strip("/")  # all arms share the topic
        self._publisher: Publisher = (
            node.create_publisher(DiagnosticArray, DIAGNOSTICS, CONTROL) if beside is None else beside._publisher
        )
        self._level, self._message, self._stamp = OK, "started", 0
        self._said = self._logged = OK, "started"
        self._values: Shown = {}
        self.doubt = ""
        self._times = deque([-BURST_TIME] * BURST, maxlen=BURST)  # times of the last published changes [s]
        self._error_times = deque([-BURST_TIME] * BURST, maxlen=BURST)  # times of the last logged errors [s]
        self._changed_at = self._uneasy_at = self._warned_at = -AGAIN  # level; warning that lasts; warning in the log
        self._changes = 0  # changes of the level since the last warning in the log
        self._timer = node.create_timer(1.0, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def acknowledge(self, longest: float) -> None:
        """Wait until all subscribers have the newest status, at most this long [s]."""
        self._publisher.wait_for_all_acked(Duration(seconds=longest))

    def close(self) -> None:
        """End the repetition of the status."""
        self._node.destroy_timer(self._timer)

    def report(
        self, level: bytes, message: str, stamp: int, values: Shown | None = None, *, at_once: bool = False
    ) -> None:
        """Set the status at a stamp [ns]; ``at_once``: publish without delay, since other nodes act on this status.

        If a function is given instead of the values, it is called when they are published.
        """
        with self._lock:
            self._report(level, message, stamp, values, at_once=at_once)

    def _report(self, level: bytes, message: str, stamp: int, values: Shown | None, *, at_once: bool) -> None:
        if self.doubt and level in (OK, WARN):
            level, message = WARN, f"{message}; {self.doubt}"
        urgent = at_once or level == ERROR != self._level
        self._set(level, message, stamp)
        if values is not None:
            self._values = values
        if (level, message) == self._said and not urgent:
            return
        now = time.monotonic()
        changing = level == self._said[0] != OK and now - self._times[-1] < REPEAT_AFTER  # only its numbers change
        if not changing and now - self._times[0] >= BURST_TIME:
            self._say()
        elif urgent:
            self._log(now)
            self._publish()

    def announce(self, level: bytes, message: str, *, anew: bool = False) -> None:
        """Set the status, then publish and log it regardless of the rate limits; ``anew``: without earlier values."""
        with self._lock:
            self._set(level, message, 0)
            if anew:
                self._values = {}
            self._say(at_once=True)

    def _on_timer(self) -> None:
        with self._lock:
            self._say()

    def _set(self, level: bytes, message: str, stamp: int) -> None:
        if level != self._level:
            now = time.monotonic()
            if level == ERROR or (level == WARN and (self._level == ERROR or now - self._changed_at >= LASTING)):
                self._uneasy_at = now
            self._changed_at = now
            self._changes += 1
        self._level, self._message, self._stamp = level, message, stamp

    def _say(self, *, at_once: bool = False) -> None:
        before, self._said = self._said, (self._level, self._message)
        now = time.monotonic()
        if self._said != before:
            self._times.append(now)
        self._log(now, at_once=at_once)
        self._publish()

    def _log(self, now: float, *, at_once: bool = False) -> None:
        """Log the status if it is worth a line now."""
        status, (before, _) = (self._level, self._message), self._logged
        if status == self._logged:
            return
        log = self._logger
        if self._level == ERROR:
            changing = before == ERROR and now - self._error_times[-1] < REPEAT_AFTER
            if not at_once and (changing or now - self._error_times[0] < BURST_TIME):
                return
            self._error_times.append(now)
            log.error(self._message)
        elif self._level == WARN:
            lasts = now - self._uneasy_at >= LASTING and (before == ERROR or now - self._warned_at >= AGAIN)
            if not (lasts or at_once):
                return
            often = f" ({self._changes} changes of the status since the last warning)" if self._changes > BURST else ""
            log.warning(self._message + often)
            self._warned_at, self._changes = now, 0
        elif before == OK or (before == WARN and now - self._changed_at < LASTING and not at_once):
            return
        else:
            log.info(self._message)
        self._logged = status

    def _publish(self) -> None:
        values = self._values() if callable(self._values) else self._values
        status = DiagnosticStatus(
            level=self._level,
            name=self._name,
            message=self._message,
            hardware_id=self._node.get_namespace(),
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = nanoseconds_to_stamp(self._stamp)
        self._publisher.publish(array)
