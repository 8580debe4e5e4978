"""The action follow_joint_trajectory as MoveIt and other clients use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance
from trajectory_arm import BENT, NODE, PERIOD, TrajectoryArm, planned, point, tolerance
from trajectory_msgs.msg import JointTrajectory

Result = FollowJointTrajectory.Result
GOAL = BENT + [0.2, -0.1, 0.3, 0.1, -0.2, 0.4]
SEND = """
import sys
import rclpy
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectoryPoint

rclpy.init()
node = rclpy.create_node("sender")
client = ActionClient(node, FollowJointTrajectory, "joint_trajectory_follower/follow_joint_trajectory")
client.wait_for_server()
goal, still = FollowJointTrajectory.Goal(), [0.0] * 6
goal.trajectory.joint_names = sys.argv[1:]
goal.trajectory.points = [JointTrajectoryPoint(positions=still, velocities=still, accelerations=still)] * 100_000
future = client.send_goal_async(goal)
rclpy.spin_until_future_complete(node, future)
print(future.result().accepted)
"""


def is_smooth(arm, first: int = 0) -> bool:
    """Whether positions and velocities of the answers are those of one motion, without a jump."""
    position, velocity, acceleration = arm.motion(first)
    step = PERIOD * 1e-9
    off = np.diff(position, axis=0) - 0.5 * step * (velocity[1:] + velocity[:-1])
    change = np.diff(velocity, axis=0) / step
    return bool(np.abs(off).max() < 2e-4 and np.abs(change).max() < 1.2 * max(5.0, np.abs(acceleration).max()))


def at_rest(arm, goal, since: int) -> int:
    """Stamp [ns] of the first answer after one that is at a goal and at rest: when a client knows of it is later."""
    stamps = [1_000_000_000 * one.header.stamp.sec + one.header.stamp.nanosec for one in arm.answers]
    return next(
        stamp
        for stamp, one in zip(stamps, arm.answers, strict=True)
        if stamp > since and np.allclose(one.position, goal, atol=1e-9) and not np.any(one.velocity)
    )


def under_way(arm, goal):
    """A goal that was accepted: where the time-out is short, a busy machine may ask for it too late."""
    for _ in range(50):
        arm.hold()
        handle = arm.ask(planned(arm.position, goal))
        if handle.accepted:
            return handle
    raise AssertionError(f"no goal was accepted: {arm.live.said(NODE)[-3:]}")


@pytest.fixture
def arm(live, request) -> TrajectoryArm:
    return TrajectoryArm(live, loop=request.param)


EACH = pytest.mark.parametrize("arm", [pytest.param(False, id="node"), pytest.param(True, id="loop")], indirect=True)
LOOP = pytest.mark.parametrize(  # where the same stage does the same in both
    "arm", [pytest.param(False, id="node", marks=pytest.mark.long), pytest.param(True, id="loop")], indirect=True
)


@pytest.fixture
def node(live) -> TrajectoryArm:
    return TrajectoryArm(live)


@EACH
def test_a_planned_trajectory_is_executed_with_feedback(arm):
    arm.hold(2)
    first, begin = arm.tick, arm.now
    handle = arm.ask(planned(BENT, GOAL))
    assert handle.accepted
    answer = arm.result_of(handle)
    assert answer.status == GoalStatus.STATUS_SUCCEEDED and answer.result.error_code == Result.SUCCESSFUL
    assert np.allclose(arm.position, GOAL, atol=1e-9)
    assert at_rest(arm, GOAL, begin) - begin == 1_000_000_000 + PERIOD  # it begins with the next state
    position, velocity, acceleration = arm.motion(first)
    for wanted in planned(BENT, GOAL):  # passed at their times, as they were sent
        at = round((wanted.time_from_start.sec + wanted.time_from_start.nanosec * 1e-9) / (PERIOD * 1e-9))
        assert np.allclose(position[at], wanted.positions, atol=1e-9)
        if 0 < at < 100:
            assert np.allclose(velocity[at], wanted.velocities, atol=1e-9)
            assert np.allclose(acceleration[at], wanted.accelerations, atol=1e-9)
    assert is_smooth(arm)
    arm.live.until(lambda: bool(arm.feedback) and arm.feedback[-1].desired.time_from_start.sec == 1, "all feedback")
    assert 15 <= len(arm.feedback) <= 25 and arm.feedback[0].joint_names == arm.names
    shown = arm.feedback[len(arm.feedback) // 2]
    for one, other, both in zip(shown.desired.positions, shown.actual.positions, shown.error.positions, strict=True):
        assert one - other == pytest.approx(both, abs=1e-12)
    times = [f.desired.time_from_start.sec + 1e-9 * f.desired.time_from_start.nanosec for f in arm.feedback]
    assert times == sorted(times) and times[0] == 0.0 and times[-1] == pytest.approx(1.0)
    arm.hold(3)
    assert np.allclose(arm.position, GOAL, atol=1e-12) and not arm.velocity.any()


def test_joints_come_in_any_order_and_points_without_velocities(node):
    node.hold(2)
    order = [3, 0, 5, 1, 4, 2]
    names = [node.names[i] for i in order]
    answer = node.result_of(node.ask([point(0.6, (0.5 * (BENT + GOAL))[order]), point(1.2, GOAL[order])], names))
    assert answer.result.error_code == Result.SUCCESSFUL
    assert np.allclose(node.position, GOAL) and is_smooth(node)
    position = node.motion(2)[0]
    assert ((position - BENT) * np.sign(GOAL - BENT) >= -1e-12).all()  # no overshoot
    assert ((GOAL - position) * np.sign(GOAL - BENT) >= -1e-12).all()
    assert np.abs(position - 0.5 * (BENT + GOAL)).max(axis=1).min() < 1e-9


@LOOP
def test_a_new_goal_takes_over_without_a_jump_and_the_old_one_ends(arm):
    arm.hold(2)
    first = arm.ask(planned(BENT, GOAL))
    old = arm.result_of(first, until=lambda: arm.tick >= 52)
    assert np.abs(arm.velocity).max() > 0.3
    second = arm.ask([point(1.0, BENT, np.zeros(6))])
    assert second.accepted
    answer = arm.result_of(second)
    assert answer.status == GoalStatus.STATUS_SUCCEEDED
    assert old.result().status == GoalStatus.STATUS_ABORTED and old.result().result.error_code == Result.INVALID_GOAL
    assert old.result().result.error_string == "Current goal preempted by new incoming action."
    assert is_smooth(arm) and np.allclose(arm.position, BENT)
    third = arm.ask(planned(BENT, GOAL))
    arm.result_of(third, until=lambda: np.abs(arm.position - BENT).max() > 0.1)
    moving = arm.position.copy()
    fourth = arm.ask(planned(BENT, BENT - 0.1))  # begins at once, elsewhere: joint_trajectory_controller jumps there
    assert arm.result_of(fourth).result.error_code == Result.SUCCESSFUL
    assert np.abs(moving - BENT).max() > 0.05 and is_smooth(arm) and np.allclose(arm.position, BENT - 0.1)


@LOOP
def test_a_canceled_goal_ends_at_rest(arm):
    arm.hold(2)
    handle = arm.ask(planned(BENT, GOAL))
    future = arm.result_of(handle, until=lambda: arm.tick >= 52)
    speed, place = np.abs(arm.velocity).max(), arm.position.copy()
    assert speed > 0.3
    canceled = handle.cancel_goal_async()
    arm.live.until(canceled.done, "the answer to the cancellation")
    assert len(canceled.result().goals_canceling) == 1
    while not future.done():
        arm.hold()
        arm.live.spin(0.0005)
    assert future.result().status == GoalStatus.STATUS_CANCELED
    assert not arm.velocity.any() and is_smooth(arm)
    way = np.abs(arm.position - place)
    assert 0.0 < way.max() < speed**2  # at 5 rad/s^2 about v^2 / (2 a) * 1.5
    rest = arm.position.copy()
    arm.hold(3)
    assert np.array_equal(arm.position, rest)
    assert arm.result_of(arm.ask(planned(rest, BENT))).result.error_code == Result.SUCCESSFUL


@LOOP
def test_requests_come_in_the_order_of_the_simple_controller_manager_of_moveit(arm):
    """Results are asked for late, or after a cancellation that nobody waits for; goals follow at once."""
    arm.hold(2)
    plan = arm.goal(planned(BENT, GOAL))  # no tolerances, stamp 0
    plan.trajectory.header.frame_id = plan.multi_dof_trajectory.header.frame_id = "world"

    def send(goal):
        future = arm.client.send_goal_async(goal)
        arm.live.until(future.done, "an answer to the goal")
        return future.result()

    def cancel(handle):
        future = handle.cancel_goal_async()
        arm.live.until(future.done, "the answer to the cancellation")
        return future.result()

    first = send(plan)
    arm.hold(120)  # ended by now, and nobody has asked for the result
    answer = arm.result_of(first)
    assert answer.status == GoalStatus.STATUS_SUCCEEDED and answer.result.error_code == Result.SUCCESSFUL
    late = cancel(first)
    assert late.return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED and not late.goals_canceling
    assert arm.result_of(first).status == GoalStatus.STATUS_SUCCEEDED  # asked for again
    back = send(arm.goal(planned(GOAL, BENT)))
    arm.hold(50)
    assert np.abs(arm.velocity).max() > 0.3
    assert len(cancel(back).goals_canceling) == 1
    arm.hold(2)
    assert np.abs(arm.velocity).max() > 0.2  # it still brakes
    here = arm.position.copy()
    again = send(arm.goal([point(1.0, BENT, np.zeros(6))]))
    assert again.accepted and arm.result_of(back).status == GoalStatus.STATUS_CANCELED
    assert arm.result_of(again).status == GoalStatus.STATUS_SUCCEEDED
    assert np.allclose(arm.position, BENT) and np.abs(here - BENT).max() > 0.05 and is_smooth(arm)
    last = send(plan)
    arm.hold(50)
    cancel(last)
    arm.hold(100)  # at rest
    assert arm.result_of(last).status == GoalStatus.STATUS_CANCELED
    other = arm.goal(planned(BENT, GOAL), names=[*arm.names[:5], "elsewhere"])
    assert not send(other).accepted


def test_tolerances_on_the_way_and_at_the_end(node):
    node.hold(2)
    names = node.names
    handle = node.ask(planned(BENT, GOAL), path_tolerance=[tolerance(names[1], 0.05)])
    future = node.result_of(handle, until=lambda: node.tick >= 52)
    node.off[1] = 0.04
    node.hold(2)
    assert not future.done()
    node.off[1] = 0.06
    while not future.done():
        node.hold()
        node.live.spin(0.0005)
    answer = future.result()
    assert answer.status == GoalStatus.STATUS_ABORTED and answer.result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert f"'{names[1]}'" in answer.result.error_string and "0.05" in answer.result.error_string
    node.off[:] = 0.0
    node.hold(60)
    assert not node.velocity.any()
    here = node.position.copy()
    handle = node.ask(planned(here, GOAL), goal_tolerance=[tolerance(names[2], 0.01)], goal_time_tolerance=0.2)
    node.off[2] = 0.03
    answer = node.result_of(handle)
    assert answer.status == GoalStatus.STATUS_ABORTED and answer.result.error_code == Result.GOAL_TOLERANCE_VIOLATED
    node.hold(60)
    node.off[:] = 0.0
    handle = node.ask(planned(node.position, BENT), goal_tolerance=[tolerance(names[2], 0.01)])  # goal_time 0: for ever
    node.off[2] = 0.03
    until = node.tick + 200
    future = node.result_of(handle, until=lambda: node.tick >= until)
    assert not future.done()
    node.off[2] = 0.009
    node.hold()
    node.live.until(future.done, "the end")
    assert future.result().result.error_code == Result.SUCCESSFUL


def test_a_goal_that_is_not_at_the_arm_breaks_its_path_tolerance_at_once(node):
    node.hold(2)
    tolerances = [tolerance(name, 0.05) for name in node.names]
    answer = node.result_of(node.ask(planned(BENT + 0.2, GOAL), path_tolerance=tolerances))
    assert answer.result.error_code == Result.PATH_TOLERANCE_VIOLATED
    node.hold(20)
    assert np.abs(node.position - BENT).max() < 1e-3 and is_smooth(node)
    erased = [tolerance(name, -1.0) for name in node.names]
    assert node.result_of(node.ask(planned(BENT + 0.1, GOAL), path_tolerance=erased)).result.error_code == 0
    assert is_smooth(node) and np.allclose(node.position, GOAL)


def test_goals_without_meaning_are_rejected_with_their_reason(node):
    good = planned(BENT, GOAL)
    assert not node.ask(good).accepted
    node.live.wait_for_diagnostic(NODE, "no joint state has come yet")
    node.hold(110)  # longer than the trajectory: one that began at the first tick has ended
    broken = planned(BENT, GOAL)
    broken[3].positions[2] = float("nan")
    moving = planned(BENT, GOAL)
    moving[-1].velocities[0] = 0.1
    fast = [point(0.0, BENT), point(0.01, GOAL)]
    for points, names, stamp, reason in (
        (good, node.names[:5], 0, "names 5 joints, the arm has 6"),
        (good, [*node.names[:5], "wrist"], 0, "joint 'wrist' is none of the arm's"),
        (good, [*node.names[:5], node.names[0]], 0, "is named twice"),
        ([], None, 0, "no points"),
        (good, [], 0, "names no joints"),
        ([point(1.0, BENT[:5])], None, 0, "point 0 has 5 positions for 6 joints"),
        ([point(1.0, GOAL, [0.0])], None, 0, "point 0 has 1 velocities for 6 joints"),
        ([point(1.0, (), np.zeros(6))], None, 0, "point 0 has 0 positions"),
        ([point(1.0, GOAL, effort=np.zeros(6))], None, 0, "efforts"),
        ([point(1.0, GOAL), point(1.0, BENT)], None, 0, "points 0 and 1 do not increase"),
        ([point(1.0, GOAL), point(0.5, BENT)], None, 0, "points 0 and 1 do not increase"),
        (broken, None, 0, "positions of point 3: joint"),
        (moving, None, 0, "velocity of the last point is not zero"),
        (good, None, PERIOD, "ended"),
        ([point(1.0, BENT + 100.0)], None, 0, "its limits are"),
        (fast, None, 0, "its velocity limit is"),
        ([point(0.001 * i, BENT) for i in range(5001)], None, 0, "the request holds more than"),
    ):
        node.hold()  # it is well again: of an error after that the diagnostics tell at once
        assert not node.ask(points, names, stamp=stamp).accepted, reason
        node.live.wait_for_diagnostic(NODE, reason)
    for name in ("trajectory", "tolerance"):
        node.hold()
        other = node.goal(good)
        if name == "trajectory":
            other.multi_dof_trajectory.joint_names = ["virtual_joint"]
        else:
            other.component_path_tolerance = [JointComponentTolerance(joint_name="virtual_joint", position=0.1)]
        future = node.client.send_goal_async(other)
        node.live.until(future.done, "an answer to the goal")
        assert not future.result().accepted
    node.live.wait_for_diagnostic(NODE, "'virtual_joint' of several degrees of freedom: the arm has none")
    assert node.result_of(node.ask(good)).result.error_code == Result.SUCCESSFUL


def test_some_joints_where_that_is_allowed_and_a_last_point_that_moves(live):
    arm = TrajectoryArm(live, allow_partial_joints_goal=True, allow_nonzero_velocity_at_trajectory_end=True)
    arm.hold(2)
    names = [arm.names[4], arm.names[1]]
    speed = np.array([0.2, -0.1])
    answer = arm.result_of(arm.ask([point(0.5, GOAL[[4, 1]], speed)], names))
    assert answer.result.error_code == Result.SUCCESSFUL
    held = [0, 2, 3, 5]
    assert np.array_equal(arm.position[held], BENT[held]) and not arm.velocity.any() and is_smooth(arm)
    beyond = (arm.position - GOAL)[[4, 1]]  # it comes to rest behind the last point
    assert (beyond * speed > 0.0).all() and np.abs(beyond).max() < 0.02


def test_a_trajectory_that_has_begun_or_begins_later(node):
    node.hold(60)
    since = node.now - 500_000_000
    answer = node.result_of(node.ask(planned(BENT, GOAL), stamp=since))
    assert answer.result.error_code == Result.SUCCESSFUL and np.allclose(node.position, GOAL)
    assert 1_000_000_000 <= at_rest(node, GOAL, since) - since < 2_500_000_000  # the joints had to catch up
    assert is_smooth(node, 50)
    start = node.now + 400_000_000
    handle = node.ask(planned(GOAL, BENT), stamp=start)
    node.hold(39)
    assert np.allclose(node.position, GOAL, atol=1e-3)
    assert node.result_of(handle).result.error_code == Result.SUCCESSFUL
    assert at_rest(node, BENT, start) - start == pytest.approx(1_000_000_000, abs=PERIOD)


def test_the_topic_leads_as_well_and_takes_over_from_a_goal(node):
    node.hold(2)
    handle = node.ask(planned(BENT, GOAL))
    future = node.result_of(handle, until=lambda: node.tick >= 40)
    node.trajectories.publish(JointTrajectory(joint_names=node.names, points=[point(1.0, BENT, np.zeros(6))]))
    while not future.done():
        node.hold()
        node.live.spin(0.002)
    assert future.result().result.error_code == Result.INVALID_GOAL
    node.hold(110)
    assert np.allclose(node.position, BENT) and is_smooth(node)
    node.trajectories.publish(JointTrajectory(joint_names=node.names, points=[point(1.0, BENT[:3])]))
    node.live.wait_for_diagnostic(NODE, "point 0 has 3 positions")


def test_a_goal_ends_when_joint_states_cease_or_the_node_is_deactivated(live):
    arm = TrajectoryArm(live, state_timeout=0.3)
    arm.hold(2)
    future = under_way(arm, GOAL).get_result_async()
    arm.hold(20)
    live.until(future.done, "the end of the goal")
    assert future.result().result.error_code == Result.INVALID_GOAL
    assert "no usable joint state" in future.result().result.error_string
    arm.hold(60)
    assert not arm.velocity.any() and is_smooth(arm)
    future = under_way(arm, GOAL).get_result_async()
    arm.hold(5)
    live.graph.transition(NODE, "deactivate")
    live.until(future.done, "the end of the goal")
    assert future.result().result.error_code == Result.INVALID_GOAL


ELBOW = np.eye(6)[2]
LIMIT = 2.6  # [rad] of the elbow
TOWARD = [point(1.0, BENT + ELBOW, 2.0 * ELBOW), point(1.3, BENT + 1.35 * ELBOW, np.zeros(6))]  # to 0.05 before it


@LOOP
def test_chunks_that_would_lead_beyond_a_limit_are_refused_and_the_one_before_goes_on(arm):
    arm.hold(2)
    arm.trajectories.publish(JointTrajectory(joint_names=arm.names, points=TOWARD))
    arm.live.handled(next(iter(arm.live.processes)))
    arm.hold(100)
    assert arm.velocity[2] > 1.9
    arm.trajectories.publish(JointTrajectory(joint_names=arm.names, points=[point(0.0, arm.position)]))
    arm.live.handled(next(iter(arm.live.processes)))
    arm.live.wait_for_diagnostic(NODE, "joint 'elbow' would go to")
    arm.hold(40)
    assert np.allclose(arm.position, BENT + 1.35 * ELBOW) and not arm.velocity.any()
    assert arm.motion()[0][:, 2].max() < LIMIT


def test_a_motion_before_or_behind_the_points_stays_within_the_limits(live):
    arm = TrajectoryArm(live, allow_nonzero_velocity_at_trajectory_end=True)
    arm.hold(2)
    for points, stamp, reason in (
        ([point(1.0, BENT + 1.2 * ELBOW, 2.0 * ELBOW)], 0, "or at rest behind it, joint 'elbow' would go to"),
        ([point(0.0, BENT, 2.9 * ELBOW), TOWARD[1]], 10_000_000_000, "joint 'elbow' would go to -"),
        (TOWARD, 10**18, "is its stamp of another clock? With the stamp 0 it starts at once"),
    ):
        arm.hold()
        assert not arm.ask(points, stamp=stamp).accepted, reason
        live.wait_for_diagnostic(NODE, reason)
    assert arm.result_of(arm.ask(TOWARD)).result.error_code == Result.SUCCESSFUL


@LOOP
def test_a_canceled_goal_brakes_harder_where_its_way_would_end_beyond_a_limit(arm):
    arm.hold(2)
    handle = arm.ask(TOWARD)
    future = arm.result_of(handle, until=lambda: arm.velocity[2] > 1.95)
    handle.cancel_goal_async()
    while not future.done():
        arm.hold()
        arm.live.spin(0.0005)
    assert future.result().status == GoalStatus.STATUS_CANCELED
    assert arm.motion()[0][:, 2].max() < LIMIT and is_smooth(arm, 20)


def test_100_000_points_do_not_make_the_node_deaf(node):
    node.hold(2)
    client = subprocess.Popen([sys.executable, "-c", SEND, *node.names], stdout=subprocess.PIPE, text=True)
    watched = Path(f"/proc/{node.live.processes[NODE].process_id}/schedstat")
    times = [watched.read_text()]
    while client.poll() is None:
        node.hold()
        times.append(watched.read_text())
    assert client.communicate()[0].strip() == "False"
    longest = np.diff([1e-9 * int(line.split()[0]) for line in times]).max()
    assert longest < 1.0  # 0.1 s of processor time, for taking 20 MB apart; as Python objects it would be 10 s
