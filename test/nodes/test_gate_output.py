"""GateOutput: what the gate does is said at once where others act on it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.state_machine import NOT_LED, GateState, GateStatus
from flexarm_nodes.hardware_gate.output import GateOutput
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN
from flexarm_nodes.node.topics import JOINT_REFERENCE, JOINT_STATES, RESET_GATE, command_topic

PLAIN = GateStatus(GateState.RUNNING, "", (), 0, 0, blind=False, fallback=False)
STOPPED = GateStatus(GateState.STOPPING, "no joint state", (), 1, 0, blind=True, fallback=False)
TRIPPED = GateStatus(GateState.TRIPPED, "no joint state", (), 1, 1, blind=True, fallback=False)
FALLING = GateStatus(GateState.TRIPPED, "no joint state", (), 1, 1, blind=True, fallback=True)
LIMITED = GateStatus(GateState.RUNNING, "", ("joint1: effort",), 0, 0, blind=False, fallback=False)


class Node:
    """Keeps which reports could not wait."""

    def __init__(self) -> None:
        self.urgent: list[bool] = []
        self.said: list[tuple[bytes, str]] = []
        self.diagnostics = self
        self.ending = False
        self.counts: dict[str, int] = {}

    def count_publishers(self, topic: str) -> int:
        return self.counts.get(topic, 1)

    def report(self, level: bytes, message: str, *_: object, at_once: bool) -> None:
        self.urgent.append(at_once)
        self.said.append((level, message))

    def create_publisher(self, _: object, topic: str, *__: object, **___: object) -> SimpleNamespace:
        return SimpleNamespace(get_subscription_count=lambda: 0, topic_name=topic)

    create_timer = create_service = lambda self, *_, **__: None

    def guarded(self, callback: object) -> object:
        return callback

    def resolve_topic_name(self, name: str) -> str:
        return name

    resolve_service_name = resolve_topic_name


class Gate:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.model, self.config = SimpleNamespace(joint_names=("joint1",)), SimpleNamespace(state_timeout=0.08)
        self.status, self.told, self.refuses, self.doubt = PLAIN, [], "", ""

    def acknowledge(self) -> None:
        if self.refuses:
            raise InputError(self.refuses)
        self.told.append("acknowledged")

    def interrupt(self, reason: str, *, silent: bool) -> None:
        self.told.append(reason)

    def give_up(self, reason: str) -> None:
        self.told.append(f"given up: {reason}")
        self.status = FALLING

    def contest(self, reason: str) -> None:
        self.told.append(f"contested: {reason}")

    def on_tick(self) -> None:
        """No input is missing."""

    def was_late(self, late: float) -> None:
        """It does not matter."""


def opened() -> tuple[Node, Gate, GateOutput]:
    node, gate = Node(), Gate()
    output = GateOutput(node, lambda: None)
    values = {"command_mode": "effort", "joints": [""], "lockstep": False}
    output.open(gate, values | {"fallback_controller": "", "controller_manager": ""})
    return node, gate, output


@pytest.mark.parametrize(
    ("before", "after", "urgent"),
    [
        (PLAIN, STOPPED, True),
        (STOPPED, TRIPPED, True),
        (TRIPPED, FALLING, True),
        (FALLING, STOPPED, True),
        (STOPPED, PLAIN, True),
        (PLAIN, LIMITED, False),
        (FALLING, FALLING, False),
    ],
)
def test_a_change_of_what_it_does_cannot_wait(before, after, urgent):
    node, gate, output = opened()
    for gate.status in (before, before, after):
        output.report(0)
    assert node.urgent == [True, False, urgent]


def test_a_controller_that_ends_together_with_the_gate_is_no_error():
    node, gate, output = opened()
    output._switch = SimpleNamespace(controller=None, trouble="forward_effort_controller was deactivated")
    gate.status = STOPPED
    output.report(0)
    node.ending = True  # Ctrl-C ends the controller manager too, which says first that its controllers are off
    output.report(0)
    assert [level for level, _ in node.said] == [ERROR, WARN]
    assert node.said[1][1] == "control ends: forward_effort_controller was deactivated"
    output._switch = None
    output.report(0)
    assert node.said[-1] == (OK, "control ends")
    gate.status = TRIPPED  # stays an error, and says nothing else than before
    output.report(0)
    assert node.said[-1] == (ERROR, f"tripped: no joint state; call {RESET_GATE} to go on")


def fallen() -> tuple[Gate, GateOutput, list[tuple[str, str]]]:
    """A gate whose drives were given to the fallback controller; what the controller manager was asked."""
    _, gate, output = opened()
    asked: list[tuple[str, str]] = []
    switch = {name: lambda what, name=name: asked.append((name, what)) for name in ("begin", "fall_back")}
    output._switch, output._fallback = SimpleNamespace(**switch), "hold"
    output.start()
    output.send(None, 1)
    gate.status = FALLING
    output.send(None, 1)
    output._watchdog.end()
    gate.told.clear()
    return gate, output, asked


def test_a_gate_that_has_recovered_by_itself_takes_the_drives_back_once():
    gate, output, asked = fallen()
    output.send(None, 2)
    gate.status = STOPPED  # the machine was late, and is no more
    output.send(None, 3)
    output.send(None, 4)
    assert asked == [("begin", "effort"), ("fall_back", "hold"), ("begin", "effort")]
    assert gate.told == ["no command controller is active"]


def test_a_reset_that_the_gate_refuses_leaves_the_drives_to_the_fallback():
    gate, output, asked = fallen()
    gate.refuses = "no usable joint state for 0.310 s"
    refused = output._on_reset(None, SimpleNamespace())
    assert (refused.success, refused.message) == (False, gate.refuses)
    assert gate.told == [] and asked == [("begin", "effort"), ("fall_back", "hold")]
    gate.refuses = ""
    assert output._on_reset(None, SimpleNamespace()).success
    assert gate.told[0] == "acknowledged" and asked[-1] == ("begin", "effort")


def test_a_gate_that_waits_for_the_first_reference_is_no_error():
    """Stages are activated from the gate back to the source: for a moment it holds an arm that nobody leads."""
    node, gate, output = opened()
    gate.status = GateStatus(GateState.STOPPING, NOT_LED, (), 0, 0, blind=False, fallback=False)
    output.report(0)
    assert node.said[-1] == (WARN, f"holds the arm: {NOT_LED}")


def test_when_a_second_writer_is_noticed_the_gate_trips_and_the_fallback_is_asked_for_at_once():
    node, gate, output = opened()
    asked = []
    switch = {name: lambda what, name=name: asked.append((name, what)) for name in ("begin", "fall_back")}
    output._switch, output._fallback = SimpleNamespace(**switch), "hold"
    output.start()
    topic = command_topic("effort")
    node.counts[topic] = 2
    output._look_for_others()  # no controller takes the gate's commands: somebody else's are no fault
    assert not any(said.startswith("given up") for said in gate.told) and ("fall_back", "hold") not in asked
    output._taken = True
    output._look_for_others()
    assert f"given up: 1 other publishers on {topic}" in gate.told and asked[-1] == ("fall_back", "hold")
    refused = output._on_reset(None, SimpleNamespace())
    assert not refused.success and "nobody else may command the drives" in refused.message
    node.counts[topic] = 1
    output._look_for_others()
    assert output._on_reset(None, SimpleNamespace()).success and gate.told.count("acknowledged") == 1


def test_several_publishers_of_references_are_contested_and_those_of_joint_states_are_not():
    node, gate, output = opened()
    output.start()
    node.counts[JOINT_STATES] = 3
    gate.told.clear()
    output._look_for_others()
    assert gate.told == []
    for count in (2, 2, 1, 1):
        node.counts[JOINT_REFERENCE] = count
        output._look_for_others()
    assert gate.told == [f"contested: 2 publishers on {JOINT_REFERENCE}", "contested: "]
