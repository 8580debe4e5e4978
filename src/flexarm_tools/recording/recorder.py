"""Recorder: listens to a running graph and makes a Recording of it.

Samples are kept as they come, serialised, and read after the run: the recorder must not slow the graph it watches.
What was sent and did not come is counted, by the numbers that publishers give their messages and by the ticks.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from flexarm.msg import (
    BaseReaction,
    BaseWrenchEstimate,
    BehaviorStatus,
    CartesianReference,
    FlexibleState,
    JointReference,
    RedundancyState,
    SimulationStatus,
    StrainState,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.messages.cdr import stamp_of
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_tools.graph.quiet_node import listening_node
from flexarm_tools.graph.tapped_topic import TappedTopic
from flexarm_tools.recording.message_rows import MessageRows
from flexarm_tools.recording.recording import Recording, RunEvent

# of this a plant is silent that knows no modes, has no surfaces or no joint friction
SOMETIMES_TRUE = (topics.TRUE_FLEXIBLE_STATE, topics.TRUE_CONTACT_WRENCH, topics.TRUE_JOINT_FRICTION)
LEVELS = {DiagnosticStatus.OK: "info", DiagnosticStatus.WARN: "warn"}
TAKE_PERIOD = 0.01  # [s] wall time between two looks at what has come


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the runner knows of a run and the topics do not tell.

    Attributes:
        ticks: number of control periods that were run.
        period: of one [s].
        natural_period: of the base [s], NaN where nothing is elastic.
        events: what the runner did.
        node_deaths: nodes that ended without being asked to.
        ended_early: why the run did not come to its end, empty where it did.
    """

    ticks: int
    period: float
    natural_period: float
    events: tuple[RunEvent, ...]
    node_deaths: tuple[str, ...]
    ended_early: str = ""


