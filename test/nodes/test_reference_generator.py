"""reference_generator as a real node: every joint state is answered with its own stamp."""

from __future__ import annotations

import numpy as np
import pytest
from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped
from planar_messages import START, joint_state
from sensor_msgs.msg import JointState

from flexarm.msg import CartesianReference, JointReference
from flexarm_core.path.input_shaping import make_shaper
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.path.line import fifth_order
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.waypoint_file import load_waypoint_file
from flexarm_core.path.waypoint_motion import WaypointMotion, WaypointMotionConfig
from flexarm_core.reaction_null_space.planning.plan import ReactionPlan
from flexarm_core.reaction_null_space.planning.plan_file import save_plan
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.messages.conversions import cartesian_reference_from_message
from flexarm_nodes.node import topics
from flexarm_tools.graph.graph import GraphError

JOINTS = {
    "space": "joints",
    "joint_displacement": [0.5, -0.2, 0.1],
    "duration": 2.0,
    "shaper": "zv",
    "shaper_frequency": [2.0, 5.0],
    "shaper_damping_ratio": [0.0, 0.02],
}
SHAPER = make_shaper("zv", [2.0, 5.0], [0.0, 0.02])
PARAMETERS = {"displacement": [-0.3, 0.0, 0.0], "duration": 4, "axes": [True, True, False, False, False, False]}


