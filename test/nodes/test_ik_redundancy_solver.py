"""ik_redundancy_solver as a real node: streams of references and single poses in, joint references and joints out."""

from __future__ import annotations

import numpy as np
import pytest
import robots
from led_arm import (  # noqa: F401
    ACCELERATION,
    BENT,
    NODE,
    PERIOD,
    Arm,
    arm_made_active,
    arm_of_a_module,
    pose_message,
    smooth,
    stamp_of,
)
from sensor_msgs.msg import JointState

from flexarm.msg import CartesianReference, JointReference, RedundancyState
from flexarm.srv import SolveIk
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_nodes.messages.conversions import (
    cartesian_reference_form,
    quaternion_to_rotation,
    rotation_to_quaternion,
)
from flexarm_nodes.node import topics
from flexarm_tools.graph.graph import GraphError


def test_a_stream_through_the_wrist_singularity_is_followed_without_a_stop_as_the_core_does(live):
    start = np.array([0.2, 0.3, 1.2, 0.1, 0.4, -0.2])
    arm = Arm(live, "arm_6r", start, source="stream")
    core = RedundancySolver(arm.chain, limits_of(arm.chain), RedundancyConfig())
    core.begin(start)
    through = start - np.array([0.1, 0.0, 0.0, 0.0, 0.8, 0.0])
    for r in np.linspace(0.0, 1.0, 150):
        pose = arm.chain.pose(start + smooth(r) * (through - start))
        answer = arm.follow(pose)
        if arm.tick > 1:  # the first sample is where the arm is
            core.update(*sent(pose), dt=PERIOD * 1e-9)
        assert np.allclose(answer.position, core.position, rtol=0.0, atol=1e-12)
        assert np.allclose(answer.velocity, core.velocity, rtol=0.0, atol=1e-9)
    _, velocity, acceleration = arm.motion()
    assert np.abs(velocity).max() <= 3.0 + 1e-9 and np.abs(acceleration).max() <= ACCELERATION + 1e-6
    assert max(state.condition_number for state in arm.resolutions[1:]) > 30.0
    assert np.abs(velocity[20:130]).max(axis=1).min() > 0.05  # no stop on the way
    assert {state.activity for state in arm.resolutions} == {RedundancyState.STREAMING}
    error = [state.position_error for state in arm.resolutions]
    assert max(np.linalg.norm([e.x, e.y, e.z]) for e in error) < 1e-3


def sent(pose):
    """A pose as it arrives: through a quaternion."""
    return pose[0], quaternion_to_rotation(rotation_to_quaternion(pose[1]))


def limits_of(chain) -> MotionLimits:
    return MotionLimits(chain.lower, chain.upper, chain.velocity_limit, np.full(chain.n, ACCELERATION))


def test_every_stamp_is_answered_once_before_during_and_after_a_stream(arm):
    pose = arm.chain.pose(BENT)
    arm.hold(3)
    arm.send_reference(*pose)  # of a stamp that has been answered: it announces the stream
    arm.live.wait_for_diagnostic(NODE, "holding")
    arm.live.handled(NODE)
    for _ in range(5):
        arm.follow(pose)
    for _ in range(8):  # the stream ceases: these wait for its references, each until the next
        arm.send_state()
        arm.live.handled(NODE)
    assert len(arm.answers) == 15
    arm.hold(4)  # and from here on the node holds by itself
    arm.live.handled(NODE)
    stamps = [answer.header.stamp for answer in arm.answers]
    assert stamps == [stamp_of(tick) for tick in range(1, 21)]
    kinds = [state.activity for state in arm.resolutions]
    assert kinds == [RedundancyState.HOLDING] * 3 + [RedundancyState.STREAMING] * 13 + [RedundancyState.HOLDING] * 4
    assert np.allclose(arm.position, BENT, atol=1e-9)


def test_after_the_clock_was_set_back_it_begins_anew_where_the_arm_is(arm):
    pose = arm.chain.pose(BENT)
    arm.tick = 100
    arm.hold(2)
    arm.send_reference(*pose)
    arm.live.handled(NODE)
    arm.follow((pose[0] + [0.0, 0.01, 0.0], pose[1]))
    arm.live.spin(1.1)  # the diagnostics say no more than so often
    arm.tick, arm.position = 0, BENT - 0.1
    arm.hold()  # at once, without a reference: the stream was one of before
    assert np.allclose(arm.position, BENT - 0.1, atol=1e-12)
    arm.live.wait_for_diagnostic(NODE, "time went back by 1.020 s: restarted")


