"""control_loop: another command mode while it runs; the real node with a switch that only keeps what it is asked."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import rclpy
from live import own_domain
from planar_messages import joint_state
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from tick_habits import compiled, grown

from flexarm_nodes.control_loop.loop import ANSWER_ARRIVES, ControlLoop
from flexarm_nodes.hardware_gate import output

MODE, GAIN = "hardware_gate.command_mode", "flexible_dynamics_controller.position_gain"
TICK = 1_000_000  # [ns]
TOLERANCE = "behavior_impedance_controller.deviation_tolerance"


class Switch(SimpleNamespace):
    """Stands for the services of a controller manager, which need not be installed."""

    controller, trouble = None, ""

    def __init__(self, *_: object) -> None:
        self.asked: list[str] = []

    def begin(self, mode: str) -> None:
        self.asked.append(mode)

    def close(self) -> None:
        """Nothing is open."""

    end = close


@pytest.fixture
def loop(shared, monkeypatch) -> Iterator[ControlLoop]:
    """A control loop in lockstep that a controller manager gives the drives."""
    monkeypatch.setattr(output, "AVAILABLE", True)
    monkeypatch.setattr(output, "ControllerSwitch", Switch)
    with own_domain():
        rclpy.init(signal_handler_options=rclpy.SignalHandlerOptions.NO)
        node = ControlLoop()
        try:
            given = {
                **shared,
                "stages": ["behavior_impedance_controller", "flexible_dynamics_controller", "hardware_gate"],
                "behavior_impedance_controller.axes": [True, True, False, False, False, False],
                "flexible_dynamics_controller.law": "joint_pd",
                "hardware_gate.lockstep": True,
                "hardware_gate.controller_manager": "/controller_manager",
            }
            assert not refused(node, **given)
            node.trigger_configure()
            node.trigger_activate()
            assert node.active
            yield node
        finally:
            node.destroy_node()
            rclpy.try_shutdown()


def refused(node: ControlLoop, **values: object) -> str:
    """Set parameters together; return why they are refused."""
    answer = node.set_parameters_atomically([Parameter(name, value=value) for name, value in values.items()])
    return "" if answer.successful else answer.reason


def test_the_command_mode_is_live_as_in_the_gates_own_node(loop):
    assert not refused(loop, **{MODE: "velocity"})
    assert loop._commands._switch.asked == ["effort", "velocity"]
    assert "can only change while the node is not configured" in refused(loop, **{"hardware_gate.rate": 100.0})


def test_a_change_that_a_stage_rejects_leaves_the_mode(loop):
    assert "do not hold" in refused(loop, **{MODE: "velocity", GAIN: 1e9})
    assert loop._commands._switch.asked == ["effort"]


def test_a_change_that_a_later_stage_rejects_leaves_the_stages_before_it(loop):
    deviation = loop._built["behavior_impedance_controller"].stage.deviation
    before = deviation.tolerance
    assert "do not hold" in refused(loop, **{TOLERANCE: 2.0 * before, GAIN: 1e9})
    assert deviation.tolerance == before
    assert not refused(loop, **{TOLERANCE: 2.0 * before})
    assert deviation.tolerance == 2.0 * before


def test_without_a_controller_manager_a_mode_is_rejected_before_any_stage_changes(loop):
    loop._commands._switch = None
    controller = loop._built["flexible_dynamics_controller"].stage.controller
    before = controller.config
    assert "command_mode changes only while" in refused(loop, **{MODE: "velocity", GAIN: 1.0})
    assert controller.config is before


def test_a_repeated_state_is_not_answered_in_the_mode_before(loop):
    sent = []
    loop._send = sent.append

    def repeat() -> None:
        time.sleep(1.1 * ANSWER_ARRIVES)
        loop.taken = time.perf_counter()
        loop._on_joint_state(serialize_message(joint_state(1)))

    loop._pipeline.gate.gate.resume("effort")  # its controller is active
    for tick in (0, 1):
        loop.taken = time.perf_counter()
        loop._on_joint_state(serialize_message(joint_state(tick)))
    repeat()
    assert len(sent) == 3 and sent[2] is sent[1] is not None
    loop._pipeline.gate.gate.resume("velocity")
    repeat()
    assert len(sent) == 3


def test_a_tick_of_the_node_neither_compiles_nor_keeps_memory(loop):
    loop._pipeline.gate.gate.resume("effort")

    states = [serialize_message(joint_state(tick)) for tick in range(1400)]  # rclpy keeps memory of each

    def run(ticks: range) -> None:
        for tick in ticks:
            loop.taken = time.perf_counter()
            loop._on_joint_state(states[tick])
            assert loop._answered == tick * TICK

    run(range(1, 400))
    with compiled() as kernels:
        blocks = grown(lambda: run(range(400, 1400)))
    assert kernels == [] and blocks < 500
    assert loop._times.count == 1399


def test_garbage_is_collected_when_an_answer_is_out_and_by_python_again_when_the_node_is_not_active(loop):
    assert not gc.isenabled()
    loop._pipeline.gate.gate.resume("effort")
    loop.tidiness._tidied = -1e9
    collections = []
    gc.callbacks.append(lambda phase, _: collections.append((phase, loop._answered)))
    try:
        for tick in (1, 2, 3):  # the first begins anew, after the rehearsal
            loop._on_joint_state(serialize_message(joint_state(tick)))
            if tick == 2:
                loop.tidiness._tidied = -1e9
    finally:
        gc.callbacks.clear()
    assert collections == [("start", None), ("stop", None), ("start", 3 * TICK), ("stop", 3 * TICK)]
    loop.trigger_deactivate()
    assert gc.isenabled()
