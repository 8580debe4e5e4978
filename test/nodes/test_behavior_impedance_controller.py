"""behavior_impedance_controller as a real node: behaviors, joint states and wrenches in, references out."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import TwistStamped
from impedance_arm import (  # noqa: F401
    ACCELERATION,
    BENT,
    DT,
    NODE,
    PERIOD,
    ImpedanceArm,
    behavior,
    change,
    impedance_arm_made_active,
    impedance_arm_of_a_module,
    replace,
    stamp_of,
)

from flexarm.msg import CartesianReference, JointReference
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_nodes.messages.conversions import cartesian_reference_form, quaternion_to_rotation
from flexarm_nodes.node import topics


def test_it_holds_where_it_begins_and_answers_every_stamp_once_with_joints_and_tool(arm):
    arm.steps(20)
    assert np.allclose(arm.motion()[0], BENT, atol=1e-12) and not arm.motion()[1].any()
    stamps = [stamp_of(tick) for tick in range(1, 21)]
    assert [answer.header.stamp for answer in arm.answers] == stamps == [tool.header.stamp for tool in arm.tools]
    position, rotation = arm.chain.pose(BENT)
    pose = arm.tools[-1].pose
    assert np.allclose([pose.position.x, pose.position.y, pose.position.z], position, atol=1e-12)
    assert np.allclose(quaternion_to_rotation(pose.orientation), rotation, atol=1e-12)
    assert arm.tools[-1].header.frame_id == arm.chain.base_frame and arm.tools[-1].tool_frame == arm.chain.tool_frame
    assert arm.statuses[-1].wrench_valid and not arm.statuses[-1].held
    arm.send_state(tick=arm.tick)  # the plant did not hear: it says so again, and so does the node
    arm.live.until(lambda: len(arm.answers) == 21 and len(arm.tools) == 21, "the same answer again")
    assert arm.answers[-1] == arm.answers[-2] and arm.tools[-1] == arm.tools[-2]


def test_the_weight_of_the_tool_is_no_external_wrench_and_a_push_moves_the_tool_as_the_stiffness_says(arm):
    arm.live.listen(topics.SET_POINT, CartesianReference)
    arm.live.until(lambda: arm.live.node.count_publishers(topics.SET_POINT) > 0, topics.SET_POINT)
    arm.live.settle()
    arm.step()
    begin = arm.tool
    arm.steps(5)
    felt = arm.statuses[-1].wrench.force
    assert np.allclose([felt.x, felt.y, felt.z], 0.0, atol=1e-9)
    arm.steps(700, (8.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    felt, error = arm.statuses[-1].wrench.force, arm.statuses[-1].position_error
    assert np.allclose([felt.x, felt.y, felt.z], [8.0, 0.0, 0.0], atol=1e-9)
    assert np.allclose(arm.tool - begin, [8.0 / 2000.0, 0.0, 0.0], atol=1e-5)
    assert np.allclose([error.x, error.y, error.z], [8.0 / 2000.0, 0.0, 0.0], atol=1e-5)
    arm.live.until(lambda: len(arm.live.received[topics.SET_POINT]) == 706, "a set-point for each sample")
    point = arm.live.received[topics.SET_POINT][-1].pose.position  # the push did not move it
    assert np.allclose([point.x, point.y, point.z], begin, atol=1e-9)
    arm.check_limits()


def test_a_path_is_followed_to_its_end_and_the_joints_take_the_tool_there(arm):
    arm.step()
    begin = arm.tool
    arm.set(change(behavior("way", "path", positions=[0.0, 0.05, 0.05], relative=True)))
    arm.steps(600)
    assert np.allclose(arm.tool, begin + [0.0, 0.05, 0.05], atol=1e-6)
    assert arm.of("way").note == "at its end" and arm.of("way").measure == 1.0
    for answer, tool in zip(arm.answers, arm.tools, strict=True):
        point = tool.pose.position
        assert np.allclose(arm.chain.pose(np.array(answer.position))[0], [point.x, point.y, point.z], atol=1e-9)
    arm.check_limits()


def test_a_force_settles_in_a_springy_contact_while_the_tool_is_led_along_it(arm):
    arm.step()
    begin, stiffness, wall = arm.tool, 5000.0, arm.tool[2] - 0.005
    arm.set(
        change(
            behavior("press", "force", wrench=[0.0, 0.0, -10.0, 0.0, 0.0, 0.0], damping=[1500.0, 50.0]),
            behavior("along", "path", positions=[0.0, 0.06, 0.0], relative=True, max_linear_velocity=0.05),
        )
    )
    for _ in range(700):
        arm.step((0.0, 0.0, stiffness * max(wall - arm.tool[2], 0.0), 0.0, 0.0, 0.0))
    assert abs(stiffness * (wall - arm.tool[2]) - 10.0) < 0.05
    assert arm.of("press").note == "in contact" and arm.of("press").measure < 0.05
    assert np.allclose(arm.tool[:2], begin[:2] + [0.0, 0.06], atol=1e-4)
    arm.check_limits()


def test_a_stream_of_references_is_followed_sample_by_sample(arm):
    arm.set(change(behavior("stream", "path", source="stream")))
    begin, rotation = arm.chain.pose(BENT)
    for tick in range(1, 250):
        way = 0.03 * np.sin(np.pi / 2.0 * min(tick / 150.0, 1.0)) ** 2 * np.array([1.0, 0.0, 0.0])
        still, axes = np.zeros(6), np.ones(6, dtype=bool)
        record = CartesianReferenceRecord(
            tick * PERIOD, arm.chain.base_frame, begin + way, rotation, still, still, axes
        )
        arm.send_state()
        arm.send_wrench()
        assert len(arm.answers) < tick  # the wrench alone is not enough: it waits for the reference of the stamp
        arm.references.publish(cartesian_reference_form(record, arm.chain.tool_frame).message())
        arm.wait_for_answer()
        assert arm.of("stream").note == "following references" or tick == 1
    assert np.allclose(arm.tool, begin + way, atol=1e-4)
    wrong = CartesianReference(tool_frame="hand")
    arm.references.publish(wrong)
    arm.live.wait_for_diagnostic(NODE, "reference is for tool frame 'hand', this node drives 'tool0'")


def test_an_operator_leads_the_tool_and_a_stream_that_stops_brings_it_to_rest(arm):
    arm.set(change(behavior("hand", "teleoperation", timeout=0.1)))
    arm.step()
    begin = arm.tool
    for _ in range(250):
        arm.twists.publish(twist(y=0.05))
        arm.step()
    moving = arm.answers[-1]
    assert np.abs(moving.velocity).max() > 0.01 and arm.of("hand").note == "following"
    assert arm.of("hand").twist.linear.y > 0.04 and arm.tool[1] > begin[1] + 0.01
    # age 0.1 s, then 0.05 m/s at 1 m/s^2, then the law settles
    arm.steps(round(0.1 / DT) + round(0.05 / DT) + 300)
    assert np.abs(arm.answers[-1].velocity).max() < 1e-4 and arm.of("hand").note == "no twists"
    rest = arm.tool
    arm.steps(50)
    assert np.allclose(arm.tool, rest, atol=1e-5)
    arm.check_limits()


def twist(y=0.0, frame="", tick=0) -> TwistStamped:
    message = TwistStamped()
    message.header.stamp, message.header.frame_id, message.twist.linear.y = stamp_of(tick), frame, y
    return message


def test_twists_of_another_frame_not_finite_or_for_nobody_are_refused_and_one_of_a_late_clock_ends_all_the_same(arm):
    arm.step()
    arm.twists.publish(twist(y=0.1))
    arm.live.wait_for_diagnostic(NODE, "no behavior of kind teleoperation takes part")
    arm.set(change(behavior("hand", "teleoperation", frame="tool", timeout=0.05)))
    for message, reason in (
        (twist(y=0.1, frame="base_link"), "twist command is in frame 'base_link'; followed is 'tool0'"),
        (twist(y=float("nan"), frame="tool0"), "a twist is six finite numbers"),
    ):
        arm.live.spin(0.6)  # the diagnostics say no more than so often
        arm.twists.publish(message)
        arm.live.wait_for_diagnostic(NODE, reason)
    arm.steps(20)
    assert not np.array(arm.answers[-1].velocity).any()
    arm.twists.publish(twist(y=0.1, frame="tool0", tick=10_000_000))  # a clock that is far ahead
    arm.live.handled(NODE)
    arm.steps(10)
    assert np.abs(arm.answers[-1].velocity).max() > 1e-3
    arm.steps(300)
    assert arm.of("hand").note == "no twists" and np.abs(arm.answers[-1].velocity).max() < 1e-4
    arm.twists.publish(twist(y=0.1, frame="tool0", tick=1))  # a clock that is behind
    arm.live.wait_for_diagnostic(NODE, "and over after 0.05 s, so nothing moves: set the clocks alike, stamp it with 0")


def test_behaviors_that_contradict_each_other_stay_within_all_limits_and_the_arm_goes_on(arm):
    arm.step()
    begin = arm.tool
    far = {"relative": True, "max_linear_velocity": 1.0, "max_linear_acceleration": 20.0}
    plate = {"names": ["plate"], "kinds": ["half_space"], "positions": [0.0, 0.0, float(begin[2] - 0.1)]}
    arm.set(
        replace(
            behavior("down", "path", positions=[0.0, 0.0, -0.6], **far),
            behavior("away", "spring", position=[0.0, 0.0, 2.0], stiffness=[3000.0] * 3 + [0.0] * 3, max_force=500.0),
            behavior("press", "force", wrench=[0.0, 60.0, 0.0, 0.0, 0.0, 0.0], axes=[False, True] + [False] * 4),
            behavior("shake", "dither", amplitude=[0.01] * 3 + [0.0] * 3, frequency=9.0),
            behavior("plate", "obstacles", **plate, sizes=[0.0] * 3, ignored_links=[]),
            behavior("limits", "joint_limits"),
            behavior("posture", "posture", stiffness=[200.0]),
        )
    )
    for tick in range(400):
        arm.step((0.0, 40.0 * np.sin(tick), 40.0, 3.0, 0.0, 0.0))
    arm.check_limits()
    assert len(arm.answers) == 401
    heights = [arm.chain.pose(np.array(answer.position))[0][2] for answer in arm.answers]
    assert min(heights) > begin[2] - 0.1
    arm.set(replace())  # the tool is held where it was led last: below the plate
    arm.steps(1600)
    assert np.abs(arm.answers[-1].velocity).max() < 1e-3 and not arm.statuses[-1].held
    arm.check_limits()


def test_the_tool_alone_is_led_where_another_node_solves_for_the_joints(live):
    arm = ImpedanceArm(live, start=False, output="tool", behaviors=["way"], **{"way.kind": "path", "way.relative": True,
                       "way.positions": [0.0, 0.02, 0.0]})  # fmt: skip
    for transition in ("configure", "activate"):
        live.graph.transition(NODE, transition)
    arm.connect(leads=False)
    for _ in range(5):
        arm.send_state()
        arm.send_wrench()
        live.until(lambda: bool(arm.tools) and arm.tools[-1].header.stamp == stamp_of(arm.tick), "the tool")
    live.handled(NODE)
    assert not arm.answers and len(arm.tools) == 5
    assert isinstance(arm.tools[-1], CartesianReference) and JointReference not in map(type, arm.tools)
    assert ACCELERATION > 0.0 and arm.tools[-1].twist.linear.y > 0.0
