"""Cases on real nodes in real time: this process simulates plant, drive and source, and injects the faults."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.experimental import EventsExecutor

from flexarm_core.types import Array, JointReference
from flexarm_nodes.node.transport import localhost_by_udp, stay_on_this_machine
from flexarm_tools.faults.arms import BENDING, FLOATING, RANDOM
from flexarm_tools.faults.core_case import Case, Setting
from flexarm_tools.faults.fault import Fault, State
from flexarm_tools.faults.gate_under_test import Seen
from flexarm_tools.faults.kinds import draw_case
from flexarm_tools.faults.machine import Machine
from flexarm_tools.faults.node_station import NodeStation
from flexarm_tools.faults.outcome import Outcome
from flexarm_tools.graph.graph import Graph, GraphError
from flexarm_tools.process.processes import NodeDiedError

RATE = 250  # [Hz] rate of joint states
POLL = 0.0005  # [s] period of polling the subscriptions
OVER = 0.05  # [s] without a command after which a gate counts as ended
TRIES = 3  # number of attempts if the machine was late
CLOCKED = ("clock_stopped", "clock_back_as_states_end", "clock_back", "clock_forward")  # faults of /clock


class NodeGate:
    """A node as the gate of a case: inputs are published, commands are received asynchronously."""

    def __init__(self, station: NodeStation) -> None:
        self._station = station
        self._over: Callable[[], bool] = lambda: False
        self.by_signal = self.asked = False

    @property
    def seen(self) -> Seen:
        """Latest status reported by the node."""
        return self._station.seen

    def on_state(self, state: State, now: float, clock: float) -> Array | None:
        """Send a joint state to the node."""
        self._station.send_state(state)
        return None

    def on_reference(self, reference: JointReference, now: float) -> Array | None:
        """Send a reference to the node."""
        self._station.send_reference(reference)
        return None

    def on_tick(self, now: float, clock: float) -> Array | None:
        """Do nothing: the node has its own timer."""
        return None

    def end(self, reason: str, now: float) -> Array | None:
        """Deactivate or terminate the node."""
        self.asked = True
        self._over = self._station.ask_to_end(self.by_signal)
        return None

    @property
    def ended(self) -> bool:
        """Whether the node is inactive, or its process has ended."""
        return self._over()

    def reset(self, now: float) -> None:
        """Call the reset service of the node."""
        self.asked = True
        self._station.reset()


class NodeCase(Case):
    """A case on a real node, in real time.

    Attributes:
        machine: monitor of the machine, available once the case has begun.
    """

    where = "node"

    def __init__(self, setting: Setting, faults: Sequence[Fault], station: NodeStation, executor: Any) -> None:
        """Prepare the case, and configure the station for its arm."""
        self._station, self._executor = station, executor
        self._begin = 0.0
        super().__init__(setting, faults)
        self.gate.by_signal = any(fault.name == "terminated" for fault in faults)
        rate = faults[0].configured_rate(setting.rate)
        station.begin(self.arm, setting.mode, rate, self._source, self._on_command)
        self.epoch = time.time()

    def _make_gate(self) -> Any:
        return NodeGate(self._station)

    def _pace(self, step: float, end: float) -> Iterator[tuple[float, float]]:
        begin = self._begin = time.monotonic()
        before = due = 0.0
        self.epoch = time.time()
        machine = self.machine = Machine((os.getpid(), self._station.process_id), 1.0 / self.setting.rate)
        try:
            while before < end:
                due += step
                while (now := time.monotonic() - begin) < due:
                    self._station.collect()
                    time.sleep(min(POLL, max(due - now, 0.0)))
                self._station.collect()
                if self.gate.asked:
                    self._executor.spin_once(timeout_sec=POLL)  # to receive the answer
                machine.look(now, now - due)
                due = max(due, now)  # missed time is not caught up: states are never sent faster than their rate
                self._station.second_source(any(fault.name == "two_sources" and fault.on(now) for fault in self.faults))
                self._station.say_time(self.epoch + now + sum(fault.clock(now) for fault in self.faults))
                yield now, now - before
                before = now
        finally:
            machine.close()
            self._station.second_source(False)

    def _is_over(self) -> bool:
        """Return whether the gate has ended; a process takes up to a second to end after its last command."""
        return super()._is_over() or time.monotonic() - self._begin - self._newest_command > OVER

    def _on_command(self, command: Array) -> None:
        self._now = time.monotonic() - self._begin
        self.take(command)


def node_outcomes(seeds: range, names: Sequence[str]) -> Iterator[Outcome]:
    """Run cases on real nodes, one after the other."""
    stay_on_this_machine()
    localhost_by_udp()
    context = Context()
    rclpy.init(context=context, signal_handler_options=rclpy.SignalHandlerOptions.NO)
    node = rclpy.create_node("faults", context=context)
    executor = EventsExecutor(context=context)
    executor.add_node(node)
    stations: dict[tuple[str, bool], NodeStation] = {}

    def check() -> None:
        for station in stations.values():
            if station.died:
                raise NodeDiedError(f"node '{station.name}' died\n{station.died}")

    ear = rclpy.create_node("faults_ear", context=context)
    graph = Graph(node, executor, check)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.environ.setdefault("ROS_LOG_DIR", folder)
        stack.callback(rclpy.try_shutdown, context=context)
        stack.callback(node.destroy_node)
        stack.callback(ear.destroy_node)
        stack.callback(executor.shutdown)
        for seed in seeds:
            for _ in range(TRIES):
                setting, faults = drawn_for_nodes(seed, names)
                key = (setting.layout, any(fault.name in CLOCKED for fault in faults))
                if key not in stations:
                    stations[key] = NodeStation(node, ear, graph, Path(folder), *key)
                    stack.callback(stations[key].close)
                try:
                    case = NodeCase(setting, faults, stations[key], executor)
                except GraphError as error:
                    print(f"flexarm: case {seed} begins anew with another process: {error}", file=sys.stderr)
                    stations[key].close()
                    case = NodeCase(setting, faults, stations[key], executor)
                with np.errstate(all="ignore"):
                    outcome = case.run()
                outcome.late_machine = case.machine.late
                if not outcome.late_machine:
                    break
            yield outcome


def drawn_for_nodes(seed: int, names: Sequence[str]) -> tuple[Setting, list[Fault]]:
    """Draw a case for real nodes, which get states at RATE: arms that need faster ones are replaced."""
    setting, faults = draw_case(seed, names, core=False)
    arm = RANDOM if setting.arm in (*FLOATING, *BENDING) else setting.arm
    return replace(setting, arm=arm, rate=RATE), faults