def test_references_that_cannot_be_used_are_answered_by_braking_with_a_reason(live):
    arm = Arm(live, "arm_6r", BENT, source="stream")
    position, rotation = arm.chain.pose(BENT)
    nan = np.array([np.nan, 0.0, 0.0])
    for r in np.linspace(0.0, 1.0, 20):
        arm.follow((position + [0.0, 0.1 * r, 0.0], rotation))
    moving = arm.answers[-1]
    assert np.abs(moving.velocity).max() > 0.1
    for position_sent, where, reason in (
        (nan, {}, "position [nan"),
        (position, {"frame": "link7"}, "frame 'link7' is not usable; valid: 'base_link', 'world'"),
        (position, {"tool": "hand"}, "reference is for tool frame 'hand'"),
    ):
        braked = arm.follow((position_sent, rotation), **where)
        assert np.abs(braked.velocity).max() < np.abs(moving.velocity).max()
        assert np.abs(braked.acceleration).max() <= ACCELERATION + 1e-6
        moving = braked
        live.wait_for_diagnostic(NODE, reason)
        live.spin(0.6)  # the diagnostics say no more than so often
    arm.send_state(np.full(6, np.nan))
    live.wait_for_diagnostic(NODE, "joint state position of shoulder_yaw")
    arm.tick -= 1
    arm.follow(arm.chain.pose(arm.position))
    arm.follow(arm.chain.pose(arm.position))  # and goes on


def test_settings_change_while_running_and_bad_ones_are_refused_with_their_reason(live):
    start = np.array([0.3, 0.5, -0.8, 0.4])
    arm = Arm(live, "planar_4r", start, source="stream")
    axes = (True, True, False, False, False, False)
    tool = arm.chain.pose(start)
    arm.follow(tool, axes=axes)
    assert np.allclose(arm.follow(tool, axes=axes).position, start, atol=1e-9)  # the first joints are the origin
    live.graph.set_parameters(NODE, {"origin": [0.6, 0.2, -0.8, 0.4]})
    for _ in range(300):
        arm.follow(tool, axes=axes)
    core = RedundancySolver(arm.chain, limits_of(arm.chain), RedundancyConfig(origin=(0.6, 0.2, -0.8, 0.4)))
    core.begin(start)
    for _ in range(300):
        core.update(*sent(tool), np.array(axes), PERIOD * 1e-9)
    assert np.abs(core.position - start).max() > 0.02
    assert np.allclose(arm.position, core.position, atol=1e-6)
    assert np.allclose(arm.chain.pose(arm.position)[0], tool[0], atol=1e-6)
    for change, reason in (
        ({"weights": [1.0, 2.0]}, "weights needs 1 or 4 numbers"),
        ({"origin": [1.0]}, "origin needs 4 numbers"),
        ({"priority": ["x y z"]}, "priority must name each of"),
        ({"threshold": -1.0}, "threshold must lie in"),
        ({"max_acceleration": [1.0, 2.0]}, "max_acceleration needs 1 or 4 numbers"),
        ({"velocity_scale": 1.5}, "velocity_scale must lie in"),
        ({"source": "auto"}, "can only change while the node is not configured"),
    ):
        with pytest.raises(GraphError, match=reason):
            live.graph.set_parameters(NODE, change)
    assert np.allclose(arm.follow(tool, axes=axes).position, core.position, atol=1e-6)
    live.graph.set_parameters(NODE, {"max_acceleration": [0.5], "velocity_scale": 0.1})
    away, before = (tool[0] + [0.05, 0.0, 0.0], tool[1]), arm.position
    for _ in range(50):
        after = arm.follow(away, axes=axes)
    assert np.abs(np.array(after.velocity)).max() <= 0.5 * 50 * PERIOD * 1e-9 + 1e-9 and not np.allclose(
        after.position, before
    )


