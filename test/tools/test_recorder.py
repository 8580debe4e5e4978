"""The recorder: what arms that bend say on their topics arrives in its row and column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, WrenchStamped
from live import LiveGraph, own_domain
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from flexarm.msg import (
    BaseWrenchEstimate,
    CartesianReference,
    FlexibleState,
    JointReference,
    SimulationStatus,
    StrainState,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.messages.form import Form
from flexarm_nodes.node import topics
from flexarm_tools.recording.message_blocks import MOST, FormBlocks, MessageBlocks
from flexarm_tools.recording.message_rows import MessageRows, by_name
from flexarm_tools.recording.recorder import Outcome, Recorder

URDF = Path(__file__).resolve().parents[2] / "urdf"
TICKS = 5
PERIOD = 1e-3  # [s]
OUTCOME = Outcome(TICKS, PERIOD, float("nan"), (), ())


@pytest.fixture
def live(tmp_path) -> Iterator[LiveGraph]:
    """A graph of its own."""
    with own_domain():
        graph = LiveGraph(tmp_path)
        try:
            yield graph
        finally:
            graph.close()


def stamped(tick: int, message):
    message.header.stamp = nanoseconds_to_stamp(tick * 1_000_000)
    return message


def test_estimates_of_the_base_are_recorded_by_name():
    model = ArmModel(load_robot_description(URDF / "wheel_3r.urdf.xacro", {}))
    rows, names = MessageRows(model, ""), model.elastic_joint_names
    known = rows.columns(2)
    message = FlexibleState(elastic_joints=list(names[::-1]), deflection=[2.0, 1.0], deflection_rate=[20.0, 10.0])
    blocks = MessageBlocks(FlexibleState, lambda block: rows.fills[topics.FLEXIBLE_STATE](known, block))
    blocks.add(1, serialize_message(message))
    blocks.end()
    np.testing.assert_array_equal(known["estimated_deflection"], [[np.nan, np.nan], [1.0, 2.0]])
    np.testing.assert_array_equal(known["estimated_deflection_rate"], [[np.nan, np.nan], [10.0, 20.0]])


def test_modes_strains_and_desired_positions_are_recorded_by_name(live, tmp_path):
    model = ArmModel(load_robot_description(URDF / "flexible_2r.urdf.xacro", {"modes": "2"}))
    recorder = Recorder(live.node, model, real_time=False)
    kinds = {
        topics.TRUE_FLEXIBLE_STATE: FlexibleState,
        topics.FLEXIBLE_STATE: FlexibleState,
        topics.STRAIN: StrainState,
        topics.DESIRED_JOINT_REFERENCE: JointReference,
    }
    senders = {topic: live.publisher(topic, kind) for topic, kind in kinds.items()}
    modes = [f"{link}/bending_y_{i}" for link in ("upper_arm", "forearm") for i in (1, 2)]
    for tick in range(TICKS):
        values = [1.0 + tick, 2.0, 3.0, 4.0]
        true = FlexibleState(modes=modes, modal_position=values, modal_rate=[-value for value in values])
        few = FlexibleState(modes=modes[2::-2], modal_position=[30.0 + tick, 10.0])  # two modes, no rates
        senders[topics.TRUE_FLEXIBLE_STATE].publish(stamped(tick, true))
        if tick > 0:
            senders[topics.FLEXIBLE_STATE].publish(stamped(tick, few))
        strain = StrainState(names=["forearm_root", "upper_arm_root"], strain=[1e-5, 2e-5])
        senders[topics.STRAIN].publish(stamped(tick, strain))
        desired = JointReference(names=["elbow", "shoulder"], position=[0.2, 0.1 * tick])
        senders[topics.DESIRED_JOINT_REFERENCE].publish(stamped(tick, desired))
    live.until(lambda: recorder.take() == 4 * TICKS - 1, "every message")
    recording = recorder.finish(OUTCOME)
    assert recording.modes == tuple(modes)
    np.testing.assert_array_equal(recording.modal_position[3], [4.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(recording.modal_rate[3], [-4.0, -2.0, -3.0, -4.0])
    np.testing.assert_array_equal(recording.estimated_modal_position[2], [10.0, np.nan, 32.0, np.nan])
    assert np.isnan(recording.estimated_modal_position[0]).all() and np.isnan(recording.estimated_modal_rate).all()
    np.testing.assert_array_equal(recording.strain[1], [2e-5, np.nan, 1e-5, np.nan])
    np.testing.assert_allclose(recording.desired_position[4], [0.4, 0.2])
    assert recording.lost_samples == TICKS  # of the joints' truth nothing came


def test_a_run_is_complete_only_with_the_truth_of_its_modes(live):
    model = ArmModel(load_robot_description(URDF / "flexible_2r.urdf.xacro", {"modes": "2"}))
    recorder = Recorder(live.node, model, real_time=False)
    kinds = {
        topics.TRUE_JOINT_STATES: JointState,
        topics.TRUE_TOOL_POSE_IN_BASE: PoseStamped,
        topics.TRUE_FLEXIBLE_STATE: FlexibleState,
    }
    senders = {topic: live.publisher(topic, kind) for topic, kind in kinds.items()}
    for topic in (topics.TRUE_JOINT_STATES, topics.TRUE_TOOL_POSE_IN_BASE):
        for _ in range(2):
            senders[topic].publish(kinds[topic]())
    live.until(lambda: recorder.take() == 4, "the truth of rigid links")
    assert recorder.complete(2)  # from a plant that knows no modes
    for count in (1, 2):
        senders[topics.TRUE_FLEXIBLE_STATE].publish(FlexibleState())
        live.until(lambda count=count: recorder.take() == 4 + count, "the truth of the modes")
        assert recorder.complete(2) == (count == 2)


def test_contact_and_the_path_behind_the_reference_are_recorded(live, planar_3r):
    recorder = Recorder(live.node, planar_3r, real_time=False)
    kinds = {
        topics.TRUE_CONTACT_WRENCH: WrenchStamped,
        topics.SET_POINT: CartesianReference,
        topics.CARTESIAN_REFERENCE: CartesianReference,
    }
    senders = {topic: live.publisher(topic, kind) for topic, kind in kinds.items()}
    for tick in range(TICKS):
        wrench = WrenchStamped()
        wrench.wrench.force.x, wrench.wrench.force.z, wrench.wrench.torque.y = 1.0, 10.0 + tick, -2.0
        senders[topics.TRUE_CONTACT_WRENCH].publish(stamped(tick, wrench))
        for topic, frame, place in (
            (topics.SET_POINT, "world", 0.5),
            (topics.CARTESIAN_REFERENCE, "base_ft", 0.2),
        ):
            reference = CartesianReference()
            reference.header.frame_id, reference.pose.position.y = frame, place
            senders[topic].publish(stamped(tick, reference))
    live.until(lambda: recorder.take() == 3 * TICKS, "every message")
    recording = recorder.finish(Outcome(TICKS + 1, PERIOD, float("nan"), (), ()))
    np.testing.assert_array_equal(recording.contact_wrench[3], [1.0, 0.0, 13.0, 0.0, -2.0, 0.0])
    assert np.isnan(recording.contact_wrench[TICKS]).all()
    np.testing.assert_array_equal(recording.path_position[2], [0.0, 0.5, 0.0])
    np.testing.assert_array_equal(recording.reference_position[2], [0.0, 0.2, 0.0])
    assert (recording.path_frame, recording.reference_frame) == ("world", "base_ft")


def test_friction_its_estimate_and_the_efforts_of_the_reference_are_recorded_by_name(live, planar_3r):
    recorder = Recorder(live.node, planar_3r, real_time=False)
    kinds = {
        topics.TRUE_JOINT_FRICTION: JointState,
        topics.JOINT_REFERENCE: JointReference,
        topics.BASE_WRENCH_ESTIMATE: BaseWrenchEstimate,
    }
    senders = {topic: live.publisher(topic, kind) for topic, kind in kinds.items()}
    names = ["joint3", "joint1", "joint2"]
    for tick in range(TICKS):
        true = JointState(name=names, effort=[3.0, 1.0 + tick, 2.0])
        reference = JointReference(names=names, velocity=[0.3, 0.1, 0.2], effort=[30.0, 10.0, 20.0])
        if tick > 2:
            reference.friction = [3.1, 1.1, 2.1]
        estimate = BaseWrenchEstimate(names=names, torque=[0.0, -1.0, 5.0], friction=[np.nan, 1.5, 2.5])
        estimate.residual_wrench.force.y, estimate.residual_wrench.torque.z = 4.0, -0.5
        estimate.valid, estimate.contact, estimate.correction_weight = tick != 1, tick == 4, 0.25 * tick
        for topic, message in zip(senders, (true, reference, estimate), strict=True):
            senders[topic].publish(stamped(tick, message))
    live.until(lambda: recorder.take() == 3 * TICKS, "every message")
    recording = recorder.finish(OUTCOME)
    np.testing.assert_array_equal(recording.true_friction[2], [3.0, 2.0, 3.0])
    np.testing.assert_array_equal(recording.reference_velocity[2], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(recording.reference_effort[2], [10.0, 20.0, 30.0])
    assert np.isnan(recording.reference_friction[2]).all()
    np.testing.assert_array_equal(recording.reference_friction[3], [1.1, 2.1, 3.1])
    np.testing.assert_array_equal(recording.estimated_torque[0], [-1.0, 5.0, 0.0])
    np.testing.assert_array_equal(recording.estimated_friction[0], [1.5, 2.5, np.nan])
    np.testing.assert_array_equal(recording.residual_wrench[0], [0.0, 4.0, 0.0, 0.0, 0.0, -0.5])
    np.testing.assert_array_equal(recording.estimate_valid, [1.0, 0.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(recording.contact_detected, [0.0, 0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(recording.correction_weight, [0.0, 0.25, 0.5, 0.75, 1.0])


def test_a_run_on_surfaces_is_complete_only_with_the_truth_of_its_contact(live, planar_3r):
    recorder = Recorder(live.node, planar_3r, real_time=False)
    kinds = {
        topics.TRUE_JOINT_STATES: JointState,
        topics.TRUE_TOOL_POSE_IN_BASE: PoseStamped,
        topics.TRUE_CONTACT_WRENCH: WrenchStamped,
    }
    senders = {topic: live.publisher(topic, kind) for topic, kind in kinds.items()}
    for topic, kind in kinds.items():
        senders[topic].publish(kind())
    for topic in (topics.TRUE_JOINT_STATES, topics.TRUE_TOOL_POSE_IN_BASE):
        senders[topic].publish(kinds[topic]())
    live.until(lambda: recorder.take() == 5, "all but one")
    assert recorder.complete(1) and not recorder.complete(2)
    senders[topics.TRUE_CONTACT_WRENCH].publish(WrenchStamped())
    live.until(lambda: recorder.take() == 6, "the last")
    assert recorder.complete(2)


def test_a_node_that_answered_states_one_after_the_other_is_awaited_until_the_last(live, planar_3r):
    recorder = Recorder(live.node, planar_3r, real_time=False)
    states, references = (
        live.publisher(topics.TRUE_JOINT_STATES, JointState),
        live.publisher(topics.JOINT_REFERENCE, JointReference),
    )
    assert recorder.ticks_behind() == 0
    for tick in range(7):
        states.publish(stamped(tick, JointState()))
    live.until(lambda: recorder.take() == 7, "the states")
    # one reference alone, and those of other ticks than those in a row, are of somebody who sends now and then
    for count, (tick, behind) in enumerate(((0, 0), (1, 5), (2, 4), (4, 0), (5, 1), (6, 0)), 8):
        references.publish(stamped(tick, JointReference()))
        live.until(lambda count=count: recorder.take() == count, "a reference")
        assert recorder.ticks_behind() == behind


def test_where_only_times_are_asked_for_states_and_commands_are_heard_and_nothing_else(live, planar_3r):
    recorder = Recorder(live.node, planar_3r, real_time=True, only_times=True)
    for topic in (topics.TRUE_JOINT_STATES, topics.JOINT_REFERENCE, topics.CARTESIAN_REFERENCE):
        assert live.node.count_subscribers(topic) == 0
    states = live.publisher(topics.JOINT_STATES, JointState)
    commands = live.publisher(topics.COMMANDED_REFERENCE, JointReference)
    reports = live.publisher(topics.DIAGNOSTICS, DiagnosticArray)
    for tick in range(TICKS):
        states.publish(stamped(tick, JointState()))
        live.spin(0.02)
        if tick != 2:
            commands.publish(stamped(tick, JointReference()))
    reports.publish(DiagnosticArray(status=[DiagnosticStatus(values=[KeyValue(key="stops", value="3")])]))
    live.until(lambda: recorder.finish(OUTCOME).watchdog_stops == 3, "the report")
    assert recorder.complete(TICKS) and recorder.knows([])
    recording = recorder.finish(OUTCOME)
    np.testing.assert_array_equal(np.isnan(recording.tick_latency), np.arange(TICKS) == 2)
    assert np.nanmin(recording.tick_latency) > 0.015
    assert recording.lost_samples == 0 and np.isnan(recording.position).all()


def test_what_nodes_say_after_the_last_tick_does_not_count(live, planar_3r):
    recorder = Recorder(live.node, planar_3r, real_time=False)
    recorder.last_tick = TICKS - 1
    ticks = live.publisher(topics.SIMULATION_STATUS, SimulationStatus)
    reports = live.publisher(topics.DIAGNOSTICS, DiagnosticArray)
    for tick, stops in ((0, 0), (TICKS - 2, 1), (TICKS - 1, 2)):
        ticks.publish(SimulationStatus(tick=tick))
        live.until(lambda tick=tick: recorder.take() == 0 and recorder.status and recorder.status.tick == tick, "it")
        said = DiagnosticStatus(name="gate", message=f"{stops}", values=[KeyValue(key="stops", value=f"{stops}")])
        reports.publish(DiagnosticArray(status=[said]))
        live.until(lambda stops=stops: live.said("gate")[-1:] == [(0, f"{stops}")], "the report")
        live.spin(0.0)
    recording = recorder.finish(OUTCOME)
    assert recording.watchdog_stops == 1
    assert [event.message for event in recording.events if event.source == "gate"] == ["0", "1"]
    recorder.close()


def test_an_arm_of_rigid_links_is_not_asked_for_modes(live, planar_3r):
    recorder = Recorder(live.node, planar_3r, real_time=False)
    names = {info for info, _ in live.node.get_topic_names_and_types()}
    assert not names & {f"/{topic}" for topic in (topics.TRUE_FLEXIBLE_STATE, topics.STRAIN)}
    assert f"/{topics.FLEXIBLE_STATE}" in names  # its base is elastic
    recorder.close()


def test_values_are_picked_by_name_and_missing_ones_are_nan():
    np.testing.assert_array_equal(by_name(("a", "b"), ["b", "a"], np.array([[1.0, 2.0], [3.0, 4.0]])), [[2, 1], [4, 3]])
    np.testing.assert_array_equal(by_name(("a", "c"), ["a"], np.array([[7.0]])), [[7.0, np.nan]])
    assert np.isnan(by_name(("a", "b"), ["a"], np.empty((3, 0)))).all()


def test_messages_with_other_words_get_a_block_of_their_own_and_full_ones_are_handed_over(planar_3r):
    rows = MessageRows(planar_3r, "")
    known, sizes = rows.columns(2 * MOST), []

    def take(block):
        sizes.append(len(block.rows))
        rows.fills[topics.DESIRED_JOINT_REFERENCE](known, block)

    blocks, names = MessageBlocks(JointReference, take), list(planar_3r.joint_names)
    for row in range(MOST + 3):
        blocks.add(row, serialize_message(JointReference(names=names, position=[float(row), 2.0, 3.0])))
    blocks.add(MOST + 5, serialize_message(JointReference(names=names[::-1], position=[6.0, 5.0, 4.0])))
    blocks.end()
    assert sizes == [MOST, 3, 1]
    np.testing.assert_array_equal(known["desired_position"][: MOST + 3, 0], np.arange(MOST + 3.0))
    np.testing.assert_array_equal(known["desired_position"][MOST + 5], [4.0, 5.0, 6.0])
    assert np.isnan(known["desired_position"][MOST + 3 : MOST + 5]).all()


def test_forms_are_recorded_as_their_messages_are_and_words_that_come_and_go_keep_their_rows(planar_3r):
    rows = MessageRows(planar_3r, "")
    fill, names = rows.fills[topics.DESIRED_JOINT_REFERENCE], planar_3r.joint_names
    known = [rows.columns(3 * MOST) for _ in range(2)]
    forms = FormBlocks(lambda block: fill(known[0], block))
    blocks = MessageBlocks(JointReference, lambda block: fill(known[1], block))
    for row in range(0, 2 * MOST + 9, 2):
        order = names if row % 3 else names[::-1]
        numbers = {"position": np.array([row, 0.5, -row]), "velocity": (), "acceleration": (), "effort": ()}
        form = Form(JointReference, numbers, {"names": tuple(order)}, row * 1_000_000)
        forms.add(row, form)
        blocks.add(row, serialize_message(form.message()))
    forms.end()
    blocks.end()
    np.testing.assert_array_equal(known[0]["desired_position"], known[1]["desired_position"])
    np.testing.assert_array_equal(known[0]["desired_position"][[2, 6]], [[2.0, 0.5, -2.0], [-6.0, 0.5, 6.0]])
    assert np.isfinite(known[0]["desired_position"]).all(axis=1).sum() == MOST + 5


def test_numbers_that_forms_of_the_same_words_give_only_now_and_then_keep_their_rows(planar_3r):
    rows = MessageRows(planar_3r, "")
    fill, known = rows.fills[topics.JOINT_REFERENCE], rows.columns(20)
    forms = FormBlocks(lambda block: fill(known, block))
    for row in range(20):
        velocity = np.array([0.1, row, 0.3]) if row % 5 < 2 else ()
        numbers = {"position": (), "velocity": velocity, "acceleration": (), "effort": (1.0, 2.0, 3.0)}
        forms.add(row, Form(JointReference, numbers, {"names": tuple(planar_3r.joint_names)}, row * 1_000_000))
    forms.end()
    given = np.isfinite(known["reference_velocity"]).all(axis=1)
    assert given.tolist() == [row % 5 < 2 for row in range(20)]
    np.testing.assert_array_equal(known["reference_velocity"][given, 1], np.flatnonzero(given))
    np.testing.assert_array_equal(known["reference_effort"], np.tile([1.0, 2.0, 3.0], (20, 1)))
