"""ControllerSwitch against a scripted controller manager; test/launch has the real one, where it is installed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flexarm_nodes.hardware_gate import controller_switch
from flexarm_nodes.hardware_gate.controller_switch import (
    CommandController,
    ControllerSwitch,
    command_controller,
    in_the_way,
)

FORWARD = "forward_command_controller/ForwardCommandController"
JOINTS = ("a", "b")


def listed(name: str, mode: str, state: str = "inactive", kind: str = FORWARD, joints=JOINTS) -> SimpleNamespace:
    interfaces = [f"{joint}/{mode}" for joint in joints]
    claimed = interfaces if state == "active" else []
    return SimpleNamespace(
        name=name, type=kind, state=state, required_command_interfaces=interfaces, claimed_interfaces=claimed
    )


def test_the_controller_of_the_mode_is_found_with_the_order_of_its_joints():
    there = [listed("v", "velocity"), listed("e", "effort", joints=("b", "a")), listed("one", "effort", joints=("a",))]
    assert command_controller(there, JOINTS, "effort") == CommandController("e", ("b", "a"), False)
    assert command_controller(there, JOINTS, "position") is None


def test_a_controller_that_takes_trajectories_is_none_that_the_gate_can_command():
    trajectories = listed("t", "position", "active", "joint_trajectory_controller/JointTrajectoryController")
    assert command_controller([trajectories], JOINTS, "position") is None
    assert in_the_way([trajectories, listed("p", "position")], JOINTS, "p") == ["t"]


def test_of_several_the_active_one_counts_then_the_usual_name():
    several = [listed("mine", "effort"), listed("forward_effort_controller", "effort")]
    assert command_controller(several, JOINTS, "effort").name == "forward_effort_controller"
    several[0].state = "active"
    assert command_controller(several, JOINTS, "effort").name == "mine"


class Request(SimpleNamespace):
    STRICT = 2


class Client:
    def __init__(self) -> None:
        self.ready, self.asked = True, []

    def service_is_ready(self) -> bool:
        return self.ready

    def call_async(self, request):
        future = SimpleNamespace(callbacks=[])
        future.add_done_callback = future.callbacks.append
        self.asked.append((request, future))
        return future

    def remove_pending_request(self, future) -> None:
        future.callbacks.clear()

    def answer(self, **response) -> None:
        future = self.asked[-1][1]
        future.result = lambda: SimpleNamespace(**response)
        for callback in list(future.callbacks):
            callback(future)


class ScriptedManager:
    """A node's view of a controller manager that answers when the test says so."""

    def __init__(self) -> None:
        self.clients, self.now, self.seen = {}, 100.0, []

    def create_client(self, kind, name):
        return self.clients.setdefault(name.rpartition("/")[2], Client())

    def create_subscription(self, kind, topic, callback, qos):
        self.tell = callback

    def create_timer(self, period, callback, clock):
        self.look = callback

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.look()

    def says(self, **states: str) -> None:
        labels = [
            SimpleNamespace(name=name, state=SimpleNamespace(label=label)) for name, label in states.items()
        ]  # fmt: skip
        self.tell(SimpleNamespace(controllers=labels))

    @property
    def lists(self) -> Client:
        return self.clients["list_controllers"]

    @property
    def switches(self) -> Client:
        return self.clients["switch_controller"]


@pytest.fixture
def manager(monkeypatch) -> ScriptedManager:
    scripted = ScriptedManager()
    service = SimpleNamespace(Request=Request)
    monkeypatch.setattr(controller_switch, "ListControllers", service)
    monkeypatch.setattr(controller_switch, "SwitchController", service)
    monkeypatch.setattr(controller_switch, "ControllerManagerActivity", object)
    monkeypatch.setattr(controller_switch, "time", SimpleNamespace(monotonic=lambda: scripted.now))
    return scripted


@pytest.fixture
def switch(manager) -> ControllerSwitch:
    begun = ControllerSwitch(manager, "/controller_manager", JOINTS, manager.seen.append)
    begun.begin("effort")
    return begun