def test_references_in_the_frame_of_the_room_are_held_against_the_base_that_swings(live, planar_3r_text):
    """Joints of the planar 3R arm on a base that is deflected by 0.02 m take the tool where it is in the room."""
    model = ArmModel(planar_3r_text)
    start = np.radians([60.0, -60.0, -60.0])
    live.start(NODE, {"robot_description": planar_3r_text, "source": "stream", "state_timeout": 60.0})
    live.listen(topics.JOINT_REFERENCE, JointReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    references = live.publisher(topics.CARTESIAN_REFERENCE, CartesianReference)
    live.until(lambda: live.node.count_publishers(topics.JOINT_REFERENCE) > 0, "joint references")
    live.settle()
    answers = live.received[topics.JOINT_REFERENCE]
    still = ArmState(0, start, np.zeros(3), np.zeros(1), np.zeros(1))
    tool = model.tool_kinematics(still, "world")
    axes = np.array([True, True, False, False, False, True])
    for tick in range(1, 120):
        deflection = 0.02 * smooth(min(tick / 80.0, 1.0))
        message = JointState(name=["base_x", *model.joint_names], position=[deflection, *start], velocity=[0.0] * 4)
        message.header.stamp = stamp_of(tick)
        states.publish(message)
        record = CartesianReferenceRecord(
            tick * PERIOD, "world", tool.position, tool.rotation, np.zeros(6), np.zeros(6), axes
        )
        references.publish(cartesian_reference_form(record, "tool0").message())
        live.until(lambda tick=tick: bool(answers) and answers[-1].header.stamp == stamp_of(tick), "an answer")
    reached = ArmState(0, np.array(answers[-1].position), np.zeros(3), np.array([0.02]), np.zeros(1))
    assert np.allclose(model.tool_kinematics(reached, "world").position, tool.position, atol=1e-6)
    assert not np.allclose(answers[-1].position, start, atol=1e-3)


def test_solve_ik_finds_joints_of_a_pose_and_says_why_not(arm):

    def ask(p, R, frame="", **request):
        message = SolveIk.Request(**request)
        message.pose.header.frame_id, message.pose.pose = frame, pose_message(p, R)
        return arm.live.graph.call(SolveIk, f"/{NODE}/solve_ik", message)

    wanted = arm.chain.pose(np.array([-1.0, 0.6, 1.0, 2.0, -0.9, 1.5]))
    assert "no joint state has come yet" in ask(*wanted).message
    arm.hold(2)
    answer = ask(*wanted, frame="/world")
    assert answer.success and list(answer.names) == list(arm.names) and not answer.message
    found = arm.chain.pose(np.array(answer.position))
    assert np.allclose(found[0], wanted[0], atol=1e-6) and np.allclose(found[1], wanted[1], atol=3e-6)
    assert answer.position_error < 1e-6 and answer.orientation_error < 1e-6
    start = ask(*wanted, names=["elbow", "wrist_pitch"], position=[1.0, -0.9])
    assert start.success
    far = ask(np.array([3.0, 0.0, 0.0]), np.eye(3), restarts=3)
    assert not far.success and far.restarts == 3 and far.position_error > 1.0 and "no joint position" in far.message
    free = ask(np.array([0.4, 0.2, 0.5]), np.eye(3), axes=[True, True, True, False, False, False])
    assert free.success and np.allclose(arm.chain.pose(np.array(free.position))[0], [0.4, 0.2, 0.5], atol=1e-6)
    for request, reason in (
        ({"frame": "camera"}, "frame 'camera' is not usable"),
        ({"names": ["knee"], "position": [1.0]}, "must give joints of shoulder_yaw"),
        ({"names": ["elbow"], "position": []}, "got 0 positions of elbow"),
        ({"names": ["elbow"], "position": [np.nan]}, "finite"),
        ({"position_tolerance": np.nan}, "position_tolerance"),
        ({"axes": [False] * 6}, "at least one true"),
        ({"names": ["elbow"] * 5000, "position": [1.0] * 5000}, "the request holds more than 1000 parts"),
    ):
        answer = ask(*wanted, **request)
        assert not answer.success and reason in answer.message, (reason, answer.message)
    assert "not finite" in ask(wanted[0] * np.nan, wanted[1]).message
    arm.hold(2)
    assert np.allclose(arm.position, BENT)


def test_bad_configurations_are_refused_with_their_reason(live):
    text, _ = robots.find("arm_6r")
    live.start(NODE, {"robot_description": text}, transitions=())
    for name, good, bad, said in (
        ("max_acceleration", [10.0], [1.0, 2.0], "max_acceleration needs 1 or 6 numbers, for shoulder_yaw"),
        ("max_acceleration", [10.0], [0.0], "acceleration limits must be > 0"),
        ("weights", [1.0], [-1.0], "weights must be finite"),
        ("priority", ["x y z", "rx ry rz"], ["x y z"], "priority must name each of"),
    ):
        live.graph.set_parameters(NODE, {name: bad})
        with pytest.raises(GraphError, match="refused to configure"):
            live.graph.transition(NODE, "configure")
        live.wait_for_diagnostic(NODE, said)
        live.graph.set_parameters(NODE, {name: good})
        live.spin(0.55)  # the diagnostics say no more than so often
    with pytest.raises(GraphError, match="objective must be one of"):
        live.graph.set_parameters(NODE, {"objective": "speed"})
    live.graph.transition(NODE, "configure")
