"""Recorder: subscribes to the topics of a running graph and creates a Recording.

Samples are stored in serialized form and deserialized after the run, because the recorder must not slow down the graph.
Lost samples are counted by the sequence numbers of the publishers and by missing ticks.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
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
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.messages.cdr import message_reader, stamp_of
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.messages.foreign_joints import ForeignJoints
from flexarm_nodes.node import topics
from flexarm_tools.graph.quiet_node import listening_node
from flexarm_tools.graph.tapped_topic import TappedTopic
from flexarm_tools.recording.message_blocks import MessageBlocks
from flexarm_tools.recording.message_rows import Columns, MessageRows
from flexarm_tools.recording.recording import Recording, RunEvent

# not published by a plant without modes, surfaces or joint friction, respectively
SOMETIMES_TRUE = (topics.TRUE_FLEXIBLE_STATE, topics.TRUE_CONTACT_WRENCH, topics.TRUE_JOINT_FRICTION)
LEVELS = {DiagnosticStatus.OK: "info", DiagnosticStatus.WARN: "warn"}
reader_of = cache(message_reader)
BEHIND = 250  # ticks by which a topic may be behind; it has ended if it is more


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of a run that are known to the runner and not published on topics."""

    ticks: int  # number of completed control periods
    period: float  # control period [s]
    natural_period: float  # natural period of the base [s], NaN if there is no elastic joint
    events: tuple[RunEvent, ...]  # actions of the runner
    node_deaths: tuple[str, ...]  # nodes that ended without being asked to
    ended_early: str = ""  # reason why the run did not reach its end; empty if it did


