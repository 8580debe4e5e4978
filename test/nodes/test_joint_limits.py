"""joint_limits.yaml, given to real nodes: what they ask of the joints stays within it; a damaged file is refused."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from led_arm import PERIOD, Arm, pose_message
from planar_messages import START, joint_state
from sensor_msgs.msg import JointState
from trajectory_arm import BENT, TrajectoryArm, planned

from flexarm.msg import JointReference
from flexarm.srv import SolveIk
from flexarm_nodes.node import topics
from flexarm_nodes.registry import NODES
from flexarm_tools.graph.graph import GraphError

LIMITS = {"has_velocity_limits": True, "max_velocity": 0.5, "has_acceleration_limits": True, "max_acceleration": 0.8}


def limits_file(tmp_path, **joints) -> str:
    file = tmp_path / "joint limits.yaml"  # a URI, as the name has a space
    file.write_text(yaml.safe_dump({"joint_limits": joints}), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("node", NODES)
def test_every_node_refuses_a_damaged_file(live, shared, tmp_path, node):
    file = limits_file(tmp_path, joint1={"has_velocity_limits": True, "max_velocity": -1.0})
    with pytest.raises(GraphError, match="refused to configure"):
        live.start(node, {**shared, "joint_limits": file})
    live.wait_for_diagnostic(node, "max_velocity must be > 0, got -1")


def test_joints_that_follow_velocities_stay_within_the_file(live, shared, tmp_path):
    """The parameters allow 0.9 of 4 rad/s and 5 rad/s^2; joint2, of which the file says nothing, uses them."""
    given = {"space": "joint_velocity", "max_acceleration": [5.0], "joint_limits": limits_file(tmp_path, joint1=LIMITS)}
    live.start("reference_generator", {**shared, **given})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    states, commands = (live.publisher(t, JointState) for t in (topics.JOINT_STATES, topics.JOINT_VELOCITY_COMMAND))
    live.until(lambda: commands.get_subscription_count() > 0, "the subscription")
    live.settle()
    received, position = live.received[topics.DESIRED_JOINT_REFERENCE], START
    for tick in range(5, 905, 10):
        commands.publish(JointState(name=["joint1", "joint2", "joint3"], velocity=[1.0, 1.0, 0.0]))
        count = len(received)
        states.publish(joint_state(tick, position=position))
        live.until(lambda count=count: len(received) > count, "a reference")
        position = np.array(received[-1].position)
    velocity, acceleration = (
        np.array([getattr(one, name) for one in received]) for name in ("velocity", "acceleration")
    )
    np.testing.assert_allclose(velocity.max(axis=0), [0.45, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(acceleration.max(axis=0), [0.8, 5.0, 0.0], atol=1e-9)


def test_a_move_beyond_the_file_is_refused(live, shared, tmp_path):
    """The peaks of the fifth-order law are 15/8 and 10/sqrt(3) times the mean: 0.469 rad/s and 1.44 rad/s^2 in 1 s."""
    upper = float(START[1]) + 0.2
    ends = {"has_position_limits": True, "min_position": -3.0, "max_position": upper}
    given = {"space": "joints", "joint_limits": limits_file(tmp_path, joint1=LIMITS, joint2=ends)}
    live.start("reference_generator", {**shared, **given, "joint_displacement": [0.0] * 3}, transitions=())
    for duration, said in ((0.5, "velocity 0.9375, its limit is 0.5"), (1.0, "acceleration 1.443, its limit is 0.8")):
        move = {"joint_displacement": [0.25, 0.1, 0.1], "duration": duration}
        live.refuses("reference_generator", move, f"takes joint 'joint1' to {said}")
    live.graph.set_parameters("reference_generator", {"joint_displacement": [0.25, 0.3, 0.1], "duration": 2.0})
    for transition in ("configure", "activate"):
        live.graph.transition("reference_generator", transition)
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    live.settle()
    states.publish(joint_state(5))
    live.wait_for_diagnostic("reference_generator", f"'joint2' would move to {START[1] + 0.3:.4g}")
    assert not live.received[topics.DESIRED_JOINT_REFERENCE]


def test_inverse_kinematics_keeps_the_limits_of_the_file(live, tmp_path):
    """A stream that wants 0.9 rad of the first joint in 0.6 s, and a pose that takes it beyond its position limit."""
    start = np.array([0.2, 0.3, 1.2, 0.1, 0.4, -0.2])
    ends = {"has_position_limits": True, "min_position": -0.1, "max_position": 0.5}
    arm = Arm(live, "arm_6r", start, source="stream", joint_limits=limits_file(tmp_path, shoulder_yaw=LIMITS | ends))
    for r in np.linspace(0.0, 1.0, 60):
        arm.follow(arm.chain.pose(start + np.array([0.9 * r, 0.0, 0.0, 0.0, 0.0, 0.0])))
    for _ in range(60):
        arm.follow(arm.chain.pose(start + np.array([0.9, 0.0, 0.0, 0.0, 0.0, 0.0])))
    position, velocity, acceleration = (one[:, 0] for one in arm.motion())
    assert position.max() == pytest.approx(0.5, abs=1e-3) and position.max() <= 0.5
    assert velocity.max() <= 0.5 and np.abs(acceleration).max() <= 0.8 + 1e-9
    assert velocity.max() > 0.4 and np.abs(acceleration).max() > 0.7
    client = live.node.create_client(SolveIk, "/ik_redundancy_solver/solve_ik")
    live.until(client.service_is_ready, "the service")
    answers = []
    for yaw in (0.4, 1.0):
        pose = arm.chain.pose(np.array([yaw, *start[1:]]))
        request = SolveIk.Request(axes=[True] * 6, restarts=50)
        request.pose.pose = pose_message(*pose)
        future = client.call_async(request)
        live.until(future.done, "an answer")
        answers.append(future.result())
    assert answers[0].success and -0.1 <= answers[0].position[0] <= 0.5
    assert not answers[1].success or -0.1 <= answers[1].position[0] <= 0.5


def test_trajectories_beyond_the_file_are_rejected_and_braked_within_it(live, tmp_path):
    """The trapezoidal speed of 0.4 rad in 1 s has a peak of 0.53 rad/s, that of 0.25 rad one of 0.33 rad/s."""
    arm = TrajectoryArm(live, joint_limits=limits_file(tmp_path, shoulder_yaw=LIMITS))
    arm.hold(2)
    by = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert not arm.ask(planned(BENT, BENT + 0.4 * by)).accepted
    first = len(arm.answers)
    handle = arm.ask(planned(BENT, BENT + 0.25 * by))
    assert handle.accepted
    arm.hold(50)
    live.until(handle.cancel_goal_async().done, "the answer to the cancellation")
    arm.result_of(handle)
    velocity = arm.motion(first)[1][:, 0]
    braking = np.diff(velocity[50:]) / (PERIOD * 1e-9)
    assert velocity.max() > 0.3 and velocity[-1] == pytest.approx(0.0, abs=1e-9)
    assert -0.8 - 1e-6 <= braking.min() < -0.7  # the parameter allows 5 rad/s^2
