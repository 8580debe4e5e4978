"""Recorder: listens to a running graph and makes a Recording of it.

Samples are kept as they come, serialised, and read after the run: the recorder must not slow the graph it watches.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
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
    CartesianReference,
    FlexibleState,
    JointReference,
    RedundancyState,
    SimulationStatus,
    StrainState,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes import topics
from flexarm_nodes.conversions import stamp_to_nanoseconds
from flexarm_tools.recording import Recording, RunEvent, mode_names

LEVELS = {DiagnosticStatus.OK: "info", DiagnosticStatus.WARN: "warn"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the runner knows of a run and the topics do not tell.

    Attributes:
        ticks: number of control periods that were run.
        period: of one [s].
        natural_period: of the base [s], NaN where nothing is elastic.
        events: what the runner did.
        node_deaths: nodes that ended without being asked to.
    """

    ticks: int
    period: float
    natural_period: float
    events: tuple[RunEvent, ...]
    node_deaths: tuple[str, ...]


class Recorder:
    """Subscribes to everything a Recording needs."""

    def __init__(self, node: Node, model: ArmModel, real_time: bool) -> None:
        """Subscribe; the graph need not be there yet.

        Args:
            node: gets the subscriptions.
            model: of the robot that moves.
            real_time: whether the time from a joint state to its command is worth recording.
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
            topics.CARTESIAN_REFERENCE: CartesianReference,
            topics.PATH_REFERENCE: CartesianReference,
            topics.BASE_REACTION: BaseReaction,
            topics.DESIRED_JOINT_REFERENCE: JointReference,
            topics.JOINT_REFERENCE: JointReference,
            topics.REDUNDANCY_STATE: RedundancyState,
        }
        if self._wrench:
            self._types[self._wrench] = WrenchStamped
        self._modes = mode_names(model.description)
        if self._modes:
            self._types |= {topics.TRUE_FLEXIBLE_STATE: FlexibleState, topics.FLEXIBLE_STATE: FlexibleState}
        if model.description.strain_gauges:
            self._types[topics.STRAIN] = StrainState
        for topic, message_type in self._types.items():
            node.create_subscription(message_type, topic, self._raw[topic].append, topics.EVERY_SAMPLE, raw=True)
        node.create_subscription(SimulationStatus, topics.SIMULATION_STATUS, self._on_status, topics.EVERY_SAMPLE)
        node.create_subscription(DiagnosticArray, topics.DIAGNOSTICS, self._on_diagnostics, topics.EVERY_SAMPLE)
        self.status: SimulationStatus | None = None
        self._seen: dict[str, dict[int, int]] = {}
        if real_time:
            self._seen = {topics.JOINT_STATES: {}, topics.COMMANDED_REFERENCE: {}}
            self._listen_with_times(node, topics.JOINT_STATES, JointState)
            self._listen_with_times(node, topics.COMMANDED_REFERENCE, JointReference)
        self._events: list[RunEvent] = []
        self._said: dict[str, tuple[bytes, str]] = {}
        self._stops = 0

    def complete(self, ticks: int) -> bool:
        """Whether every tick's ground truth has arrived."""
        awaited = [topics.TRUE_JOINT_STATES, topics.TRUE_TOOL_POSE_IN_BASE]
        awaited += [topic for topic in (topics.TRUE_FLEXIBLE_STATE, topics.TRUE_CONTACT_WRENCH) if self._raw[topic]]
        return all(len(self._raw[topic]) >= ticks for topic in awaited)

    def count(self) -> int:
        """Number of samples so far."""
        return sum(len(samples) for samples in self._raw.values())

    def finish(self, outcome: Outcome) -> Recording:
        """Read what was recorded."""
        ticks, period = outcome.ticks, round(outcome.period * 1e9)
        known: dict[str, Any] = {}
        lost = np.zeros(ticks, dtype=bool)
        truth = {
            topics.TRUE_JOINT_STATES: self._fill_joints,
            topics.TRUE_TOOL_POSE: self._fill_pose,
            topics.TRUE_TOOL_POSE_IN_BASE: self._fill_pose_in_base,
        }
        if self._raw[topics.TRUE_FLEXIBLE_STATE]:  # a plant that knows no modes is silent
            truth[topics.TRUE_FLEXIBLE_STATE] = self._fill_true_modes
        if self._raw[topics.TRUE_CONTACT_WRENCH]:  # and so is one without surfaces
            truth[topics.TRUE_CONTACT_WRENCH] = self._fill_contact
        for topic, fill in truth.items():
            lost |= ~self._fill(known, topic, ticks, period, fill)
        for topic, fill in (
            (topics.CARTESIAN_REFERENCE, self._fill_reference),
            (topics.PATH_REFERENCE, self._fill_path),
            (topics.BASE_REACTION, self._fill_reaction),
            (self._wrench, self._fill_wrench),
            (topics.DESIRED_JOINT_REFERENCE, self._fill_desired),
            (topics.JOINT_REFERENCE, self._fill_given),
            (topics.REDUNDANCY_STATE, self._fill_redundancy),
            (topics.FLEXIBLE_STATE, self._fill_estimate),
            (topics.STRAIN, self._fill_strain),
        ):
            if self._raw[topic]:
                self._fill(known, topic, ticks, period, fill)
        description = self._model.description
        return Recording.blank(
            description,
            np.arange(ticks, dtype=float) * outcome.period,
            outcome.natural_period,
            tick_latency=self._latencies(ticks, period),
            events=tuple(sorted((*self._events, *outcome.events), key=lambda event: event.time)),
            watchdog_stops=self._stops,
            lockstep_timeouts=self.status.lockstep_timeouts if self.status else 0,
            lost_samples=int(lost.sum()),
            node_deaths=outcome.node_deaths,
            **known,
        )

    def _listen_with_times(self, node: Node, topic: str, message_type: Any) -> None:
        """Keep when each stamp was first seen here; the events executor of rclpy 7.1 gives no times of its own."""

        def keep(message: Any) -> None:
            self._seen[topic].setdefault(stamp_to_nanoseconds(message.header.stamp), time.perf_counter_ns())

        node.create_subscription(message_type, topic, keep, topics.EVERY_SAMPLE)

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

    def _fill(
        self,
        known: dict[str, Any],
        topic: str,
        ticks: int,
        period: int,
        fill: Callable[[dict[str, Any], int, Any], None],
    ) -> NDArray[np.bool_]:
        """Read every message of a topic into its row; return which rows came."""
        came = np.zeros(ticks, dtype=bool)
        width = self._blank(topic, ticks)
        for name, array in width.items():
            known[name] = array
        for raw in self._raw[topic]:
            message = deserialize_message(raw, self._types[topic])
            row = stamp_to_nanoseconds(message.header.stamp) // period
            if 0 <= row < ticks:
                came[row] = True
                fill(known, row, message)
        return came

    def _blank(self, topic: str, ticks: int) -> dict[str, Any]:
        n, m, k, g = self._model.n, self._model.m, len(self._modes), len(self._model.description.strain_gauges)
        shapes: dict[str, dict[str, tuple[int, ...]]] = {
            topics.TRUE_JOINT_STATES: {
                "position": (n,),
                "velocity": (n,),
                "effort": (n,),
                "deflection": (m,),
                "deflection_rate": (m,),
            },
            topics.TRUE_TOOL_POSE: {"tool_position": (3,), "tool_rotation": (4,)},
            topics.TRUE_TOOL_POSE_IN_BASE: {"tool_position_in_base": (3,)},
            topics.TRUE_CONTACT_WRENCH: {"contact_wrench": (6,)},
            topics.CARTESIAN_REFERENCE: {"reference_position": (3,)},
            topics.PATH_REFERENCE: {"path_position": (3,)},
            topics.BASE_REACTION: {
                "coupling_momentum": (m,),
                "smallest_coupling_singular_value": (),
                "smallest_restricted_singular_value": (),
                "damping": (),
            },
            self._wrench: {"base_wrench": (6,)},
            topics.DESIRED_JOINT_REFERENCE: {"desired_position": (n,)},
            topics.JOINT_REFERENCE: {"reference_velocity": (n,)},
            topics.REDUNDANCY_STATE: {
                "resolution_position_error": (),
                "resolution_orientation_error": (),
                "condition_number": (),
                "rows_given_up": (),
            },
            topics.TRUE_FLEXIBLE_STATE: {"modal_position": (k,), "modal_rate": (k,)},
            topics.FLEXIBLE_STATE: {"estimated_modal_position": (k,), "estimated_modal_rate": (k,)},
            topics.STRAIN: {"strain": (g,)},
        }
        blank: dict[str, Any] = {name: np.full((ticks, *shape), np.nan) for name, shape in shapes[topic].items()}
        if topic == topics.BASE_REACTION:
            blank["vibration_damping"] = np.zeros(ticks, dtype=bool)
        return blank

    def _fill_joints(self, known: dict[str, Any], row: int, message: JointState) -> None:
        n = self._model.n  # the plant's ground truth lists actuated joints, then elastic ones, as described
        known["position"][row], known["deflection"][row] = message.position[:n], message.position[n:]
        known["velocity"][row], known["deflection_rate"][row] = message.velocity[:n], message.velocity[n:]
        known["effort"][row] = message.effort[:n]

    @staticmethod
    def _fill_pose(known: dict[str, Any], row: int, message: PoseStamped) -> None:
        known["tool_position"][row] = _point(message.pose.position)
        orientation = message.pose.orientation
        known["tool_rotation"][row] = orientation.x, orientation.y, orientation.z, orientation.w

    @staticmethod
    def _fill_pose_in_base(known: dict[str, Any], row: int, message: PoseStamped) -> None:
        known["tool_position_in_base"][row] = _point(message.pose.position)

    @staticmethod
    def _fill_reference(known: dict[str, Any], row: int, message: CartesianReference) -> None:
        known["reference_position"][row] = _point(message.pose.position)
        known["reference_frame"] = message.header.frame_id
        known["reference_axes"] = np.array(message.axes, dtype=bool)

    @staticmethod
    def _fill_path(known: dict[str, Any], row: int, message: CartesianReference) -> None:
        known["path_position"][row] = _point(message.pose.position)
        known["path_frame"] = message.header.frame_id

    @staticmethod
    def _fill_reaction(known: dict[str, Any], row: int, message: BaseReaction) -> None:
        known["coupling_momentum"][row] = message.coupling_momentum
        for name in ("smallest_coupling_singular_value", "smallest_restricted_singular_value", "damping"):
            known[name][row] = getattr(message, name)
        known["vibration_damping"][row] = message.vibration_damping

    @staticmethod
    def _fill_wrench(known: dict[str, Any], row: int, message: WrenchStamped) -> None:
        known["base_wrench"][row] = *_point(message.wrench.force), *_point(message.wrench.torque)

    @staticmethod
    def _fill_contact(known: dict[str, Any], row: int, message: WrenchStamped) -> None:
        known["contact_wrench"][row] = *_point(message.wrench.force), *_point(message.wrench.torque)

    def _fill_desired(self, known: dict[str, Any], row: int, message: JointReference) -> None:
        known["desired_position"][row] = by_name(self._model.joint_names, message.names, message.position)

    def _fill_given(self, known: dict[str, Any], row: int, message: JointReference) -> None:
        known["reference_velocity"][row] = by_name(self._model.joint_names, message.names, message.velocity)

    @staticmethod
    def _fill_redundancy(known: dict[str, Any], row: int, message: RedundancyState) -> None:
        known["resolution_position_error"][row] = np.linalg.norm(_point(message.position_error))
        known["resolution_orientation_error"][row] = np.linalg.norm(_point(message.orientation_error))
        known["condition_number"][row] = message.condition_number or np.nan
        known["rows_given_up"][row] = len(message.dropped_rows) + len(message.damped_rows)

    def _fill_true_modes(self, known: dict[str, Any], row: int, message: FlexibleState) -> None:
        known["modal_position"][row] = by_name(self._modes, message.modes, message.modal_position)
        known["modal_rate"][row] = by_name(self._modes, message.modes, message.modal_rate)

    def _fill_estimate(self, known: dict[str, Any], row: int, message: FlexibleState) -> None:
        known["estimated_modal_position"][row] = by_name(self._modes, message.modes, message.modal_position)
        known["estimated_modal_rate"][row] = by_name(self._modes, message.modes, message.modal_rate)

    def _fill_strain(self, known: dict[str, Any], row: int, message: StrainState) -> None:
        gauges = tuple(self._model.description.strain_gauges)
        known["strain"][row] = by_name(gauges, message.names, message.strain)

    def _on_status(self, message: SimulationStatus) -> None:
        self.status = message

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = stamp_to_nanoseconds(message.header.stamp) * 1e-9
        for status in message.status:
            for value in status.values:
                if value.key == "stops":
                    self._stops = max(self._stops, int(value.value))
            said = (status.level, status.message)
            if self._said.get(status.name) != said:
                self._said[status.name] = said
                level = LEVELS.get(status.level, "error")
                self._events.append(RunEvent(now, status.name, level, status.message))

    def errors(self) -> Iterable[RunEvent]:
        """Errors that nodes reported."""
        return (event for event in self._events if event.level == "error")


def by_name(wanted: Sequence[str], names: Sequence[str], values: Sequence[float]) -> list[float]:
    """Values in the order of the wanted names, NaN for those that are not given: an estimator may know fewer modes."""
    given = dict(zip(names, values, strict=False))  # a quantity that is not known is an empty array
    return [given.get(name, np.nan) for name in wanted]


def _point(point: Any) -> tuple[float, float, float]:
    return point.x, point.y, point.z
