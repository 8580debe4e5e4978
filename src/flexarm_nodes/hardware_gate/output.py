"""GateOutput: publishes a gate's commands to ros2_control, and informs the gate whether a controller takes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from flexarm.msg import JointReference
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.state_machine import NOT_LED, STOPPED, GateState, GateStatus
from flexarm_core.types import Array
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.hardware_gate.controller_switch import AVAILABLE, CommandController, ControllerSwitch
from flexarm_nodes.hardware_gate.parameters import commanded_order
from flexarm_nodes.hardware_gate.processor import ProcessorWaits
from flexarm_nodes.hardware_gate.watchdog import PERIOD, Watchdog
from flexarm_nodes.messages.conversions import joint_reference_form
from flexarm_nodes.messages.form import Form
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN
from flexarm_nodes.node.output.sender import Sender

WRITER_PERIOD = 0.05  # [s] period at which it is looked for others who command the drives, or lead the arm
LISTENER_PERIOD = 0.25  # [s] period at which it is looked whether somebody listens to the commands
AGED = 0.005  # [s] age of a state, or of the last look at the lateness, that calls for a look
BRAKING_PERIOD = 0.001  # [s] period at which joint states are read while control ends
LAST_COMMAND = 0.3  # [s] longest wait for the last command to be acknowledged, when the process ends
LONGEST_BRAKING = 5.0  # [s] longest time that the end of control waits for the arm to come to rest


class GateOutput:
    """Publishes commands to the controller that takes them; the gate sends nothing while no controller does.

    Without a controller manager, commands are published on the usual controller's topic.

    A :class:`Watchdog` checks the gate's timeouts beside the executor and publishes the gate's commands. A thread that
    uses the gate holds ``lock`` until the command is published, so that no command overtakes a newer one. It computes
    nothing else meanwhile: the watchdog must not wait for a stage that hangs.

    Attributes:
        lock: lock of the gate, which a thread may take several times.
        sent: when the newest command was sent, on the clock of ``time.perf_counter`` [s].
    """

    def __init__(self, node: ArmNode, on_change: Callable[[], None]) -> None:
        """Create the output of a node.

        Args:
            node: node that publishes.
            on_change: called when the gate must be reported: after a command of the watchdog, or a controller that
                becomes active or inactive.
        """
        self._node, self._on_change = node, on_change
        self.lock = threading.RLock()
        self._watchdog = Watchdog(node.guarded(self._watch))
        self._waits, self._looked_at = ProcessorWaits(), 0.0
        self._commanded = Sender(node, JointReference, topics.COMMANDED_REFERENCE, topics.EVERY_SAMPLE)
        self._senders: dict[str, Sender] = {}
        self._switch: ControllerSwitch | None = None
        self.sent = 0.0
        self._running = self._taken = self._ends = False
        self._alone, self._fell_back = False, False
        self._writers = self._leaders = ""  # texts about further publishers of commands and of references
        self._shown: tuple[GateState, bool] | None = None  # last published (state, fallback), on which other nodes act
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._looks = [
            node.create_timer(WRITER_PERIOD, self._look_for_others, clock=steady),
            node.create_timer(LISTENER_PERIOD, self._look_for_listeners, clock=steady),
        ]
        self._reset = node.create_service(Trigger, topics.RESET_GATE, self._on_reset)
        self._reset_name = node.resolve_service_name(topics.RESET_GATE)

    def open(self, gate: HardwareGate, values: Mapping[str, Any]) -> None:
        """Publish the commands of a gate.

        Args:
            gate: gate, which is informed whether a controller takes its commands.
            values: parameters of the gate: ``command_mode``, ``joints``, ``controller_manager``.

        Raises:
            ConfigError: ``joints`` is no permutation of the arm's joints, or the fallback controller cannot be used.
        """
        self._gate, self._names = gate, gate.model.joint_names
        self._mode, self._stamp = values["command_mode"], 0
        self._order = np.array(commanded_order(values, gate.model))
        self.close()
        self._commands = self._sender(topics.command_topic(self._mode))
        self._lockstep, self._fallback = values["lockstep"], values["fallback_controller"]
        manager = values["controller_manager"]
        if self._fallback and not (manager and AVAILABLE):
            raise ConfigError("fallback_controller needs a controller_manager, and controller_manager_msgs installed")
        if manager and not AVAILABLE:
            self._node.get_logger().warning(
                "controller_manager_msgs is not installed: whether a controller takes the commands is not known"
            )
        elif manager:
            self._namespace = "".join(manager.rpartition("/")[:2])
            self._switch = ControllerSwitch(self._node, manager, self._names, self._on_controller)

    def close(self) -> None:
        """End the watchdog, and destroy the publishers and the controller switch."""
        self._watchdog.end()
        self._waits.close()
        if self._switch is not None:
            self._switch.close()
        for sender in self._senders.values():
            sender.destroy()
        self._switch, self._senders = None, {}

    def start(self) -> None:
        """Begin a run; with a controller manager, commands begin when the controller is active."""
        self._running, self._taken, self._ends, self._stamp = True, False, False, 0
        self._alone, self._fell_back, self._writers, self._leaders, self._shown = False, False, "", "", None
        if self._switch is not None:
            self._gate.interrupt("no command controller is active", silent=True)
            self._switch.begin(self._mode)
        if not self._lockstep:
            self._watchdog.begin()
            self._waits.close()
            self._waits, self._looked_at = ProcessorWaits(), time.monotonic()

    def brake(self, feed: Callable[[], None]) -> None:
        """Bring the arm to rest before a run ends; in lockstep this is skipped, since nothing moves without a command.

        Args:
            feed: passes the joint states that have arrived to the gate.
        """
        with self.lock:
            self._ends = True
            self._gate.end("control ends")
        deadline = time.monotonic() + LONGEST_BRAKING
        while not (self._lockstep or self._gate.at_rest) and time.monotonic() < deadline:
            feed()
            time.sleep(BRAKING_PERIOD)

    def stop(self) -> None:
        """End a run: send the command that holds the arm without control; the controller stays active."""
        with self.lock:
            self._running = False
            self.send(self._gate.rest_command(), self._stamp)
        self._watchdog.end()
        if self._switch is not None:
            self._switch.end()

    def flush(self) -> None:
        """Wait until the last command has arrived, at most LAST_COMMAND."""
        for sender in self._senders.values():
            sender.flush(LAST_COMMAND)

    def change_mode(self, mode: str) -> None:
        """Change the command mode: the arm is braked and held in the old mode until the new controller is active.

        Raises:
            ConfigError: the node is not active, or has no controller manager.
        """
        self.check_mode(mode)
        if mode == self._mode or self._switch is None:
            return
        with self.lock:
            self._mode, self._taken = mode, False
            self._gate.interrupt(f"command mode changes to {mode}", silent=False)
            self._switch.begin(mode)

    def check_mode(self, mode: str) -> None:
        """Raise ConfigError if :meth:`change_mode` cannot change to this command mode now."""
        if mode != self._mode and (self._switch is None or not self._running):
            raise ConfigError(
                "command_mode changes only while the node is not configured, or is active and has a controller_manager"
            )

    def _watch(self, late: float) -> None:
        """Check the gate's timeouts; called by the watchdog, late by so long [s]."""
        with self.lock:
            if not self._running:
                return
            self._note_lateness(late)
            command = self._gate.on_tick()
            self.send(command, self._stamp)
            if command is not None or self._gate.status.state in STOPPED:
                self._on_change()

    def check_lateness(self, age: float | None) -> None:
        """Report a late process to the gate, before a state of this age [s]; the caller holds the lock.

        The watchdog also reports it, but may run after the executor: then the process is late by the time since the
        watchdog's last check.
        """
        unseen = time.monotonic() - self._looked_at
        if not self._lockstep and ((age or 0.0) > AGED or unseen > PERIOD + AGED):
            self._note_lateness(max(unseen - PERIOD, 0.0))

    def _note_lateness(self, late: float) -> None:
        self._looked_at = time.monotonic()
        self._gate.was_late(max(late, self._waits.look()))

    def send(self, command: Array | None, stamp: int) -> None:
        """Publish the command (n,), if there is one, for the state of this stamp [ns]; the caller holds the lock."""
        self._stamp = stamp
        if self._gate.status.fallback and self._fallback and not self._fell_back and self._switch is not None:
            self._fell_back = True
            self._switch.fall_back(self._fallback)
            why = self._gate.status.reason
            self._gate.interrupt(f"{why}; the drives are given to {self._fallback}", silent=False)
        elif self._fell_back and not self._gate.status.fallback:  # the gate has recovered by itself
            self._take_back()
        if command is None:
            return
        self._commands.publish(_command_form(command[self._order]))
        self.sent = time.perf_counter()
        if self._commanded.heard:
            sent = JointReferenceRecord(stamp, **{self._gate.config.command_mode: command})
            self._commanded.publish(joint_reference_form(sent, self._names))

    def report(
        self, stamp: int, error: str = "", warning: str = "", more: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Report the gate's status on /diagnostics.

        Args:
            stamp: stamp of the newest state [ns].
            error: an error other than a stop; empty if there is none.
            warning: a warning; empty if there is none.
            more: further values that the node adds.
        """
        with self.lock:
            self._report(stamp, error, warning, more)

    def _report(self, stamp: int, error: str, warning: str, more: Mapping[str, str]) -> None:
        status = self._gate.status
        before, self._shown = self._shown, (status.state, status.fallback)
        say = partial(self._node.diagnostics.report, at_once=before != self._shown)
        values = {"state": status.state.value, "stops": str(status.stops), "command_mode": self._mode, **more}
        trouble, ends, others = "", self._ends or self._node.ending, (self._writers, self._leaders)
        if self._switch is not None:
            found, trouble = self._switch.controller, self._switch.trouble
            values["controller"] = f"{found.name}: {'active' if found.active else 'inactive'}" if found else "none"
        values |= {"trips": str(status.trips), "blind": _said(status.blind), "fallback": _said(status.fallback)}
        level, text = gate_words(
            status, self._reset_name, trouble, others, error, warning or self._gate.doubt, ends=ends
        )
        say(level, text, stamp, values)

    def _look_for_others(self) -> None:
        """Trip if somebody else commands the drives; stop while several lead the arm.

        Joint states may have several publishers, as grippers and mobile bases publish theirs on the same topic.
        """
        if self._running:
            with self.lock:
                self._compare_writers()

    def _compare_writers(self) -> None:
        node, before = self._node, (self._writers, self._leaders)
        writers = node.count_publishers(self._commands.topic_name) - 1
        leaders = node.count_publishers(topics.JOINT_REFERENCE)
        commands, references = map(node.resolve_topic_name, (self._commands.topic_name, topics.JOINT_REFERENCE))
        self._writers = f"{writers} other publishers on {commands}" if writers > 0 else ""
        self._leaders = f"{leaders} publishers on {references}" if leaders > 1 else ""
        commands_it = self._taken if self._switch is not None else not self._alone
        if self._writers and commands_it and not self._gate.status.fallback:
            self._gate.give_up(self._writers)
            self.send(None, self._stamp)  # asks for the fallback
        if before[1] != self._leaders:
            self._gate.contest(self._leaders)
        if before != (self._writers, self._leaders):
            self._on_change()

    def _look_for_listeners(self) -> None:
        """Without a controller manager, check whether the commands have a subscriber."""
        if not self._running or self._switch is not None or self._lockstep:
            return
        with self.lock:
            alone = not self._commands.heard
            if alone and not self._alone:
                self._gate.interrupt(f"nobody listens to {self._commands.topic_name}", silent=True)
            elif self._alone and not alone:
                self.send(self._gate.resume(self._mode), self._stamp)
            if alone != self._alone:
                self._alone = alone
                self._on_change()

    def _on_reset(self, request: Any, response: Any) -> Any:
        """Reset a trip; if the drives were switched to the fallback controller, request them back.

        The reset is rejected while no usable joint state arrives: the gate would have to hand the arm back at once, and
        no controller would hold it in between.
        """
        if not self._running:
            response.success, response.message = False, "the node is not active"
            return response
        if self._writers:
            response.success, response.message = False, f"{self._writers}: nobody else may command the drives"
            return response
        with self.lock:
            try:
                self._gate.acknowledge()
            except InputError as error:
                response.success, response.message = False, str(error)
                return response
            if self._fell_back:
                self._take_back()
            response.success, response.message = True, "good references end the stop"
            self._on_change()
        return response

    def _take_back(self) -> None:
        """Request the drives from the fallback controller."""
        assert self._switch is not None  # which gave them away
        self._fell_back = self._taken = False
        self._gate.interrupt("no command controller is active", silent=True)
        self._switch.begin(self._mode)

    def _on_controller(self, found: CommandController) -> None:
        """Handle that the controller was found, activated or deactivated."""
        sender = self._sender(f"{self._namespace}{found.name}/commands")  # created before the controller is used
        with self.lock:
            if found.active:
                self._commands, self._order = sender, np.array([self._names.index(name) for name in found.joints])
                self.send(self._gate.resume(self._mode), self._stamp)
            elif self._taken:
                self._gate.interrupt(f"{found.name} was deactivated", silent=True)
            self._taken = found.active
            self._on_change()

    def _sender(self, topic: str) -> Sender:
        name = self._node.resolve_topic_name(topic)
        if name not in self._senders:
            self._senders[name] = sender = Sender(self._node, Float64MultiArray, topic, topics.CONTROL)
            sender.prepare(_command_form(np.zeros(len(self._names))))
        return self._senders[name]


def gate_words(
    status: GateStatus, reset: str, trouble: str = "", others: Sequence[str] = (), error: str = "", warning: str = "",
    *, ends: bool = False,
) -> tuple[bytes, str]:  # fmt: skip
    """Return level and text of a gate's status on /diagnostics.

    Args:
        status: status of the gate.
        reset: service that resets a trip.
        trouble: fault of the controller of the commands; empty if there is none.
        others: texts on other publishers of commands or references; empty ones do not count.
        error: another error; empty if there is none.
        warning: another warning; empty if there is none.
        ends: whether control ends.
    """
    limited = f"limited {', '.join(status.limited)}" if status.limited else ""
    if status.state is GateState.TRIPPED:
        taken = "" if ends else trouble  # the controller manager ends too
        why = "; ".join(dict.fromkeys(part for part in (status.reason, taken, *others) if part))
        return ERROR, f"tripped: {why}; call {reset} to go on"
    if status.state is GateState.STOPPING and ends:
        return (WARN, f"control ends: {trouble}") if trouble else (OK, "control ends")
    if status.state is GateState.STOPPING and status.reason == NOT_LED and not (trouble or any(others)):
        return WARN, f"holds the arm: {NOT_LED}"
    if status.state is GateState.STOPPING:
        why = "; ".join(dict.fromkeys(part for part in (status.reason, trouble, *others) if part))
        return ERROR, f"controlled stop: {why}"
    if error or any(others):
        return ERROR, error or ", ".join(filter(None, others))
    if trouble or limited or warning:
        return WARN, "; ".join(filter(None, (trouble, limited, warning)))
    return OK, status.state.value


def _command_form(command: Array) -> Form:
    return Form(Float64MultiArray, {"data": command})


def _said(yes: bool) -> str:
    return "yes" if yes else "no"
