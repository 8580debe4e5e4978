"""NodeStation: a real hardware_gate or control_loop in its own process, reused for many cases."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import ChangeState
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from flexarm.msg import JointReference as JointReferenceMessage
from flexarm_core.types import ArmState, Array, JointReference
from flexarm_nodes.messages.conversions import joint_reference_form, nanoseconds_to_stamp
from flexarm_nodes.node import topics
from flexarm_tools.faults.arms import Arm
from flexarm_tools.faults.fault import LOOP, State
from flexarm_tools.faults.gate_under_test import Seen
from flexarm_tools.faults.source import Source
from flexarm_tools.graph.graph import TRANSITIONS, Graph
from flexarm_tools.process.processes import NodeProcess, end_all

SETTLE = 0.25  # [s] for publishers and subscribers to discover each other
FOUND = 1.0  # [s] for discovery between a new process and the existing ones
MOVE_TIME = 1.0  # [s] duration of one direction of a control loop's own motion
GATE = "hardware_gate"


class NodeStation:
    """One process and its publishers, subscriptions and clients; it is reconfigured for each case.

    Attributes:
        died: last log lines of a process that ended on its own.
    """

    def __init__(self, node: Any, ear: Any, graph: Graph, folder: Path, layout: str, sim_time: bool) -> None:
        """Prepare the station; the process is started by :meth:`begin`, and the ``check`` of the graph monitors it.

        Args:
            node: node of the campaign, spun by an executor.
            ear: a node that is not spun: its messages are polled by :meth:`collect`, however busy the campaign is.
            graph: access to the ROS graph.
            folder: folder for logs and parameter files.
            layout: ``hardware_gate`` or ``control_loop``.
            sim_time: whether its ROS clock is the campaign's ``/clock``.
        """
        self._node, self._ear, self._graph, self._folder = node, ear, graph, folder
        self._layout, self._sim_time = layout, sim_time
        self.name = f"{layout}{'_simulated' if sim_time else ''}"
        self._process: NodeProcess | None = None
        ns = f"/{self.name}"
        self._prefix = f"{ns}/"
        self._states = node.create_publisher(JointState, f"{ns}/{topics.JOINT_STATES}", topics.CONTROL)
        self._references: Any = None
        if layout != LOOP:  # a control loop generates references itself, and reports a second source
            topic = f"{ns}/{topics.JOINT_REFERENCE}"
            self._references = node.create_publisher(JointReferenceMessage, topic, topics.CONTROL)
        self._other: Any = None
        self._turn = False
        self._clock = node.create_publisher(Clock, f"{ns}/clock", topics.CONTROL) if sim_time else None
        self._listening: dict[str, Any] = {}
        self._on_command: Callable[[Array], None] | None = None
        self._diagnostics = ear.create_subscription(
            DiagnosticArray, topics.DIAGNOSTICS, self._on_diagnostics, topics.EVERY_SAMPLE
        )
        self._seen = Seen("waiting", "", 0)
        self._configured = self._active = self._asked_to_end = False

    # Life -------------------------------------------------------------------------------------------------------------

    @property
    def died(self) -> str:
        """Last log lines of a process that ended on its own, else empty."""
        return self._process.last_words() if self._process is not None and self._process.died else ""

    @property
    def process_id(self) -> int:
        """Process ID."""
        assert self._process is not None
        return self._process.process_id

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            end_all([self._process])
        self._process = None

    def begin(self, arm: Arm, mode: str, rate: float, source: Source, on_command: Callable[[Array], None]) -> None:
        """Configure and activate the node for a case.

        Raises:
            GraphError: the node rejects a request, or does not answer.
        """
        if self._asked_to_end:
            self.close()  # the process may be about to end
        if self._process is None or not self._process.alive:
            self._start()
        if self._active:
            self._graph.transition(self._path, "deactivate")
        if self._configured:
            self._graph.transition(self._path, "cleanup")
        self._configured = self._active = False
        self._graph.set_parameters(self._path, self._parameters(arm, mode, rate, source))
        self._names, self._mode = arm.model.joint_names, mode
        self._graph.transition(self._path, "configure")
        self._configured = True
        self._on_command = None
        if mode not in self._listening:
            topic = f"/{self.name}/{topics.command_topic(mode)}"
            self._listening[mode] = self._ear.create_subscription(
                Float64MultiArray, topic, lambda _: None, topics.EVERY_SAMPLE
            )
        self._graph.transition(self._path, "activate")
        self._active = True
        self._graph.spin_until(lambda: self._states.get_subscription_count() > 0, 10.0, "a subscription to the states")
        self._rest(SETTLE)
        self.collect()
        self._seen = Seen("waiting", "", 0)
        self._on_command = on_command

    def ask_to_end(self, by_signal: bool) -> Callable[[], bool]:
        """Deactivate or terminate the node while the arm moves; return a function that tells whether it has ended."""
        assert self._process is not None
        process = self._process
        if by_signal:
            process.signal(signal.SIGTERM)
            self._asked_to_end, self._configured, self._active = True, False, False
            return lambda: not process.alive
        client = self._node.create_client(ChangeState, f"/{self._path}/change_state")
        request = ChangeState.Request()
        request.transition.id = TRANSITIONS["deactivate"]
        future = client.call_async(request)
        self._active = False
        return lambda: bool(future.done())

    def reset(self) -> None:
        """Call ``~/reset``, if the node offers it."""
        client = self._node.create_client(Trigger, f"/{self._path}/reset")
        if client.service_is_ready():
            client.call_async(Trigger.Request())

    @property
    def _path(self) -> str:
        return f"{self.name}/{self._layout}"

    def _start(self) -> None:
        file = self._folder / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": {"use_sim_time": self._sim_time}}}))
        arguments = ["--ros-args", "-r", f"__ns:=/{self.name}", "--params-file", str(file)]
        if self._sim_time:
            arguments += ["-r", f"/clock:=/{self.name}/clock"]
        log = self._folder / f"{self.name}.log"
        self._process = NodeProcess(self.name, "flexarm", self._layout, arguments, log)
        self._configured = self._active = self._asked_to_end = False
        self._graph.wait_for_node(self._path, 60.0)
        self._rest(FOUND)

    def _rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._graph.spin_until(lambda: time.monotonic() > end, seconds + 5.0, "a moment")

    def _parameters(self, arm: Arm, mode: str, rate: float, source: Source) -> dict[str, Any]:
        gate = {"command_mode": mode, "rate": rate}
        shared = {"robot_description": arm.text, "gravity": [float(value) for value in arm.gravity]}
        if self._layout != LOOP:
            return shared | gate
        stages = ["reference_generator", *(["flexible_dynamics_controller"] if mode == "effort" else []), GATE]
        law = {"law": "joint_pd", "reference": "desired_joint_reference", "rate": rate}
        motion = {
            "space": "joints",
            "joint_displacement": [float(value) for value in source.displacement(MOVE_TIME)],
            "duration": MOVE_TIME,
            "returns": True,
        }
        values: dict[str, Any] = {"stages": stages}
        for stage, own in (("reference_generator", motion), ("flexible_dynamics_controller", law), (GATE, gate)):
            if stage in stages:
                values |= {f"{stage}.{name}": value for name, value in own.items()}
        return shared | values

    # Messages ---------------------------------------------------------------------------------------------------------

    @property
    def seen(self) -> Seen:
        """Latest status reported by the node."""
        return self._seen

    def say_time(self, clock: float) -> None:
        """Publish the ROS time [s], if the node uses simulated time."""
        if self._clock is not None:
            self._clock.publish(Clock(clock=nanoseconds_to_stamp(round(clock * 1e9))))

    def send_state(self, state: State) -> None:
        """Publish a joint state."""
        message = JointState()
        message.header.stamp = nanoseconds_to_stamp(max(state.stamp, 0))
        if isinstance(state, ArmState):
            message.name = list(self._names)
            message.position, message.velocity = state.position.tolist(), state.velocity.tolist()
        self._states.publish(message)

    def send_reference(self, reference: JointReference) -> None:
        """Publish a joint reference; two sources publish alternately."""
        self._turn = not self._turn
        publisher = self._other if self._other is not None and self._turn else self._references
        publisher.publish(joint_reference_form(reference, self._names).message())

    def second_source(self, there: bool) -> None:
        """Create or destroy a second publisher of references."""
        if there and self._other is None:
            topic = f"/{self.name}/{topics.JOINT_REFERENCE}"
            self._other = self._node.create_publisher(JointReferenceMessage, topic, topics.CONTROL)
        elif not there and self._other is not None:
            self._node.destroy_publisher(self._other)
            self._other = None

    def collect(self) -> None:
        """Take the received commands and diagnostics."""
        for mode, subscription in self._listening.items():
            for message in _taken(subscription):
                if mode == self._mode and self._on_command is not None:
                    self._on_command(np.array(message.data))
        for message in _taken(self._diagnostics):
            self._on_diagnostics(message)

    def _on_diagnostics(self, array: DiagnosticArray) -> None:
        for status in array.status:
            if status.name == f"{self.name}/{self._layout}":
                self._read(status)

    def _read(self, status: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in status.values}
        if not (state := values.get("state", "")):  # of the node's life, not of its gate
            return
        stops = int(values.get("stops", 0))
        names = {"waiting": "waiting", "running": "running", "controlled": "stopping"}
        now = next((name for words, name in names.items() if state.startswith(words)), "tripped")
        reason = status.message.partition(": ")[2] or status.message
        self._seen = Seen(
            now, reason if now in ("stopping", "tripped") else "", stops,
            values.get("blind", "") in ("true", "yes"), values.get("fallback", "") not in ("", "no", "false"),
            status.level == DiagnosticStatus.ERROR, int(values.get("trips", 0)),
        )  # fmt: skip


def _taken(subscription: Any) -> Iterator[Any]:
    """Yield the messages waiting in a subscription."""
    with subscription.handle:
        while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
            yield taken[0]