def activate(manager, others=()) -> None:
    manager.wait(0.1)
    manager.lists.answer(controller=[*others, listed("e", "effort")])
    manager.switches.answer(ok=True, message="")
    manager.lists.answer(controller=[listed("e", "effort", "active")])


def test_it_is_activated_strictly_in_place_of_what_commands_the_arm(manager, switch):
    others = [
        listed("t", "position", "active", "joint_trajectory_controller/JointTrajectoryController"),
        listed("hand", "position", "active", joints=("finger",)),
    ]
    activate(manager, others)
    request = manager.switches.asked[0][0]
    assert (request.activate_controllers, request.deactivate_controllers) == (["e"], ["t"])
    assert request.strictness == Request.STRICT
    assert [found.active for found in manager.seen] == [False, True] and switch.trouble == ""


def test_what_others_deactivate_is_followed_and_not_undone(manager, switch):
    activate(manager)
    manager.says(e="inactive")
    assert switch.trouble == "e was deactivated" and not manager.seen[-1].active
    for _ in range(30):
        manager.wait(0.1)
        if manager.lists.asked[-1][1].callbacks:
            manager.lists.answer(controller=[listed("e", "effort")])
    assert len(manager.switches.asked) == 1
    manager.says(e="active")
    assert manager.seen[-1].active and switch.trouble == ""


def test_a_manager_that_does_not_tell_of_changes_is_asked_for_them(manager, switch):
    activate(manager)
    manager.wait(0.1)
    manager.lists.answer(controller=[listed("e", "effort")])
    assert not manager.seen[-1].active
    manager.wait(0.1)
    manager.lists.answer(controller=[])
    assert "has no configured controller of effort" in switch.trouble


def test_what_is_heard_after_a_question_counts_before_its_answer(manager, switch):
    activate(manager)
    manager.wait(0.1)
    manager.now += 0.01
    manager.says(e="inactive")
    manager.lists.answer(controller=[listed("e", "effort", "active")])
    assert not manager.seen[-1].active


def test_a_refusal_is_said_and_asked_again_later(manager, switch):
    manager.wait(0.1)
    manager.lists.answer(controller=[listed("e", "effort")])
    manager.switches.answer(ok=False, message="hardware is not active")
    assert switch.trouble == "/controller_manager did not activate e: hardware is not active"
    manager.wait(0.5)
    assert len(manager.lists.asked) == 1
    manager.wait(0.6)
    assert len(manager.lists.asked) == 2


def test_no_answer_is_waited_for_for_ever_and_none_that_comes_later_counts(manager, switch):
    manager.lists.ready = False
    manager.wait(0.1)
    assert manager.lists.asked == [] and switch.trouble == "/controller_manager is not there"
    manager.lists.ready = True
    manager.wait(0.1)
    first = manager.lists.asked[0][1]
    late = list(first.callbacks)
    manager.wait(5.1)
    assert len(manager.lists.asked) == 2 and "does not answer" in switch.trouble
    first.result = lambda: SimpleNamespace(controller=[listed("e", "effort", "active")])
    for callback in late:
        callback(first)
    assert manager.seen == []


def test_after_the_end_nothing_is_asked_or_told(manager, switch):
    activate(manager)
    count, asked = len(manager.seen), len(manager.lists.asked)
    switch.end()
    manager.says(e="inactive")
    manager.wait(10.0)
    assert (len(manager.seen), len(manager.lists.asked)) == (count, asked)


def test_the_fallback_gets_the_drives_without_a_wait_and_is_asked_for_until_it_has_them(manager, switch):
    activate(manager)
    switch.fall_back("hold")  # no time passes
    request = manager.switches.asked[-1][0]
    assert (request.activate_controllers, request.deactivate_controllers) == (["hold"], ["e"])
    manager.switches.answer(ok=False, message="no such controller")
    assert switch.trouble == "/controller_manager did not activate hold: no such controller"
    manager.wait(1.1)
    assert len(manager.switches.asked) == 3
    manager.switches.answer(ok=True, message="")
    assert switch.trouble == "hold has the drives"
    manager.wait(5.0)
    assert len(manager.switches.asked) == 3