class Recorder:
    """Subscribes to everything a Recording needs.

    Attributes:
        status: of the simulation, the newest, None before.
        last_tick: what nodes say after it is not recorded.
    """

    last_tick: float = math.inf

    def __init__(self, node: Node, model: ArmModel, real_time: bool, only_times: bool = False) -> None:
        """Subscribe; the graph need not be there yet.

        Args:
            node: beside which a node of its own gets the subscriptions, which nobody spins.
            model: of the robot that moves.
            real_time: whether the time from a joint state to its command is worth recording.
            only_times: nothing else is, but for what nodes report: listening costs whoever speaks.
        """
        self._model = model
        self._raw: dict[str, list[bytes]] = defaultdict(list)
        sensors = list(model.description.force_torque_sensors)
        self._wrench = topics.wrench_topic(sensors[0]) if sensors else ""
        self._types: dict[str, Any] = {
            topics.TRUE_JOINT_STATES: JointState,
            topics.TRUE_TOOL_POSE: PoseStamped,
            topics.TRUE_TOOL_POSE_IN_BASE: PoseStamped,
            topics.TRUE_CONTACT_WRENCH: WrenchStamped,
            topics.TRUE_JOINT_FRICTION: JointState,
            topics.CARTESIAN_REFERENCE: CartesianReference,
            topics.SET_POINT: CartesianReference,
            topics.BASE_REACTION: BaseReaction,
            topics.DESIRED_JOINT_REFERENCE: JointReference,
            topics.JOINT_REFERENCE: JointReference,
            topics.REDUNDANCY_STATE: RedundancyState,
            topics.BEHAVIOR_STATUS: BehaviorStatus,
        }
        if self._wrench:
            self._types |= {self._wrench: WrenchStamped, topics.BASE_WRENCH_ESTIMATE: BaseWrenchEstimate}
        self._rows = MessageRows(model, self._wrench)
        self._only_times = only_times
        if self._rows.modes:
            self._types[topics.TRUE_FLEXIBLE_STATE] = FlexibleState
        if self._rows.modes or model.m:
            self._types[topics.FLEXIBLE_STATE] = FlexibleState
        if model.description.strain_gauges:
            self._types[topics.STRAIN] = StrainState
        self._seen: dict[str, dict[int, int]] = {}  # topic: stamp: when it arrived first [ns]
        if real_time:
            self._seen = {topics.JOINT_STATES: {}, topics.COMMANDED_REFERENCE: {}}
        kept = {} if only_times else self._types
        told = {topics.SIMULATION_STATUS: SimulationStatus, topics.DIAGNOSTICS: DiagnosticArray}
        timed = {topics.JOINT_STATES: JointState, topics.COMMANDED_REFERENCE: JointReference} if real_time else {}
        # diagnostics last: a node that is heard there knows of every other subscription, which were said before it
        self._node = listening_node(f"{node.get_name()}_ear", node.context)
        self._taps = {topic: TappedTopic(self._node, kind, topic) for topic, kind in (kept | timed | told).items()}
        for tap in self._taps.values():
            tap.listen()
        self._taken = 0.0
        self.status: SimulationStatus | None = None
        self._over_at = math.inf  # arrival of the last tick [ns since 1970]
        self._events: list[RunEvent] = []
        self._said: dict[str, tuple[bytes, str]] = {}
        self._counts = {"stops": 0, "trips": 0}

    def close(self) -> None:
        """Listen no more."""
        self._node.destroy_node()

    def knows(self, nodes: Iterable[str]) -> bool:
        """Whether everybody who speaks on a recorded topic is heard, and these nodes are known to be."""
        self.take()
        return all(tap.hears_all for tap in self._taps.values()) and set(nodes) <= set(self._said)

    def take(self, period: float = 0.0) -> int:
        """Take what has come, unless that was done less than a period [s] ago; return the number of samples so far."""
        now = time.monotonic()
        if now - self._taken >= period:
            self._taken = now
            for topic, tap in self._taps.items():
                for message in tap.take(time.time_ns()):
                    self._keep(topic, message.data, message.arrived)
        return sum(len(samples) for samples in self._raw.values())

    def complete(self, ticks: int) -> bool:
        """Whether every tick's ground truth has arrived."""
        awaited = [] if self._only_times else [topics.TRUE_JOINT_STATES, topics.TRUE_TOOL_POSE_IN_BASE]
        awaited += [topic for topic in SOMETIMES_TRUE if self._raw[topic]]
        return all(len(self._raw[topic]) >= ticks for topic in awaited)

    def finish(self, outcome: Outcome) -> Recording:
        """Read what was recorded."""
        self.take()
        ticks, period = outcome.ticks, round(outcome.period * 1e9)
        known: dict[str, Any] = {}
        lost = np.zeros(ticks, dtype=bool)
        always = [topics.TRUE_JOINT_STATES, topics.TRUE_TOOL_POSE, topics.TRUE_TOOL_POSE_IN_BASE]
        truth = [] if self._only_times else always
        truth += [topic for topic in SOMETIMES_TRUE if self._raw[topic]]
        for topic in truth:
            lost |= ~self._fill(known, topic, ticks, period)
        events, total = [*self._events, *outcome.events], int(lost.sum())
        for topic in self._rows.fills:
            if self._raw[topic] and topic not in truth:  # of a node, which need not send one in every tick
                absent, words = self._account(topic, self._fill(known, topic, ticks, period))
                total += absent
                if words:
                    level = "warn" if absent or topic == topics.JOINT_REFERENCE else "info"  # others need not be dense
                    events.append(RunEvent(ticks * outcome.period, "recorder", level, words))
        description = self._model.description
        return Recording.blank(
            description,
            np.arange(ticks, dtype=float) * outcome.period,
            outcome.natural_period,
            tick_latency=self._latencies(ticks, period),
            events=tuple(sorted(events, key=lambda event: event.time)),
            watchdog_stops=self._counts["stops"],
            trips=self._counts["trips"],
            lockstep_timeouts=self.status.lockstep_timeouts if self.status else 0,
            lost_samples=total,
            node_deaths=outcome.node_deaths,
            ended_early=outcome.ended_early,
            **known,
        )

    def _keep(self, topic: str, raw: bytes, arrived: int) -> None:
        if topic == topics.DIAGNOSTICS:
            if arrived <= self._over_at:  # after the last tick the gate stops, since no state comes any more
                self._on_diagnostics(deserialize_message(raw, DiagnosticArray))
        elif topic == topics.SIMULATION_STATUS:
            self.status = deserialize_message(raw, SimulationStatus)
            if self.status.tick >= self.last_tick:
                self._over_at = min(self._over_at, arrived)
        else:
            if topic in self._types and not self._only_times:
                self._raw[topic].append(raw)
            if topic in self._seen:
                self._seen[topic].setdefault(stamp_of(raw), arrived)

    def _account(self, topic: str, came: NDArray[np.bool_]) -> tuple[int, str]:
        """How many messages of a topic were sent and did not come; and in words, how many ticks have none, and why."""
        absent, rows = self._taps[topic].lost + self._taps[topic].missed, np.flatnonzero(came)
        span = int(rows[-1] - rows[0]) + 1 if len(rows) else 0
        without = span - len(rows)
        words = f"topic {topic}: {without} of {span} ticks have no message; messages that were sent and lost: {absent}"
        return absent, words if absent or without else ""

    def _latencies(self, ticks: int, period: int) -> NDArray[np.float64]:
        """Wall time [s] from seeing a joint state to seeing the first command for it.

        Both took one hop to get here; on a crowded machine a command may even be read before its state, so that single
        values carry the jitter of this process. Medians and percentiles do not.
        """
        latency = np.full(ticks, np.nan)
        if self._seen:
            began = self._seen[topics.JOINT_STATES]
            for stamp, seen in self._seen[topics.COMMANDED_REFERENCE].items():
                if stamp in began and 0 <= stamp // period < ticks:
                    latency[stamp // period] = (seen - began[stamp]) * 1e-9
        return latency

    def _fill(self, known: dict[str, Any], topic: str, ticks: int, period: int) -> NDArray[np.bool_]:
        """Read every message of a topic into its row; return which rows came."""
        came, fill = np.zeros(ticks, dtype=bool), self._rows.fills[topic]
        known |= self._rows.blank(topic, ticks)
        for raw in self._raw[topic]:
            message = deserialize_message(raw, self._types[topic])
            row = stamp_to_nanoseconds(message.header.stamp) // period
            if 0 <= row < ticks:
                came[row] = True
                fill(known, row, message)
        return came

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = stamp_to_nanoseconds(message.header.stamp) * 1e-9
        for status in message.status:
            for value in status.values:
                if value.key in self._counts:
                    with contextlib.suppress(ValueError):  # whoever else says a word of that name
                        self._counts[value.key] = max(self._counts[value.key], int(value.value))
            said = (status.level, status.message)
            if self._said.get(status.name) != said:
                self._said[status.name] = said
                level = LEVELS.get(status.level, "error")
                self._events.append(RunEvent(now, status.name, level, status.message))

    def errors(self) -> Iterable[RunEvent]:
        """Errors that nodes reported."""
        return (event for event in self._events if event.level == "error")
