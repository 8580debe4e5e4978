"""The rules for stamps and references (``node.input.references``), on a stage alone and on a control_loop with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest
import rclpy
from live import LiveGraph, own_domain
from planar_messages import joint_state
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import CartesianReference, JointReference
from flexarm_core.pipeline.stage import Stage
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import CartesianReference as Reference
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.control_loop import loop as control_loop
from flexarm_nodes.messages.conversions import cartesian_reference_form
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.stage.kind import StageKind
from flexarm_nodes.node.stage.node import StageNode
from flexarm_tools.graph.graph import GraphError

STAGE, LOOP, BENDING = "rns_vibration_controller", "control_loop", "flexible_dynamics_controller"
GIVEN, COMMANDS = topics.JOINT_REFERENCE, topics.command_topic("effort")
AXES = np.array([True, True, False, False, False, False])
URDF = Path(__file__).resolve().parents[2] / "urdf"
OWN = {"reference_timeout": 0.08, "check_gains": False}


def parameters(host: str, shared: dict, stage: str = STAGE, own: dict = OWN) -> dict:
    """Parameters of a stage alone, or of a loop with it, in lockstep or against a simulated clock."""
    if host == "alone":
        return shared | own
    inner = {f"{stage}.{name}": value for name, value in own.items()}
    gate = {"hardware_gate.lockstep": host == "lockstep", "use_sim_time": host == "clock"}
    return shared | inner | gate | {"stages": [stage, "hardware_gate"]}


class Host:
    """A vibration controller, alone or in a loop, that needs a joint state and a tool reference."""

    def __init__(self, live: LiveGraph, host: str) -> None:
        self.live, self.node, self.clocked = live, STAGE if host == "alone" else LOOP, host == "clock"
        self.answer = GIVEN if host == "alone" else COMMANDS  # what the process answers a joint state by
        text = load_robot_description(URDF / "planar_3r.urdf.xacro")
        live.start(self.node, parameters(host, {"robot_description": text, "gravity": [0.0, 0.0, 0.0]}))
        for topic, kind in ((GIVEN, JointReference), (COMMANDS, Float64MultiArray)):
            live.listen(topic, kind)
        self.states = live.publisher(topics.JOINT_STATES, JointState)
        self.references = live.publisher(topics.CARTESIAN_REFERENCE, CartesianReference)
        self.clock = live.node.create_publisher(Clock, topics.CLOCK, topics.CONTROL)
        live.until(lambda: live.node.count_publishers(GIVEN) > 0, GIVEN)
        self.begin()

    def begin(self) -> None:
        """Begin a new run: nothing has come."""
        for transition in ("deactivate", "activate"):
            self.live.graph.transition(self.node, transition)
        self.live.settle()
        for messages in self.live.received.values():
            messages.clear()

    def state(self, tick: int, velocity=(0.1, -0.2, 0.3)) -> None:
        message = joint_state(tick, velocity=velocity)
        if self.clocked:
            self.clock.publish(Clock(clock=message.header.stamp))
        self.states.publish(message)
        self.live.handled(self.node)

    def give(self, tick: int, x: float = 1.99, tool: str = "tool0") -> None:
        pose = np.array([x, 0.01, 0.0]), np.eye(3)
        record = Reference(tick * 1_000_000, "base_ft", *pose, np.zeros(6), np.zeros(6), AXES)
        self.references.publish(cartesian_reference_form(record, tool).message())
        self.live.handled(self.node)

    def says(self, words: str) -> None:
        """Wait until the stage, or the process that it is in, says this."""
        said = self.live.said
        self.live.until(lambda: any(words in text for name in (STAGE, LOOP) for _, text in said(name)), f"'{words}'")

    def expect(self, *ticks: int) -> list[JointReference]:
        """Wait until these ticks are answered, and others that must not be could have been; return the answers."""
        received = self.live.received[GIVEN]
        self.live.until(lambda: len(received) >= len(ticks), f"answers to {ticks}")
        self.live.spin(0.05)  # ten times sensor_wait
        self.live.handled(self.node)
        stamps = [message.header.stamp for message in received]
        assert [stamp.sec * 1000 + stamp.nanosec // 1_000_000 for stamp in stamps] == list(ticks)
        return received


@pytest.fixture(name="process", scope="module", params=["alone", "lockstep"])
def process_of_the_module(request, tmp_path_factory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch, own_domain():
        patch.setenv("ROS_LOG_DIR", str(folder / "ros"))
        graph = LiveGraph(folder)
        try:
            yield Host(graph, request.param)
        finally:
            graph.close()


@pytest.fixture(name="host")
def new_run(process) -> Host:
    """The same process, activated anew: starting one takes longer than a test."""
    process.begin()
    return process


def test_a_late_reference_answers_no_stamp_that_is_answered_and_is_used_for_the_next(host):
    host.state(1)
    host.says("waits for references of other nodes: tool")  # so that the first is there before the second
    host.state(2)
    host.says("no tool reference has come")  # for the first, which the second ended the wait of
    host.give(1)
    host.expect()  # the second still waits for its own
    host.state(3)
    late, *_ = host.expect(2)
    host.give(2, x=1.97)
    host.expect(2)
    host.give(3, x=1.97)
    _, in_time = host.expect(2, 3)
    assert list(late.effort) != list(in_time.effort)


def test_a_reference_that_does_not_come_is_waited_for_until_the_next_state_and_that_is_said(host):
    host.state(1)
    host.says("waits for references of other nodes: tool")
    host.expect()
    host.give(1)
    host.expect(1)
    host.state(200)
    host.state(201)
    host.says("tool reference is 0.199 s old, at most 0.08 s are accepted")
    host.expect(1)
    host.give(201)
    host.expect(1, 201)


def test_against_the_clock_a_loop_waits_for_no_longer_than_it_may(live):
    host = Host(live, "clock")
    for tick in range(10, 100, 10):  # a first one is rehearsed, which takes a while
        host.state(tick)
    host.says("no tool reference has come")
    host.give(100)
    host.state(100)
    host.state(110)  # its own does not come
    received = live.received[GIVEN]
    live.until(lambda: bool(received) and received[-1].header.stamp == joint_state(110).header.stamp, "an answer to it")
    stamps = [one.header.stamp for one in received]
    first = stamps.index(joint_state(100).header.stamp)
    assert first <= 1 and len(stamps) == first + 2  # the wait of the one before may not have ended


def test_what_is_repeated_gets_the_same_answer_if_it_is_a_state_and_none_if_it_is_a_reference(host):
    answers = host.live.received[host.answer]
    host.state(1)
    host.give(1)
    host.expect(1)
    host.give(1, x=1.97)
    host.expect(1)
    host.state(1, velocity=(0.0, 0.0, 0.0))
    host.live.until(lambda: len(answers) == 2, "the answer again")
    first, second = ([*one.effort] if host.answer == GIVEN else [*one.data] for one in answers)
    assert first == second


@pytest.mark.parametrize("first", [False, True], ids=["in a stream", "before any state"])
def test_a_reference_that_is_stamped_ahead_is_ignored_and_does_not_shut_out_those_of_now(host, first):
    if not first:
        host.state(1)
        host.give(1)
    host.give(3000)
    host.state(2)
    host.says(f"tool reference is stamped {2.998 if first else 2.999} s ahead of the joint state: ignored")
    host.expect(*([] if first else [1]))
    host.give(2)
    answered = [2] if first else [1, 2]
    host.expect(*answered)
    host.state(3000)  # the one that was ignored is none
    host.expect(*answered)


def test_a_reference_that_is_older_than_the_newest_that_came_is_ignored_though_that_is_not_in_use_yet(host):
    efforts = []
    for older in (False, True):
        host.begin()
        host.give(5, x=1.97)
        if older:
            host.give(3)
            host.says("tool reference is 0.002 s older than the newest: ignored")
        host.state(5)
        (answer,) = host.expect(5)
        efforts.append(list(answer.effort))
    assert efforts[0] == efforts[1]


def test_a_reference_that_cannot_be_used_is_not_replaced_by_an_older_one(host):
    host.state(1)
    host.give(1)
    host.state(2)
    host.give(2, tool="hand")  # what waits for it waits no longer
    host.says("reference is for tool frame 'hand'")
    host.state(3)
    host.expect(1)
    host.give(3)
    host.expect(1, 3)


def test_a_state_out_of_order_is_ignored_and_an_older_one_begins_anew(host):
    host.state(5000)
    host.give(5000)
    host.expect(5000)
    host.state(4950)
    host.says("joint state is 0.050 s older than the newest: ignored")
    host.state(1000)
    host.says("time went back by 4.000 s: restarted")
    host.expect(5000)  # the reference of 5 s is not one of 1 s
    host.give(1000)
    host.expect(5000, 1000)


@pytest.mark.parametrize("host", ["alone", "lockstep"])
def test_gains_that_do_not_hold_where_the_arm_is_are_refused_at_activation(live, host):
    """Quick gains, good for a bent elbow: with the arm folded the loop with this estimator is unstable."""
    text = load_robot_description(URDF / "flexible_2r.urdf.xacro")
    joint, limit = text.split('<joint name="elbow"')[0], 'lower="-3.141592653589793" upper="3.141592653589793"'
    narrow = text[: len(joint)] + text[len(joint) :].replace(limit, 'lower="0.6" upper="1.0"', 1)
    assert narrow != text
    own = {"position_gain": 625.0, "velocity_gain": 50.0, "effort_weight": 0.003, "stiffness_margin": 0.1}
    own |= {"estimator.strain_noise": 1e-5, "estimator.strain_error": 0.002, "delay": 0.0}
    shared = {"robot_description": narrow, "gravity": [0.0, 0.0, 0.0]}
    node = BENDING if host == "alone" else LOOP
    live.start(node, parameters(host, shared, BENDING, own), transitions=("configure",))
    states = live.publisher(topics.JOINT_STATES, JointState)
    live.settle()

    def rest_at(*position: float) -> None:
        states.publish(JointState(name=["shoulder", "elbow"], position=position, velocity=[0.0, 0.0]))
        live.handled(node)

    rest_at(-2.88, -3.04)
    with pytest.raises(GraphError, match="refused to activate"):
        live.graph.transition(node, "activate")
    live.wait_for_diagnostic(node, "cannot activate: effort_weight 0.003 does not hold with the arm as modeled")
    rest_at(0.1, 0.8)
    live.graph.transition(node, "activate")


class Compiles(Stage):
    """Gives joint references; something is compiled in its fifth tick."""

    name, needs = "compiles", frozenset[str]()

    def reset(self) -> None:
        self.ticks, self.compiled = 0, numba.njit(lambda x: x + 1.0)

    def update(self, tick) -> None:
        self.ticks += 1
        if self.ticks == 5:
            self.compiled(np.zeros(1))
        tick.give_joints(self.name, JointReferenceRecord(tick.stamp, effort=np.zeros(3)))


@pytest.mark.parametrize("host", ["alone", "lockstep", "clock"])
def test_a_tick_may_compile_unless_a_gate_in_the_process_must_see_its_sample_in_time(shared, monkeypatch, host):
    def build(values, model) -> BuiltStage:
        stage = Compiles()
        stage.reset()
        return BuiltStage(stage, lambda changed: None)

    kind = StageKind("compiles", "compiles", (), build)
    monkeypatch.setattr(control_loop, "stage_kinds", lambda: {kind.name: kind})
    with own_domain():
        rclpy.init(signal_handler_options=rclpy.SignalHandlerOptions.NO)
        node = StageNode(kind) if host == "alone" else control_loop.ControlLoop()
        try:
            given = parameters(host, shared, kind.name, {}) | {"use_sim_time": False}
            node.set_parameters_atomically([Parameter(name, value=value) for name, value in given.items()])
            node.trigger_configure()
            node.trigger_activate()
            assert node.active
            outputs, ticks = node._outputs if host == "alone" else node._output, []
            monkeypatch.setattr(outputs, "publish", ticks.append)
            while len(ticks) < 6:
                message, node.taken = joint_state(0), float("inf")  # however long a rehearsal takes
                message.header.stamp = node.get_clock().now().to_msg()
                node._on_joint_state(serialize_message(message))
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
    refused = ["compiles" in tick.refused for tick in ticks]
    assert refused == [False] * 4 + [host == "clock", False]
    assert host != "clock" or "a tick cannot wait for it" in ticks[4].refused["compiles"]