def test_the_path_begins_at_the_measured_tool_and_answers_each_state(live, shared):
    live.start("reference_generator", {**shared, **PARAMETERS})
    live.listen(topics.CARTESIAN_REFERENCE, CartesianReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    live.until(lambda: live.node.count_publishers(topics.CARTESIAN_REFERENCE) > 0, "cartesian_reference")
    live.settle()
    received = live.received[topics.CARTESIAN_REFERENCE]
    for count, tick in enumerate((5, 2005, 5005)):
        states.publish(joint_state(tick, deflection=0.01))
        live.until(lambda count=count: len(received) > count, "a reference")
        assert received[-1].header.stamp == joint_state(tick).header.stamp
    assert [message.header.frame_id for message in received] == ["base_ft"] * 3
    assert received[0].tool_frame == "tool0" and list(received[0].axes) == PARAMETERS["axes"]
    # (60, -60, -60) deg puts the tool at (2, 0), seen from the base whatever its deflection
    assert np.allclose([m.pose.position.x for m in received], [2.0, 1.85, 1.7], atol=1e-12)
    assert np.allclose(received[1].twist.linear.x, -0.3 * 1.875 / 4.0)


def test_a_move_of_the_joints_begins_where_they_are_and_answers_each_state(live, shared):
    live.start("reference_generator", {**shared, **JOINTS})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    live.listen(topics.CARTESIAN_REFERENCE, CartesianReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    live.until(lambda: live.node.count_publishers(topics.DESIRED_JOINT_REFERENCE) > 0, "desired_joint_reference")
    live.settle()
    core = JointMove(JointMoveConfig(tuple(JOINTS["joint_displacement"]), 0.0, 2.0, False, SHAPER))
    core.begin(5_000_000, START)
    received = live.received[topics.DESIRED_JOINT_REFERENCE]
    names = ["joint3", "joint1", "joint2"]  # in any order, and without the deflection of the base
    for count, (tick, position) in enumerate(((5, START), (705, 0.0 * START), (3005, START + 1.0))):
        states.publish(joint_state(tick, position=position, names=names))
        live.until(lambda count=count: len(received) > count, "a reference")
        answer, expected = received[-1], core.update(tick * 1_000_000)
        assert answer.header.stamp == joint_state(tick).header.stamp
        assert list(answer.names) == ["joint1", "joint2", "joint3"] and not answer.effort
        for field in ("position", "velocity", "acceleration"):
            assert np.array_equal(getattr(answer, field), getattr(expected, field))
    assert np.allclose(received[-1].position, START + JOINTS["joint_displacement"])
    assert np.abs(received[1].velocity).max() > 0.01
    assert not live.received[topics.CARTESIAN_REFERENCE]


def test_a_bad_move_is_refused_with_its_reason(live, shared):
    live.start("reference_generator", {**shared, **JOINTS}, transitions=())
    for parameters, said in (
        ({"joint_displacement": [1.0]}, "joint_displacement needs 3 numbers, for joint1, joint2, joint3"),
        (
            {"time_law": "constant_speed", "blend_time": 0.9, "repetitions": 1},
            "two blends of 0.9 s do not fit into 1.6",
        ),
        ({"shaper_frequency": [0.2, 5.0]}, "the shaper alone takes 2.6"),
        ({"shaper_frequency": [0.0, 5.0]}, "shaper 'zv' needs the frequency of the mode"),
        ({"space": "tool", "frame": "link2"}, "frame 'link2' is not usable"),
        ({"space": "tool", "displacement": [1.0]}, "displacement must be three"),
    ):
        live.refuses("reference_generator", parameters, said)


WAYPOINTS = """
relative: true
segments:
  - line: {position: [-0.2, 0.0, 0.0], rpy: [0.0, 0.0, 0.4]}
  - arc: {via: [-0.3, 0.1, 0.0], position: [-0.4, 0.0, 0.0]}
"""


def test_a_waypoint_file_is_followed_from_the_measured_tool(live, shared, tmp_path):
    file = tmp_path / "waypoints.yaml"
    file.write_text(WAYPOINTS)
    path = {"space": "path", "waypoint_file": str(file), "max_linear_velocity": 0.5, "max_angular_velocity": 2}
    live.start("reference_generator", {**shared, **path, "axes": PARAMETERS["axes"]})
    live.listen(topics.CARTESIAN_REFERENCE, CartesianReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    live.until(lambda: live.node.count_publishers(topics.CARTESIAN_REFERENCE) > 0, "cartesian_reference")
    live.settle()
    core = WaypointMotion(WaypointMotionConfig(load_waypoint_file(file), "base_ft", PathLimits(0.5, 1.0, 2.0, 4.0)))
    turn = np.array([[0.5, 3**0.5 / 2.0, 0.0], [-(3**0.5) / 2.0, 0.5, 0.0], [0.0, 0.0, 1.0]])  # -60 deg about z
    core.begin(5_000_000, np.array([2.0, 0.0, 0.0]), turn)
    received = live.received[topics.CARTESIAN_REFERENCE]
    for count, tick in enumerate((5, 405, 1305, 9005)):
        states.publish(joint_state(tick, deflection=0.01))
        live.until(lambda count=count: len(received) > count, "a reference")
        answer, expected = cartesian_reference_from_message(received[-1], "tool0"), core.update(tick * 1_000_000)
        assert received[-1].header.stamp == joint_state(tick).header.stamp and answer.frame == "base_ft"
        for field in ("position", "rotation", "velocity", "acceleration"):
            assert np.allclose(getattr(answer, field), getattr(expected, field), atol=1e-9), field
    assert np.allclose(received[-1].pose.position.x, 1.6) and received[1].twist.linear.x < -0.1
    assert list(received[0].axes) == PARAMETERS["axes"]


def test_a_bad_waypoint_file_is_refused_with_its_reason(live, shared, tmp_path):
    file = tmp_path / "waypoints.yaml"
    live.start("reference_generator", {**shared, "space": "path", "waypoint_file": f"file://{file}"}, transitions=())
    with pytest.raises(GraphError, match="waypoint_file is set when the node starts"):
        live.graph.set_parameters("reference_generator", {"waypoint_file": "/nowhere/path.yaml"})
    for text, parameters, said in (
        ("", {"waypoint_file": ""}, "space 'path' needs a waypoint_file"),
        ("segments: [{line: {positon: [0, 0, 0]}}]", {}, "unknown key"),
        ("frame: link2" + WAYPOINTS, {}, "frame 'link2' is not usable"),
        ("frame: base_ft" + WAYPOINTS, {"frame": "world"}, "frame is 'world', the waypoint file says 'base_ft'"),
    ):
        file.write_text(text)
        live.refuses("reference_generator", parameters, said)


def stored_plan(file, model):
    """A motion of the planar arm, written as a plan; what it does to the base does not matter for playing it."""
    times = np.linspace(0.0, 2.0, 201)
    s, rate, acceleration = np.array([fifth_order(time, 2.0) for time in times]).T[:, :, None]
    by, nothing = np.array([0.4, -0.3, 0.2]), np.zeros((len(times), 1))
    rows = (START + s * by, rate * by, acceleration * by, np.zeros((len(times), 3)), nothing)
    plan = ReactionPlan("line", tuple(model.joint_names), times, *rows, nothing[:, 0], nothing[:, 0], 0.1, 0.2)
    save_plan(plan, file, model.description.name)
    return plan


def test_a_stored_plan_is_played_from_its_first_posture_and_from_nowhere_else(live, shared, tmp_path):
    plan = stored_plan(tmp_path / "plan.npz", ArmModel(shared["robot_description"]))
    given = {"space": "plan", "plan_file": f"file://{tmp_path / 'plan.npz'}", "start": 0.5, "start_tolerance": 0.01}
    live.start("reference_generator", {**shared, **given})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    live.until(lambda: live.node.count_publishers(topics.DESIRED_JOINT_REFERENCE) > 0, "desired_joint_reference")
    live.settle()
    received = live.received[topics.DESIRED_JOINT_REFERENCE]
    states.publish(joint_state(5, position=START + [0.0, 0.02, 0.0]))
    live.wait_for_diagnostic("reference_generator", "joint 'joint2' is 0.02 from where the trajectory begins")
    assert not received
    for count, tick in enumerate((105, 605, 1605, 9005)):
        states.publish(joint_state(tick, position=START + 0.008))
        live.until(lambda count=count: len(received) > count, "a reference")
        answer, expected = received[-1], plan.sample(0, (tick - 605) * 1e-3)
        assert answer.header.stamp == joint_state(tick).header.stamp
        for field in ("position", "velocity", "acceleration"):
            assert np.allclose(getattr(answer, field), getattr(expected, field), atol=1e-12), field
    assert np.abs(received[2].velocity).max() > 0.1
    assert np.allclose(received[-1].position, START + [0.4, -0.3, 0.2])


def followed(live, states, topic: str, first: int, count: int, position=START):
    """References to joint states of every 10 ms, one after the other."""
    received, before = live.received[topic], len(live.received[topic])
    for number in range(count):
        states.publish(joint_state(first + 10 * number, position=position))
        live.until(lambda number=number: len(received) > before + number, "a reference")
    return received[before:]


def test_joints_follow_velocity_commands_in_any_order_and_bad_ones_are_refused(live, shared):
    live.start("reference_generator", {**shared, "space": "joint_velocity", "max_acceleration": [1.0]})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    states, commands = (live.publisher(t, JointState) for t in (topics.JOINT_STATES, topics.JOINT_VELOCITY_COMMAND))
    live.until(lambda: commands.get_subscription_count() > 0, "the subscription")
    live.settle()
    still = followed(live, states, topics.DESIRED_JOINT_REFERENCE, 5, 2)
    assert np.allclose(still[-1].position, START) and not np.any(still[-1].velocity)
    commands.publish(JointState(name=["joint3", "joint1", "joint2"], velocity=[0.3, 0.1, -9.0]))
    live.handled("reference_generator")
    led = followed(live, states, topics.DESIRED_JOINT_REFERENCE, 25, 5)
    assert np.allclose(led[-1].velocity, [0.05, -0.05, 0.05]) and np.allclose(led[-1].acceleration, [1.0, -1.0, 1.0])
    for bad, said in (
        (
            JointState(name=["joint1", "joint2"], velocity=[0.1, 0.1]),
            "has 2 velocities for joint1, joint2, not one for each of joint1, joint2, j",
        ),
        (
            JointState(name=["joint1", "joint2", "joint3", "joint1"], velocity=[0.1, 0.1, 0.1, 0.3]),
            "has 4 velocities for joint1, joint2, joint3, joint1, not one",
        ),
        (JointState(name=["joint1", "joint2", "joint3"], velocity=[0.1, np.nan, 0.1]), "velocity is not finite"),
    ):
        commands.publish(bad)
        live.wait_for_diagnostic("reference_generator", said)
        live.spin(0.6)  # the diagnostics say no more than so often
    rest = followed(live, states, topics.DESIRED_JOINT_REFERENCE, 75, 40)
    assert not np.any(rest[-1].velocity)  # the command is 0.2 s old


def joint_jogs(live, shared, acceleration: float):
    """Publishers of joint states and of jogs that a node follows from its start."""
    live.start("reference_generator", {**shared, "space": "joint_velocity", "max_acceleration": [acceleration]})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    states, jogs = live.publisher(topics.JOINT_STATES, JointState), live.publisher(topics.JOINT_JOG, JointJog)
    live.until(lambda: jogs.get_subscription_count() > 0, "the subscription")
    live.settle()
    followed(live, states, topics.DESIRED_JOINT_REFERENCE, 5, 2)
    return states, jogs


def test_joints_follow_jogs_by_velocity_or_by_way_and_bad_ones_are_refused(live, shared):
    states, jogs = joint_jogs(live, shared, 10.0)
    jogs.publish(JointJog(joint_names=["joint2"], velocities=[0.2]))
    live.handled("reference_generator")
    led = followed(live, states, topics.DESIRED_JOINT_REFERENCE, 25, 5)
    assert np.allclose(led[-1].velocity, [0.0, 0.2, 0.0])
    jogs.publish(JointJog(joint_names=["joint3", "joint1"], displacements=[0.02, -0.01], duration=0.1))
    live.handled("reference_generator")
    led = followed(live, states, topics.DESIRED_JOINT_REFERENCE, 75, 20)
    assert np.allclose(led[7].velocity, [-0.1, 0.0, 0.2])
    assert not np.any(led[-1].velocity)  # its duration is over before the timeout
    for bad, said in (
        (JointJog(joint_names=["joint9"], velocities=[0.1]), "joint jog: it is for joint9, expected some of joint1"),
        (JointJog(joint_names=["joint1"], displacements=[0.1]), "displacements need one > 0 s"),
        (JointJog(joint_names=["joint1"], velocities=[0.1, 0.2]), "it has 1 joints and 2 values: send one velocity"),
        (JointJog(joint_names=["joint1"], velocities=[np.inf]), "velocity is not finite"),
    ):
        jogs.publish(bad)
        live.wait_for_diagnostic("reference_generator", said)
        live.spin(0.6)


def test_jogs_are_shaped_by_two_impulses_half_a_period_apart(live, shared):
    shaping = {"shaper": "zv", "shaper_frequency": [5.0], "max_acceleration": [100.0], "command_timeout": 1.0}
    live.start("reference_generator", {**shared, "space": "joint_velocity", **shaping})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    states, jogs = live.publisher(topics.JOINT_STATES, JointState), live.publisher(topics.JOINT_JOG, JointJog)
    live.until(lambda: jogs.get_subscription_count() > 0, "the subscription")
    live.settle()
    followed(live, states, topics.DESIRED_JOINT_REFERENCE, 5, 2)
    jogs.publish(JointJog(joint_names=["joint1"], velocities=[0.2]))
    live.handled("reference_generator")
    speeds = [one.velocity[0] for one in followed(live, states, topics.DESIRED_JOINT_REFERENCE, 25, 25)]
    assert np.allclose(speeds[:10], 0.1) and np.allclose(speeds[10:], 0.2)


def test_displacements_are_gone_whole_or_refused(live, shared):
    states, jogs = joint_jogs(live, shared, 100.0)
    tick, at = 25, START.copy()
    for duration, way in ((0.1, 0.02), (0.014, -0.003), (0.055, 0.02), (0.2, -0.1)):  # of 10 ms, and between them
        jog = JointJog(joint_names=["joint3"], displacements=[way], duration=duration)
        jog.header.stamp = joint_state(tick - 11).header.stamp  # on its way for 1 ms more than a sample
        jogs.publish(jog)
        live.handled("reference_generator")
        rest = followed(live, states, topics.DESIRED_JOINT_REFERENCE, tick, 35)[-1]
        at[2] += way
        assert np.allclose(rest.position, at, atol=1e-9) and not np.any(rest.velocity), duration
        tick += 350
    for duration, way, said in (
        (0.002, 0.001, "its duration is 0.002 s; displacements take one from the time between joint states (0.01 s)"),
        (1.0, 0.1, "to command_timeout (0.2 s): divide them"),
        (0.1, 2.0, "the displacement of 'joint3' needs 20 rad/s or m/s, at most"),
    ):
        jogs.publish(JointJog(joint_names=["joint3"], displacements=[way], duration=duration))
        live.wait_for_diagnostic("reference_generator", said)
        live.spin(0.6)
    rest = followed(live, states, topics.DESIRED_JOINT_REFERENCE, tick, 10)[-1]
    assert np.allclose(rest.position, at, atol=1e-9)


def test_a_jog_that_is_shorter_than_a_sample_acts_on_one(live, shared):
    states, jogs = joint_jogs(live, shared, 10.0)
    for number in range(20):  # 1 kHz, of which the node has the newest
        jogs.publish(JointJog(joint_names=["joint1"], velocities=[0.2], duration=0.001))
        live.handled("reference_generator")
        led = followed(live, states, topics.DESIRED_JOINT_REFERENCE, 25 + 10 * number, 1)[-1]
    assert np.allclose(led.velocity, [0.2, 0.0, 0.0])
    assert not np.any(followed(live, states, topics.DESIRED_JOINT_REFERENCE, 225, 5)[-1].velocity)


def of_another_clock(message, tick):
    message.header.stamp = joint_state(tick).header.stamp
    return message


@pytest.mark.parametrize("space", ["twist", "joint_velocity"])
def test_commands_that_move_nothing_are_told_why(live, shared, space):
    topic = topics.CARTESIAN_REFERENCE if space == "twist" else topics.DESIRED_JOINT_REFERENCE
    live.start("reference_generator", {**shared, "space": space, "axes": PARAMETERS["axes"]})
    live.listen(topic, CartesianReference if space == "twist" else JointReference)
    twist = TwistStamped()
    twist.twist.linear.x = 0.1
    sent = [twist] if space == "twist" else [
        JointJog(joint_names=["joint2"], velocities=[0.1]),
        JointState(name=["joint1", "joint2", "joint3"], velocity=[0.1, 0.1, 0.1]),
    ]  # fmt: skip
    names = {TwistStamped: "twist_command", JointJog: topics.JOINT_JOG, JointState: topics.JOINT_VELOCITY_COMMAND}
    states = live.publisher(topics.JOINT_STATES, JointState)
    publishers = [live.publisher(names[type(one)], type(one)) for one in sent]
    live.settle()
    followed(live, states, topic, 5005, 2)
    said = "s older than the newest joint state, and over after 0.2 s, so nothing moves: set the clocks alike"
    for number, (publisher, message) in enumerate(zip(publishers, sent, strict=True)):
        live.received[topics.DIAGNOSTICS].clear()
        publisher.publish(of_another_clock(message, 4000))
        live.handled("reference_generator")
        led = followed(live, states, topic, 5025 + 100 * number, 3)[-1]
        assert not np.any(led.twist.linear.x if space == "twist" else led.velocity)
        live.wait_for_diagnostic("reference_generator", said)
    for number in range(4):  # joint states of 5 Hz
        publishers[0].publish(of_another_clock(sent[0], 0))
        live.handled("reference_generator")
        followed(live, states, topic, 6000 + 200 * number, 1)
    live.wait_for_diagnostic("reference_generator", "0.200 s between joint states: the motion begins anew after 0.1 s")


def test_paths_and_plans_are_not_shaped(live, shared):
    live.start("reference_generator", shared, transitions=())
    for space in ("path", "plan"):
        live.refuses(
            "reference_generator", {"space": space, "shaper": "zv", "shaper_frequency": [2.0]}, "is not shaped"
        )


def test_two_publishers_that_each_know_a_part_of_the_joints_make_one_joint_state(live, shared):
    live.start("reference_generator", {**shared, "space": "joint_velocity", "join_joint_states": True})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    one, other = (live.publisher(topics.JOINT_STATES, JointState) for _ in range(2))
    live.settle()
    received = live.received[topics.DESIRED_JOINT_REFERENCE]
    for tick in range(5, 100, 10):
        for publisher, names in ((one, ["joint2"]), (other, ["joint3", "joint1"])):
            message = joint_state(tick)
            place = [message.name.index(name) for name in names]
            message.position, message.velocity = (
                [row[i] for i in place] for row in (message.position, message.velocity)
            )
            message.name = names
            publisher.publish(message)
        live.until(
            lambda tick=tick: received and received[-1].header.stamp == joint_state(tick).header.stamp, "an answer"
        )
    assert np.allclose(received[-1].position, START)


def test_the_tool_follows_twists_in_its_own_axes(live, shared):
    axes = [True, True, False, False, False, True]
    live.start("reference_generator", {**shared, "space": "twist", "axes": axes, "max_linear_acceleration": 100.0})
    live.listen(topics.CARTESIAN_REFERENCE, CartesianReference)
    states, commands = live.publisher(topics.JOINT_STATES, JointState), live.publisher("twist_command", TwistStamped)
    live.until(lambda: commands.get_subscription_count() > 0, "the subscription")
    live.settle()
    first = followed(live, states, topics.CARTESIAN_REFERENCE, 5, 2)[-1].pose.orientation
    assert first.z != 0.0  # the tool is turned about z
    twist = TwistStamped()
    twist.header.frame_id, twist.twist.linear.x = "tool0", 0.1
    commands.publish(twist)
    live.handled("reference_generator")
    led = followed(live, states, topics.CARTESIAN_REFERENCE, 25, 5)[-1].twist.linear
    angle = 2.0 * np.arctan2(first.z, first.w)
    assert np.allclose([led.x, led.y], [0.1 * np.cos(angle), 0.1 * np.sin(angle)], atol=1e-9)


def test_the_tool_follows_twists_in_its_frame_and_others_are_refused(live, shared):
    live.start("reference_generator", {**shared, "space": "twist", "axes": PARAMETERS["axes"]})
    live.listen(topics.CARTESIAN_REFERENCE, CartesianReference)
    states, commands = live.publisher(topics.JOINT_STATES, JointState), live.publisher("twist_command", TwistStamped)
    live.until(lambda: commands.get_subscription_count() > 0, "the subscription")
    live.settle()
    followed(live, states, topics.CARTESIAN_REFERENCE, 5, 2)
    twist = TwistStamped()
    twist.header.stamp = joint_state(900_000).header.stamp  # of a clock that is ahead: as now
    twist.twist.linear.x, twist.twist.linear.z, twist.twist.angular.z = -3.0, 4.0, 1.0
    commands.publish(twist)
    live.handled("reference_generator")
    led = followed(live, states, topics.CARTESIAN_REFERENCE, 25, 40)
    fastest = max(-one.twist.linear.x for one in led)
    assert fastest == pytest.approx(0.2, abs=0.011)  # 0.2 s at 1 m/s^2
    assert led[-1].twist.linear.x == pytest.approx(0.0, abs=1e-9) and not led[9].twist.linear.z
    assert led[-1].pose.position.x > 2.0 - 0.051
    for frame, value, said in (
        ("elsewhere", 0.1, "is in frame 'elsewhere'; followed are 'base_ft' and 'tool0'"),
        ("", np.inf, "twist is not finite"),
    ):
        twist.header.frame_id, twist.twist.linear.x = frame, value
        commands.publish(twist)
        live.wait_for_diagnostic("reference_generator", said)
        live.spin(0.6)