class Recorder:
    """Subscribes to all topics that a Recording needs.

    Attributes:
        status: latest status of the simulation, None before the first.
        last_tick: last tick of the run; diagnostics after it are not recorded.
    """

    last_tick: float = math.inf

    def __init__(self, node: Node, model: ArmModel, real_time: bool, only_times: bool = False) -> None:
        """Subscribe to the topics; their publishers need not exist yet.

        Args:
            node: the subscriptions belong to a separate node in the context of this node; the separate node is not
                spun.
            model: model of the simulated robot.
            real_time: whether to record the time from a joint state to its command.
            only_times: record only these times and the diagnostics: subscribing to other topics loads their publishers.
        """
        self._model, self._is_foreign = model, ForeignJoints((*model.joint_names, *model.elastic_joint_names))
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
        self._seen: dict[str, dict[int, int]] = {}  # topic -> stamp -> first arrival [ns]
        if real_time:
            self._seen = {topics.JOINT_STATES: {}, topics.COMMANDED_REFERENCE: {}}
        kept = {} if only_times else self._types
        reported = {topics.SIMULATION_STATUS: SimulationStatus, topics.DIAGNOSTICS: DiagnosticArray}
        timed = {topics.JOINT_STATES: JointState, topics.COMMANDED_REFERENCE: JointReference} if real_time else {}
        # diagnostics last: a node heard there has already discovered the subscriptions that were created before it
        self._node = listening_node(f"{node.get_name()}_ear", node.context)
        self._taps = {topic: TappedTopic(self._node, kind, topic) for topic, kind in (kept | timed | reported).items()}
        for tap in self._taps.values():
            tap.listen()
        self._taken = 0.0
        self.status: SimulationStatus | None = None
        self._over_at = math.inf  # arrival of the status of the last tick [ns since 1970]
        self._events: list[RunEvent] = []
        self._statuses: dict[str, tuple[bytes, str]] = {}
        self._counts = {"stops": 0, "trips": 0}

    def close(self) -> None:
        """End all subscriptions."""
        self._node.destroy_node()

    def knows(self, nodes: Iterable[str]) -> bool:
        """Return whether all publishers of recorded topics are matched, and these nodes have published diagnostics."""
        self.take()
        return all(tap.hears_all for tap in self._taps.values()) and set(nodes) <= set(self._statuses)

    def take(self, period: float = 0.0) -> int:
        """Take new messages, unless that was done less than ``period`` [s] ago; return the number of samples so far."""
        now = time.monotonic()
        if now - self._taken >= period:
            self._taken = now
            for topic, tap in self._taps.items():
                for message in tap.take(time.time_ns()):
                    with contextlib.suppress(InputError):  # damaged: not there
                        self._keep(topic, message.data, message.arrived)
        return sum(len(samples) for samples in self._raw.values())

    def complete(self, ticks: int) -> bool:
        """Return whether the ground truth of every tick has arrived."""
        awaited = [] if self._only_times else [topics.TRUE_JOINT_STATES, topics.TRUE_TOOL_POSE_IN_BASE]
        awaited += [topic for topic in SOMETIMES_TRUE if self._raw[topic]]
        return all(len(self._raw[topic]) >= ticks for topic in awaited)

    def ticks_behind(self, others: Iterable[TappedTopic] = ()) -> int:
        """Return the most ticks by which this topic, or one of the others, is behind the last tick; 0: none is.

        Counted are topics whose newest two messages are of two ticks in a row, the newest of the last BEHIND ticks.
        """
        ticks = [stamp_of(state) for state in self._raw[topics.TRUE_JOINT_STATES][-BEHIND:]]
        left: dict[tuple[int, ...], int] = {pair: len(ticks) - 2 - k for k, pair in enumerate(pairwise(ticks))}
        behind = []
        for tap in (*self._taps.values(), *others):
            with contextlib.suppress(InputError):  # without a stamp
                behind.append(left.get(tuple(stamp_of(message.data) for message in tap.newest), 0))
        return min(filter(None, behind), default=0)

    def finish(self, outcome: Outcome) -> Recording:
        """Deserialize the samples and return the recording."""
        self.take()
        ticks, period = outcome.ticks, round(outcome.period * 1e9)
        known = self._rows.columns(ticks)
        lost = np.zeros(ticks, dtype=bool)
        always = [topics.TRUE_JOINT_STATES, topics.TRUE_TOOL_POSE, topics.TRUE_TOOL_POSE_IN_BASE]
        truth = [] if self._only_times else always
        truth += [topic for topic in SOMETIMES_TRUE if self._raw[topic]]
        for topic in truth:
            lost |= ~self._fill(known, topic, ticks, period)
        events, total = [*self._events, *outcome.events], int(lost.sum())
        for topic in (*self._rows.fills, *self._rows.texts):
            if self._raw[topic] and topic not in truth:  # topic of a node, which need not publish in every tick
                absent, words = self._account(topic, self._fill(known, topic, ticks, period))
                total += absent
                if words:
                    level = "warn" if absent or topic == topics.JOINT_REFERENCE else "info"  # others may skip ticks
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
            if arrived <= self._over_at:  # after the last tick no more states are published, and the gate stops
                self._on_diagnostics(reader_of(DiagnosticArray)(raw))
        elif topic == topics.SIMULATION_STATUS:
            self.status = reader_of(SimulationStatus)(raw)
            if self.status.tick >= self.last_tick:
                self._over_at = min(self._over_at, arrived)
        else:
            if topic in self._types and not self._only_times:
                self._raw[topic].append(raw)
            if topic in self._seen and not (topic == topics.JOINT_STATES and self._is_foreign(raw)):
                self._seen[topic].setdefault(stamp_of(raw), arrived)

    def _account(self, topic: str, came: NDArray[np.bool_]) -> tuple[int, str]:
        """Return the number of lost messages of a topic, and a text on lost messages and on ticks without a message."""
        absent, rows = self._taps[topic].lost + self._taps[topic].missed, np.flatnonzero(came)
        span = int(rows[-1] - rows[0]) + 1 if len(rows) else 0
        without = span - len(rows)
        words = f"topic {topic}: {without} of {span} ticks have no message; messages that were sent and lost: {absent}"
        return absent, words if absent or without else ""

    def _latencies(self, ticks: int, period: int) -> NDArray[np.float64]:
        """Return the wall time [s] from the arrival of a joint state to the arrival of the first command for it.

        Both messages took one hop to this process; on a busy machine a command may even be read before its state, so
        that single values include the jitter of this process. Medians and percentiles are not affected much.
        """
        latency = np.full(ticks, np.nan)
        if self._seen:
            began = self._seen[topics.JOINT_STATES]
            for stamp, seen in self._seen[topics.COMMANDED_REFERENCE].items():
                if stamp in began and 0 <= stamp // period < ticks:
                    latency[stamp // period] = (seen - began[stamp]) * 1e-9
        return latency

    def _fill(self, known: Columns, topic: str, ticks: int, period: int) -> NDArray[np.bool_]:
        """Write every message of a topic into its row; return which rows have a message."""
        came, kind = np.zeros(ticks, dtype=bool), self._types[topic]
        text = self._rows.texts.get(topic)
        blocks = MessageBlocks(kind, lambda block: self._rows.fills[topic](known, block))
        for raw in self._raw[topic]:
            with contextlib.suppress(InputError):  # damaged: counted as lost
                row = stamp_of(raw) // period
                if not 0 <= row < ticks:
                    continue
                if text is not None:
                    text(known, row, reader_of(kind)(raw))
                else:
                    blocks.add(row, raw)
                came[row] = True
        blocks.end()
        return came

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = stamp_to_nanoseconds(message.header.stamp) * 1e-9
        for status in message.status:
            for value in status.values:
                if value.key in self._counts:
                    with contextlib.suppress(ValueError):  # another node may use the same key for other values
                        self._counts[value.key] = max(self._counts[value.key], int(value.value))
            newest = (status.level, status.message)
            if self._statuses.get(status.name) != newest:
                self._statuses[status.name] = newest
                level = LEVELS.get(status.level, "error")
                self._events.append(RunEvent(now, status.name, level, status.message))

    def errors(self) -> Iterable[RunEvent]:
        """Return the errors that nodes reported."""
        return (event for event in self._events if event.level == "error")
