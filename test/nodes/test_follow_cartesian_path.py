"""The action follow_cartesian_path of ik_redundancy_solver as a client uses it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import robots
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Pose
from led_arm import (  # noqa: F401
    ACCELERATION,
    BENT,
    NODE,
    PERIOD,
    Arm,
    arm_made_active,
    arm_of_a_module,
    line,
    pose_message,
    stamp_of,
)
from trajectory_msgs.msg import JointTrajectory

from flexarm.action import FollowCartesianPath
from flexarm.msg import CartesianReference, PathSegment, RedundancyState
from flexarm_nodes.node import topics
from flexarm_tools.graph.graph import GraphError

Result = FollowCartesianPath.Result


def test_a_line_is_followed_to_its_end_with_feedback_and_within_limits(arm):
    arm.hold(2)
    position, rotation = arm.chain.pose(BENT)
    turn = np.array([[np.cos(0.3), 0.0, np.sin(0.3)], [0.0, 1.0, 0.0], [-np.sin(0.3), 0.0, np.cos(0.3)]])
    end = position + [0.05, 0.15, -0.1], turn @ rotation
    handle = arm.ask(line(*end), max_linear_velocity=0.2)
    assert handle.accepted
    answer = arm.result_of(handle)
    assert answer.status == GoalStatus.STATUS_SUCCEEDED
    assert answer.result.error_code == Result.SUCCESSFUL and answer.result.fraction == 1.0
    assert answer.result.largest_position_error < 1e-4 and answer.result.largest_orientation_error < 1e-3
    reached = arm.chain.pose(arm.position)
    assert np.allclose(reached[0], end[0], atol=1e-6) and np.allclose(reached[1], end[1], atol=1e-6)
    joints, velocity, acceleration = arm.motion()
    assert np.abs(velocity).max() <= 3.0 and np.abs(acceleration).max() <= ACCELERATION
    tool = np.array([arm.chain.pose(q)[0] for q in joints])
    assert np.linalg.norm(np.diff(tool, axis=0), axis=1).max() <= 0.2 * PERIOD * 1e-9 * (1.0 + 1e-6)
    way = (tool - position) @ (end[0] - position) / np.linalg.norm(end[0] - position)
    assert np.abs(tool - position - np.outer(way, end[0] - position) / np.linalg.norm(end[0] - position)).max() < 1e-5
    arm.live.until(lambda: bool(arm.feedback) and arm.feedback[-1].fraction == 1.0, "all feedback")
    fractions = [feedback.fraction for feedback in arm.feedback]
    assert len(fractions) > 5 and fractions == sorted(fractions) and fractions[-1] == 1.0
    assert max(feedback.joint_deviation for feedback in arm.feedback) < 0.1
    stamps = [answer.header.stamp for answer in arm.answers]
    assert stamps == [stamp_of(tick) for tick in range(1, arm.tick + 1)]
    last = arm.answers[-1].position
    arm.hold(3)
    assert np.allclose(arm.position, last, atol=1e-9)


def test_lines_arcs_and_splines_follow_each_other_in_the_frame_of_the_room(arm):
    arm.hold(2)
    p, R = arm.chain.pose(BENT)
    arc = PathSegment(kind=PathSegment.ARC, poses=[Pose(), pose_message(p + [0.0, 0.2, 0.0], R)])
    arc.poses[0].position.x, arc.poses[0].position.y, arc.poses[0].position.z = p + [0.0, 0.15, 0.05]
    arc.poses[0].orientation.w = 0.0  # of no meaning there
    spline = PathSegment(
        kind=PathSegment.SPLINE, poses=[pose_message(p + d, R) for d in ([0.05, 0.1, 0.0], [0.0, 0.0, 0.0])]
    )
    goal = {"header": CartesianReference().header}
    goal["header"].frame_id = "/world"
    answer = arm.result_of(arm.ask(line(p + [0.0, 0.1, 0.0], R), arc, spline, **goal))
    assert answer.result.error_code == Result.SUCCESSFUL, answer.result.message
    tool = np.array([arm.chain.pose(q)[0] for q in arm.motion()[0]])
    for through in ([0.0, 0.1, 0.0], [0.0, 0.15, 0.05], [0.0, 0.2, 0.0], [0.05, 0.1, 0.0], [0.0, 0.0, 0.0]):
        assert np.linalg.norm(tool - p - through, axis=1).min() < 3e-3


def test_a_waypoint_file_is_followed_and_one_that_is_not_there_is_said_to_be(arm, tmp_path):
    arm.hold(2)
    file = Path(arm.folder, "square.yaml")
    file.write_text(
        "relative: true\nsegments:\n  - line: {position: [0.0, 0.1, 0.0]}\n  - line: {position: [0, 0, 0]}\n"
    )
    answer = arm.result_of(arm.ask(waypoint_file=str(file)))
    assert answer.result.error_code == Result.SUCCESSFUL, answer.result.message
    way = np.array([arm.chain.pose(q)[0] for q in arm.motion()[0]]) - arm.chain.pose(BENT)[0]
    assert way[:, 1].max() == pytest.approx(0.1, abs=1e-4)
    (tmp_path / "secret.yaml").write_text("password: hunter2\n", encoding="utf-8")
    Path(arm.folder, "out.yaml").symlink_to(tmp_path / "secret.yaml")
    Path(arm.folder, "wrong.yaml").write_text("password: hunter2\n", encoding="utf-8")
    os.mkfifo(Path(arm.folder, "pipe.yaml"))
    for name, reason in (
        ("none.yaml", "waypoint file 'none.yaml' cannot be opened in the file_folder: No such file"),
        (str(tmp_path / "secret.yaml"), "is not in the file_folder"),
        ("package://flexarm/../../../../../../../../etc/passwd", "is not in the file_folder"),
        ("/etc/shadow", "is not in the file_folder"),
        ("/proc/kmsg", "is not in the file_folder"),
        ("out.yaml", "is a folder, a link or a device, not a file"),
        ("pipe.yaml", "is a folder, a link or a device, not a file"),
        ("wrong.yaml", "wrong.yaml:1: unknown key; valid: frame, relative"),
    ):
        answer = arm.result_of(arm.ask(waypoint_file=name))
        assert answer.status == GoalStatus.STATUS_ABORTED and answer.result.error_code == Result.INVALID_GOAL
        assert reason in answer.result.message and "hunter2" not in answer.result.message
    for given, reason in (("/etc", "is set when the node starts"), ("/", "later only emptied or set back")):
        with pytest.raises(GraphError, match=reason):
            arm.live.graph.set_parameters(NODE, {"file_folder": given})


def test_canceling_slows_to_rest_on_the_path_within_limits(arm):
    arm.hold(2)
    position, rotation = arm.chain.pose(BENT)
    handle = arm.ask(line(position + [0.0, 0.3, 0.0], rotation))
    future = arm.result_of(handle, until=lambda arm: bool(arm.feedback) and arm.feedback[-1].fraction > 0.4)
    canceled = handle.cancel_goal_async()
    arm.live.until(canceled.done, "the answer to the cancellation")
    first = len(arm.answers)
    while not future.done():
        arm.hold()
        arm.live.spin(0.0005)
    answer = future.result()
    assert answer.status == GoalStatus.STATUS_CANCELED and answer.result.error_code == Result.CANCELED
    assert 0.4 < answer.result.fraction < 0.9
    joints, velocity, acceleration = arm.motion(first - 1)
    assert np.abs(velocity[0]).max() > 0.1
    assert np.abs(acceleration).max() <= ACCELERATION and np.abs(velocity[-1]).max() < 1e-9
    change = np.diff(velocity, axis=0) / (PERIOD * 1e-9)
    assert np.abs(change).max() <= ACCELERATION * (1.0 + 1e-6)
    tool = np.array([arm.chain.pose(q)[0] for q in joints])
    assert np.abs((tool - position)[:, [0, 2]]).max() < 1e-5
    assert np.linalg.norm(tool[-1] - position) == pytest.approx(0.3 * answer.result.fraction, abs=1e-4)
    assert RedundancyState.STOPPING in {state.activity for state in arm.resolutions}
    arm.hold(2)
    assert np.allclose(arm.position, joints[-1], atol=1e-9)


def test_a_path_out_of_reach_ends_with_its_reason_before_anything_moves(arm):
    arm.hold(2)
    position, rotation = arm.chain.pose(BENT)
    answer = arm.result_of(arm.ask(line(position + [2.0, 0.0, 0.0], rotation)))
    assert answer.status == GoalStatus.STATUS_ABORTED and answer.result.error_code == Result.UNREACHABLE
    assert "% of the path" in answer.result.message and answer.result.fraction == 0.0
    assert np.allclose(arm.motion()[0], BENT, atol=1e-12)


def test_goals_without_meaning_are_rejected_with_their_reason(arm):
    p, R = arm.chain.pose(BENT)
    good = line(p + [0.0, 0.05, 0.0], R)
    assert not arm.ask(good).accepted
    arm.live.wait_for_diagnostic(NODE, "no joint state has come yet")
    arm.hold(9)
    elsewhere, bad_number, mirrored = CartesianReference().header, line(p + np.nan, R), line(p, R)
    elsewhere.frame_id, mirrored.poses[0].orientation.w = "camera", 7.0
    for segments, goal, reason in (
        ([good], {"header": elsewhere}, "frame 'camera' is not usable"),
        ([bad_number], {}, "segment 1: position"),
        ([good, mirrored], {}, "segment 2: orientation is no unit quaternion"),
        ([good], {"position_tolerance": np.nan}, "position_tolerance must be finite"),
        ([good], {"max_linear_velocity": -1.0}, "max_linear_velocity must be finite and >= 0"),
        ([good], {"axes": [False] * 6}, "at least one must be tracked"),
        ([], {}, "either segments or a waypoint_file"),
        ([PathSegment(kind=PathSegment.ARC, poses=good.poses)], {}, "segment 1: ARC needs 2 poses, got 1"),
        ([PathSegment(kind=9)], {}, "kind 9 is unknown"),
        ([PathSegment(kind=2, poses=good.poses * 5000)], {}, "the request holds more than 1000 parts"),
    ):
        arm.hold()  # it is well again: of an error after that the diagnostics tell at once
        assert not arm.ask(*segments, **goal).accepted, reason
        arm.live.wait_for_diagnostic(NODE, reason)
    first = arm.ask(good)
    assert first.accepted
    arm.hold()
    assert not arm.ask(good).accepted
    arm.live.wait_for_diagnostic(NODE, "another goal is being followed")
    assert arm.result_of(first).result.error_code == Result.SUCCESSFUL


def test_a_path_that_the_joints_do_not_follow_is_left(arm):
    arm.hold(2)
    position, rotation = arm.chain.pose(BENT)
    handle = arm.ask(line(position + [0.0, 0.3, 0.0], rotation))
    future = handle.get_result_async()
    while not future.done():  # the arm is stuck
        arm.send_state(BENT)
        arm.wait_for_answer()
        arm.live.spin(0.0005)
    assert future.result().result.error_code == Result.PATH_TOLERANCE
    assert "tool_roll' is 0.1" in future.result().result.message
    assert np.abs(arm.answers[-1].velocity).max() < 1e-9
    assert np.abs(arm.motion()[2]).max() <= ACCELERATION


def accepted(arm, segment):
    """A goal that was accepted: where the time-out is short, a busy machine may ask for it too late."""
    for _ in range(50):
        arm.hold(2)
        handle = arm.ask(segment)
        if handle.accepted:
            return handle
    raise AssertionError(f"no goal was accepted: {arm.live.said(NODE)[-3:]}")


def test_a_goal_ends_when_joint_states_cease_or_the_node_is_deactivated(live):
    arm = Arm(live, "arm_6r", BENT, state_timeout=0.3)
    position, rotation = arm.chain.pose(BENT)
    future = accepted(arm, line(position + [0.0, 0.3, 0.0], rotation)).get_result_async()
    live.until(future.done, "the result")
    assert future.result().status == GoalStatus.STATUS_ABORTED
    assert future.result().result.error_code == Result.STALE_STATE
    arm.hold(2)
    assert np.allclose(arm.position, BENT)
    future = accepted(arm, line(position + [0.0, 0.3, 0.0], rotation)).get_result_async()
    arm.hold(2)
    live.graph.transition(NODE, "deactivate")
    live.until(future.done, "the result")
    assert future.result().result.error_code in (Result.DEACTIVATED, Result.STALE_STATE)
    assert not arm.ask(line(position, rotation)).accepted
    live.graph.transition(NODE, "activate")

    def follows() -> bool:
        result = arm.result_of(accepted(arm, line(arm.chain.pose(arm.position)[0] + [0.0, 0.02, 0.0], rotation))).result
        assert result.error_code in (Result.SUCCESSFUL, Result.STALE_STATE), result.message
        return result.error_code == Result.SUCCESSFUL  # on a busy machine a state may come too late

    live.until(follows, "a path to its end")


def test_a_goal_waits_until_an_arm_that_moves_has_come_to_rest(arm):
    pushed = np.array([1.0, -0.5, 0.5, 2.0, 0.0, -1.0])
    arm.send_state(velocity=pushed)
    arm.wait_for_answer()
    handle = arm.ask(line(arm.chain.pose(BENT)[0] + [0.0, 0.1, 0.0], arm.chain.pose(BENT)[1]))
    answer = arm.result_of(handle)
    assert answer.result.error_code == Result.SUCCESSFUL, answer.result.message
    _, velocity, acceleration = arm.motion()
    assert np.allclose(velocity[0], pushed) and np.abs(velocity[2]).max() < 2.0
    assert np.abs(acceleration).max() <= ACCELERATION * (1.0 + 1e-9)
    planning = [i for i, state in enumerate(arm.resolutions) if state.activity == RedundancyState.PLANNING]
    assert len(planning) >= 19  # 2 rad/s at 10 rad/s^2 and 10 ms a sample
    assert not velocity[planning[-1]].any()


def test_a_trajectory_controller_gets_the_path_once_and_its_stop_on_canceling(live):
    arm = Arm(live, "arm_6r", BENT, output="trajectory")
    arm.listen(topics.CONTROLLER_TRAJECTORY, JointTrajectory)
    live.settle()
    assert live.node.count_publishers(topics.JOINT_REFERENCE) == 0  # a gate would take it for a second writer
    sent_to = live.received[topics.CONTROLLER_TRAJECTORY]
    position, rotation = arm.chain.pose(BENT)

    def play(trajectory):
        """One tick of a joint trajectory controller and its arm."""
        if trajectory is not None:
            begun = trajectory.header.stamp.sec + 1e-9 * trajectory.header.stamp.nanosec
            times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in trajectory.points]
            joints = np.array([p.positions for p in trajectory.points])
            now = (arm.tick + 1) * PERIOD * 1e-9 - begun
            arm.position = np.array([np.interp(now, times, column) for column in joints.T])
        arm.send_state()
        seen = len(arm.resolutions)
        live.until(lambda: len(arm.resolutions) > seen, "the state")
        live.spin(0.0005)

    play(None)
    handle = arm.ask(line(position + [0.0, 0.2, 0.0], rotation))
    future = handle.get_result_async()
    live.until(lambda: len(sent_to) == 1, "the trajectory")
    while not future.done():
        play(sent_to[0])
    assert future.result().result.error_code == Result.SUCCESSFUL
    assert len(sent_to) == 1 and not arm.answers
    trajectory = sent_to[0]
    assert list(trajectory.joint_names) == list(arm.names)
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in trajectory.points]
    assert times[0] == 0.0 and np.allclose(np.diff(times)[:-1], 0.01) and (np.diff(times) > 0.0).all()
    joints = np.array([p.positions for p in trajectory.points])
    velocity = np.array([p.velocities for p in trajectory.points])
    assert np.allclose(arm.chain.pose(joints[-1])[0], position + [0.0, 0.2, 0.0], atol=1e-6)
    assert np.allclose(np.gradient(joints, times, axis=0)[5:-5], velocity[5:-5], atol=0.02)
    assert np.abs(velocity[[0, -1]]).max() < 1e-9
    assert np.abs([p.accelerations for p in trajectory.points]).max() <= ACCELERATION

    handle = arm.ask(line(position, rotation))
    future = handle.get_result_async()
    live.until(lambda: len(sent_to) == 2, "the trajectory back")
    for _ in range(30):
        play(sent_to[1])
    live.until(handle.cancel_goal_async().done, "the answer to the cancellation")
    while not future.done():
        play(sent_to[-1])
    assert future.result().result.error_code == Result.CANCELED and len(sent_to) == 3
    stop = np.array([p.positions for p in sent_to[2].points])
    assert 0.02 < arm.chain.pose(stop[-1])[0][1] - position[1] < 0.19
    assert np.abs(sent_to[2].points[-1].velocities).max() < 1e-9
    arm.send_reference(position, rotation)
    play(sent_to[-1])
    live.wait_for_diagnostic(NODE, "Cartesian references are not followed")


def test_joint_states_may_have_the_fingers_of_a_gripper_too(live):
    """The Panda of another package: its driver reports a finger, which is not of the arm."""
    robots.chain_or_skip("panda")
    ready = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8])
    fingers = ("panda_finger_joint1",)
    arm = Arm(live, "panda", [*ready, 0.03], fingers, lockstep=False)
    arm.hold(2)
    position, rotation = arm.chain.pose(ready)
    answer = arm.result_of(arm.ask(line(position + [0.0, 0.1, 0.05], rotation)))
    assert answer.result.error_code == Result.SUCCESSFUL, answer.result.message
    last = arm.answers[-1]
    assert list(last.names) == list(arm.names[:7])
    assert np.allclose(arm.chain.pose(np.array(last.position[:7]))[0], position + [0.0, 0.1, 0.05], atol=1e-6)


def test_a_robot_without_masses_is_led_too(live):
    robots.chain_or_skip("iiwa")
    ready = np.array([0.0, 0.5, 0.0, -1.2, 0.0, 0.9, 0.0])
    arm = Arm(live, "iiwa", ready)
    arm.hold(2)
    position, rotation = arm.chain.pose(ready)
    answer = arm.result_of(arm.ask(line(position + [0.0, 0.1, 0.0], rotation)))
    assert answer.result.error_code == Result.SUCCESSFUL, answer.result.message
    assert np.allclose(arm.chain.pose(arm.position)[0], position + [0.0, 0.1, 0.0], atol=1e-6)
