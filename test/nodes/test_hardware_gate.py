"""hardware_gate as a real node: the only writer of commands, and a safe one."""

from __future__ import annotations

import itertools
import re
import time

import numpy as np
import pytest
from lifecycle_msgs.srv import ChangeState
from planar_messages import START, joint_state
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from flexarm.msg import JointReference
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState
from flexarm_nodes.hardware_gate import controller_switch
from flexarm_nodes.messages.conversions import doubles
from flexarm_nodes.node import topics
from flexarm_tools.graph.graph import TRANSITIONS, GraphError

COMMANDS = topics.command_topic("effort")
OK, WARN, ERROR = 0, 1, 2


def start(live, parameters) -> None:
    """Start the gate and listen to it."""
    live.start("hardware_gate", parameters)
    live.listen(COMMANDS, Float64MultiArray)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    live.references = live.publisher(topics.JOINT_REFERENCE, JointReference)
    live.until(lambda: live.node.count_publishers(COMMANDS) > 0, "commands")
    live.settle()


@pytest.fixture
def gate(live, shared):
    """A gate in lockstep whose clock stands still: only stamps count."""
    start(live, {**shared, "lockstep": True, "use_sim_time": True})
    return live


def reference(tick: int, effort=(1.0, 2.0, 3.0), names=("joint1", "joint2", "joint3")) -> JointReference:
    """Joint reference with this effort."""
    message = JointReference(names=list(names), effort=doubles(np.array(effort)))
    message.header.stamp = joint_state(tick).header.stamp
    return message


def answer(live, state: JointState | None, given: JointReference | None) -> list[float]:
    """Publish; return the command that answers."""
    count = len(live.received[COMMANDS])
    if given is not None:
        live.references.publish(given)
    if state is not None:
        live.states.publish(state)
    live.until(lambda: len(live.received[COMMANDS]) > count, "a command")
    return list(live.received[COMMANDS][-1].data)


def test_an_effort_within_the_limits_passes_unchanged_whatever_the_order_of_the_joints(gate):
    assert answer(gate, joint_state(1), reference(1)) == [1.0, 2.0, 3.0]
    shuffled = reference(2, (3.0, 1.0, 2.0), ("joint3", "joint1", "joint2"))
    assert answer(gate, joint_state(2, names=["joint2", "base_x", "joint1", "joint3"]), shuffled) == [1.0, 2.0, 3.0]
    gate.wait_for_diagnostic("hardware_gate", "running")


def test_an_effort_that_friction_takes_passes_unchanged_and_alone_is_limited(live, shared):
    start(live, {**shared, "lockstep": True, "use_sim_time": True, "max_friction": [200.0]})
    gate = live
    rubbing = reference(1, (103.0, 1.0, 2.0), ("joint3", "joint1", "joint2"))
    rubbing.friction = doubles(np.array([100.0, 0.0, 0.0]))
    assert answer(gate, joint_state(1), rubbing) == [1.0, 2.0, 103.0]
    gate.wait_for_diagnostic("hardware_gate", "running")
    assert answer(gate, joint_state(2), reference(2, (1.0, 2.0, 103.0)))[2] < 100.0
    gate.wait_for_diagnostic("hardware_gate", "joint3: position, velocity or acceleration")


def test_a_gate_says_which_limits_of_the_description_it_does_not_keep(live, shared):
    soft = '<safety_controller soft_lower_limit="-1" soft_upper_limit="1" k_velocity="1"/><limit'
    text = re.sub(r'(<joint name="joint2".*?)<limit', rf"\1{soft}", shared["robot_description"], count=1, flags=re.S)
    live.start("hardware_gate", {**shared, "robot_description": text}, transitions=("configure",))
    live.wait_for_diagnostic("hardware_gate", "are not kept: 'joint2' [-1, 1]; if they must be, narrow <limit>")


def test_a_lift_that_is_elsewhere_than_told_keeps_the_arm_from_starting_and_a_head_is_a_warning(live, shared):
    """Others report them; the node knows both as fixed joints."""
    root = parse_robot_description(shared["robot_description"]).root
    more = (
        f'<link name="floor"/><joint name="lift" type="prismatic"><parent link="floor"/><child link="{root}"/>'
        '<axis xyz="0 0 1"/><limit lower="0" upper="1" velocity="1" effort="100"/></joint>'
        '<link name="head"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial></link><joint name="pan" type="continuous"><parent link="{root}"/><child link="head"/></joint>'
    )
    text = shared["robot_description"].replace("</robot>", f"{more}</robot>")
    text = parse_robot_description(text, held={"lift": 0.3, "pan": 0.2}).text
    start(live, {**shared, "lockstep": True, "use_sim_time": True, "robot_description": text})
    turned = 0.2 + 4.0 * np.pi
    live.states.publish(JointState(name=["lift", "pan"], position=[0.5, turned], velocity=[0.0, 0.0]))
    live.references.publish(reference(1))
    live.states.publish(joint_state(1))
    live.wait_for_diagnostic("hardware_gate", "joint 'lift' is at 0.5, and the description holds it at 0.3: the tool")
    assert not live.received[COMMANDS] and not [said for _, said in live.said("hardware_gate") if "pan" in said]
    time.sleep(0.1)
    live.states.publish(JointState(name=["lift", "pan"], position=[0.3001, turned + 0.5], velocity=[0.0, 0.0]))
    assert answer(live, joint_state(2), reference(2)) == [1.0, 2.0, 3.0]
    live.wait_for_diagnostic("hardware_gate", "running; joint 'pan' is at 13.27, and the description holds it at 0.2")
    time.sleep(0.1)
    live.states.publish(JointState(name=["lift"], position=[0.4], velocity=[0.0]))  # in motion: a warning
    assert answer(live, joint_state(3), reference(3)) == [1.0, 2.0, 3.0]
    live.until(lambda: live.said("hardware_gate")[-1][0] == WARN, "a warning")
    live.wait_for_diagnostic("hardware_gate", "joint 'lift' is at 0.4")


def test_a_joint_that_is_read_is_no_joint_of_the_arm_unless_it_lies_under_it(live, shared):
    """One in the middle would be left out of every command; the first of all is taken for a lift, which is told."""
    live.start("hardware_gate", shared, transitions=())
    said = "read_joints: 'joint2' is a joint of the arm, between 'joint1' and 'tool0', and nobody would drive it"
    live.refuses("hardware_gate", {"read_joints": ["joint2"]}, said)
    live.graph.set_parameters("hardware_gate", {"read_joints": ["joint1"]})
    live.graph.transition("hardware_gate", "configure")
    live.wait_for_diagnostic("hardware_gate", "configured; read, and so not driven: joint1")


DOWN = {"lockstep": True, "use_sim_time": True, "gravity": [0.0, -9.81, 0.0]}


def weight_at(text: str, tilt: float) -> np.ndarray:
    """Weight of the arm on a base that is tilted so."""
    weighed = ArmModel(parse_robot_description(text, held={"tilt": tilt}), gravity=(0.0, -9.81, 0.0))
    return weighed.gravity_effort(ArmState(0, START, np.zeros(3), np.zeros(1), np.zeros(1)))


def test_a_joint_below_the_arm_is_where_it_is_read_at_every_activation(live, shared):
    """Its position decides what the drives of the arm carry, and what the gate takes off if they do so themselves."""
    root = parse_robot_description(shared["robot_description"]).root
    more = (
        f'<link name="floor"/><joint name="tilt" type="revolute"><parent link="floor"/><child link="{root}"/>'
        '<axis xyz="1 0 0"/><limit lower="-2" upper="2" velocity="1" effort="100"/></joint>'
    )
    text = shared["robot_description"].replace("</robot>", f"{more}</robot>")
    live.start(
        "hardware_gate",
        {**shared, **DOWN, "robot_description": text, "drive_adds": ["gravity"], "read_joints": ["tilt"]},
        transitions=("configure",),
    )
    with pytest.raises(GraphError, match="refused to activate"):
        live.graph.transition("hardware_gate", "activate")
    live.wait_for_diagnostic("hardware_gate", "no joint state has said for 2 s where tilt is")
    live.listen(COMMANDS, Float64MultiArray)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    live.references = live.publisher(topics.JOINT_REFERENCE, JointReference)
    live.settle()

    def activate_at(tilt: float) -> None:
        live.states.publish(JointState(name=["tilt"], position=[tilt], velocity=[0.0]))
        time.sleep(0.1)
        live.graph.transition("hardware_gate", "activate")
        live.until(lambda: live.node.count_publishers(COMMANDS) > 0, "commands")
        live.settle()

    for tick, tilt in enumerate((0.5, -0.9)):
        activate_at(tilt)
        weight = weight_at(text, tilt)
        assert np.abs(weight - weight_at(text, 0.0)).max() > 5.0
        assert answer(live, joint_state(3 * tick + 1), reference(3 * tick + 1, weight + [0.1, 0.2, 0.3])) == (
            pytest.approx([0.1, 0.2, 0.3], abs=1e-6)
        )
        time.sleep(0.1)
        live.states.publish(JointState(name=["tilt"], position=[tilt + 0.2], velocity=[0.0]))
        assert answer(live, joint_state(3 * tick + 2), reference(3 * tick + 2, weight + [0.1, 0.2, 0.3])) == (
            pytest.approx([0.1, 0.2, 0.3], abs=1e-6)
        )
        moved = f"joint 'tilt' has moved from {tilt:.4g} to {tilt + 0.2:.4g}, and the model has not"
        live.wait_for_diagnostic("hardware_gate", moved)
        count = len(live.received[COMMANDS])
        live.graph.transition("hardware_gate", "deactivate")
        live.until(lambda count=count: len(live.received[COMMANDS]) > count, "the command at the end")


def test_drives_that_add_gravity_are_not_commanded_it(live, shared):
    start(live, {**shared, **DOWN, "drive_adds": ["gravity"]})
    weighed = ArmModel(shared["robot_description"], gravity=(0.0, -9.81, 0.0))
    weight = weighed.gravity_effort(ArmState(0, START, np.zeros(3), np.zeros(1), np.zeros(1)))
    assert np.abs(weight).max() > 10.0
    command = answer(live, joint_state(1), reference(1, weight + [0.1, 0.2, 0.3]))
    assert command == pytest.approx([0.1, 0.2, 0.3], abs=1e-6)


def test_efforts_of_zero_at_rest_are_warned_of_before_the_first_reference(live, shared):
    start(live, {**shared, **DOWN})
    for tick, (effort, code) in enumerate(((0.0, WARN), (50.0, OK)), start=1):
        state = joint_state(tick)
        state.effort = doubles(np.full(len(state.name), effort))
        live.states.publish(state)
        live.handled("hardware_gate")
        live.until(
            lambda code=code: any(
                level == code and ("drive_adds" in text) == (code == WARN)
                for level, text in live.said("hardware_gate")[-1:]
            ),
            "a judgement",
        )


def test_efforts_that_lack_gravity_by_the_description_are_no_reason_to_warn(live, shared):
    said = '<hardware><param name="drive_adds">gravity</param><param name="efforts_lack">gravity</param>'
    text = shared["robot_description"].replace("<hardware>", said)
    assert said in text
    start(live, {**shared, **DOWN, "robot_description": text})
    state = joint_state(1)
    state.effort = doubles(np.zeros(len(state.name)))
    live.states.publish(state)
    live.handled("hardware_gate")
    live.wait_for_diagnostic("hardware_gate", "waiting")
    assert not [text for level, text in live.said("hardware_gate") if level == WARN or "drive_adds" in text]


def test_positions_keep_the_jerk_limit_from_a_step_of_the_reference_to_the_stop(live, shared):
    topic = topics.command_topic("position")
    live.start("hardware_gate", {**shared, "lockstep": True, "use_sim_time": True, "command_mode": "position",
        "max_jerk": [5000.0]})  # fmt: skip
    live.listen(topic, Float64MultiArray)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    live.references = live.publisher(topics.JOINT_REFERENCE, JointReference)
    live.until(lambda: live.node.count_publishers(topic) > 0, "commands")
    live.settle()
    at, commands = START, [START, START, START]
    for tick in range(1, 81):
        given = JointReference(names=["joint1", "joint2", "joint3"], position=doubles(START + [0.1, -0.05, 0.02]))
        given.header.stamp = joint_state(tick).header.stamp
        if tick > 50:
            given.position[0] = float("nan")
        live.references.publish(given)
        rate = commands[-1] - commands[-2]
        live.states.publish(joint_state(tick, at, 1000.0 * rate))
        live.until(lambda: len(live.received[topic]) == tick, "a command")  # noqa: B023 - called at once
        at = np.array(live.received[topic][-1].data)
        commands.append(at)
    accelerations = np.diff(commands, 2, axis=0) * 1e6
    assert np.abs(accelerations).max() == pytest.approx(20.0, abs=1e-3)
    assert np.abs(np.diff(accelerations, axis=0)).max() * 1e3 == pytest.approx(5000.0, abs=1.0)


def test_an_effort_beyond_the_limits_is_reported(gate):
    command = answer(gate, joint_state(1), reference(1, (1e4, 0.0, 0.0)))
    assert max(np.abs(command)) <= 500.0
    gate.wait_for_diagnostic("hardware_gate", "limited joint1: position, velocity or acceleration")


def test_a_bad_joint_state_stops_the_arm_and_good_input_brings_it_back(gate):
    answer(gate, joint_state(1), reference(1))
    for begin, bad, said in (
        (2, {"position": [np.nan, 0.0, 0.0]}, "controlled stop: joint state position of joint1 is not finite"),
        (12, {"names": ["joint1", "joint2", "base_x"]}, "controlled stop: joint state lacks joint3"),
    ):
        assert np.isfinite(answer(gate, joint_state(begin, **bad), None)).all()
        gate.wait_for_diagnostic("hardware_gate", said)
        for tick in range(begin + 1, begin + 10):
            command = answer(gate, joint_state(tick), reference(tick))
        assert command == [1.0, 2.0, 3.0]
        gate.until(lambda: gate.said("hardware_gate")[-1] == (OK, "running"), "running again")


def test_a_bad_reference_stops_the_arm_and_good_ones_bring_it_back(gate):
    for count, (bad, said) in enumerate(
        (
            ({"effort": (np.nan, 0.0, 0.0)}, "controlled stop: joint reference effort is not finite"),
            (
                {"names": ("joint1", "joint2", "elbow")},
                "controlled stop: joint reference names joint1, joint2, elbow",
            ),
            ({"effort": (1.0, 2.0)}, "controlled stop: joint reference has 3 names and 2 effort values"),
            ({"effort": ()}, "command mode 'effort' needs effort"),
        )
    ):
        bad_tick = 20 * count + 12
        for tick in range(20 * count, bad_tick):
            command = answer(gate, joint_state(tick), reference(tick))
        assert command == [1.0, 2.0, 3.0]
        command = answer(gate, joint_state(bad_tick, velocity=(0.02, 0.0, 0.0)), reference(bad_tick, **bad))
        assert np.isfinite(command).all() and command[0] < 0.0  # it brakes joint1
        gate.wait_for_diagnostic("hardware_gate", said)


def test_missing_references_stop_the_arm_after_the_time_out(gate):
    answer(gate, joint_state(1), reference(1))
    for tick in range(2, 84):
        moved = START + np.array([0.5e-3 * tick, 0.0, 0.0])
        gate.states.publish(joint_state(tick, moved, velocity=(0.5, 0.0, 0.0)))
        gate.handled("hardware_gate")  # a node that is behind leaves out states
    gate.wait_for_diagnostic("hardware_gate", "controlled stop: no joint reference for 0.081 s")


def test_when_measurements_stop_the_arm_is_borne_and_the_cause_is_told(live, shared):
    start(live, {**shared, "gravity": [0.0, -9.81, 0.0]})  # wall clock, as on an arm
    # moments of three 10 kg masses at mid-link about the joints, in the pose (60, -60, -60) deg
    x = np.cumsum(np.cos(np.cumsum(START)))
    masses = np.array([0.5 * x[0], (x[0] + x[1]) / 2, (x[1] + x[2]) / 2])
    joints = np.array([0.0, x[0], x[1]])
    moments = [98.1 * sum(masses[k] - joints[i] for k in range(i, 3)) for i in range(3)]

    def borne():
        stamp = live.node.get_clock().now()
        for message, send in ((reference(0, moments), live.references), (joint_state(0), live.states)):
            message.header.stamp = stamp.to_msg()
            send.publish(message)
        return live.received[COMMANDS] and np.allclose(live.received[COMMANDS][-1].data, moments, rtol=0.01)

    live.until(borne, "the reference as command")
    # held out at full weight it would fall if its masses were a tenth wrong
    live.wait_for_diagnostic("hardware_gate", "no usable joint state for ")
    count = len(live.received[COMMANDS])
    # nothing is measured any more: the model says for how long the arm can be borne
    live.until(lambda: len(live.received[COMMANDS]) > count + 20, "more commands")
    assert np.allclose(live.received[COMMANDS][-1].data, moments, rtol=0.01)


def test_use_sim_time_cannot_change_while_the_gate_is_active(live, shared):
    start(live, shared)
    with pytest.raises(GraphError, match="use_sim_time cannot change while the node is active"):
        live.graph.set_parameters("hardware_gate", {"use_sim_time": True})


def reset_gate(gate) -> Trigger.Response:
    return gate.graph.call(Trigger, "/hardware_gate/reset", Trigger.Request())


def test_a_second_writer_trips_the_gate_until_it_has_gone_and_somebody_has_looked(gate):
    answer(gate, joint_state(1), reference(1))
    began = time.monotonic()
    other = gate.node.create_publisher(Float64MultiArray, COMMANDS, topics.CONTROL)
    gate.wait_for_diagnostic("hardware_gate", f"tripped: 1 other publishers on /{COMMANDS}")
    assert time.monotonic() - began < 5.0  # a busy machine; an idle one takes a tenth of a second
    for tick in range(2, 10):
        assert answer(gate, joint_state(tick), reference(tick)) != [1.0, 2.0, 3.0]
    refused = reset_gate(gate)
    assert not refused.success and "nobody else may command the drives" in refused.message
    gate.node.destroy_publisher(other)
    gate.until(lambda: reset_gate(gate).success, "a reset")
    for tick in range(10, 20):
        command = answer(gate, joint_state(tick), reference(tick))
    assert command == [1.0, 2.0, 3.0]


def test_while_two_lead_the_arm_it_is_held_and_then_it_goes_on_by_itself(gate):
    answer(gate, joint_state(1), reference(1))
    other = gate.publisher(topics.JOINT_REFERENCE, JointReference)
    gate.wait_for_diagnostic("hardware_gate", "controlled stop: 2 publishers on /joint_reference")
    for tick in range(2, 20):
        assert answer(gate, joint_state(tick), reference(tick)) != [1.0, 2.0, 3.0]
    gate.node.destroy_publisher(other)
    ticks = itertools.count(20)
    # when the gate hears that the other has gone is the machine's affair
    gate.until(
        lambda: answer(gate, joint_state(tick := next(ticks)), reference(tick)) == [1.0, 2.0, 3.0], "the one leader"
    )


def test_joint_states_of_others_are_ignored_and_those_of_a_part_of_the_arm_are_not(gate):
    answer(gate, joint_state(1), reference(1))
    gripper = gate.publisher(topics.JOINT_STATES, JointState)
    rng = np.random.default_rng(2)
    for tick in range(2, 60):
        count = int(rng.integers(1, 4))
        message = JointState(name=[f"finger{k}" for k in range(count)], position=rng.normal(size=count).tolist())
        message.header.stamp.sec = int(rng.integers(0, 2000000000))  # and of any stamp
        gripper.publish(message)
        assert answer(gate, joint_state(tick), reference(tick)) == [1.0, 2.0, 3.0]
    gate.handled("hardware_gate")
    assert not [message for level, message in gate.said("hardware_gate") if level == ERROR]
    gripper.publish(JointState(name=["joint1", "finger0"], position=[0.0, 0.0], velocity=[0.0, 0.0]))
    gate.wait_for_diagnostic("hardware_gate", "controlled stop: joint state lacks joint2")


def test_a_tripped_gate_stays_so_until_it_is_reset(gate):
    answer(gate, joint_state(1), reference(1))
    for tick in range(2, 5):  # beyond the limit of base_x: one such reading may be wrong
        answer(gate, joint_state(tick, deflection=0.6), reference(tick))
    gate.wait_for_diagnostic("hardware_gate", "tripped: deflection 0.6 of base_x is beyond its limit")
    for tick in range(5, 20):
        command = answer(gate, joint_state(tick), reference(tick))
    assert command != [1.0, 2.0, 3.0]
    reset = gate.node.create_client(Trigger, "/hardware_gate/reset")
    gate.until(reset.service_is_ready, "the service")
    answered = reset.call_async(Trigger.Request())
    gate.until(answered.done, "an answer")
    assert answered.result().success
    for tick in range(20, 30):
        command = answer(gate, joint_state(tick), reference(tick))
    assert command == [1.0, 2.0, 3.0]


def test_a_state_that_is_old_when_it_arrives_is_refused_with_a_hint(live, shared):
    start(live, shared)
    live.states.publish(joint_state(1))  # stamped 1 ms after 1970
    live.wait_for_diagnostic("hardware_gate", "is use_sim_time set as it should be?")


def test_deactivating_leaves_the_arm_with_its_gravity_effort(gate):
    answer(gate, joint_state(1), reference(1))
    gate.graph.transition("hardware_gate", "deactivate")
    gate.until(lambda: list(gate.received[COMMANDS][-1].data) == [0.0, 0.0, 0.0], "rest command")
    count = len(gate.received[COMMANDS])
    gate.states.publish(joint_state(2))
    gate.references.publish(reference(2))
    gate.handled("hardware_gate")
    assert len(gate.received[COMMANDS]) == count


def test_deactivating_brakes_by_the_joint_states_that_come_for_as_long_as_it_takes(live, shared):
    start(live, {**shared, "rate": 200.0, "blind_time": 4.0})  # wall clock, as on an arm; on a busy machine, too
    began, speed, rng = time.monotonic(), [0.3], np.random.default_rng(3)

    def send() -> None:
        since = time.monotonic() - began
        moved = START + 0.3 * np.array([since, 0.0, 0.0]) + 1e-6 * rng.normal(size=3)  # an encoder's noise: not frozen
        state, given = joint_state(0, moved, (speed[0], 0.0, 0.0)), reference(0, (0.0, 0.0, 0.0))
        state.header.stamp = given.header.stamp = live.node.get_clock().now().to_msg()
        live.references.publish(given)
        live.states.publish(state)

    live.node.create_timer(0.005, send)
    live.wait_for_diagnostic("hardware_gate", "running")
    request = ChangeState.Request()
    request.transition.id = TRANSITIONS["deactivate"]
    client = live.node.create_client(ChangeState, "/hardware_gate/change_state")
    live.until(client.service_is_ready, "the service")
    asked = client.call_async(request)
    live.spin(0.8)
    assert not asked.done()  # nothing slows this arm
    speed[0] = 0.0
    live.until(asked.done, "an answer")


def test_an_interrupted_gate_sends_its_rest_command_before_it_ends(gate):
    answer(gate, joint_state(1), reference(1))
    process = gate.processes["hardware_gate"]
    process.signal(2)
    gate.until(lambda: list(gate.received[COMMANDS][-1].data) == [0.0, 0.0, 0.0], "rest command")
    assert process.wait(time.monotonic() + 5.0) and process.exit_code == 0


def test_commands_come_in_the_order_that_the_command_controller_has(live, shared):
    start(live, {**shared, "lockstep": True, "use_sim_time": True, "joints": ["joint3", "joint1", "joint2"]})
    assert answer(live, joint_state(1), reference(1)) == [3.0, 1.0, 2.0]


def test_repeated_and_overtaken_states_do_no_harm(gate):
    answer(gate, joint_state(5), reference(5))
    gate.states.publish(joint_state(5))
    gate.states.publish(joint_state(4))
    assert answer(gate, joint_state(6), reference(6)) == [1.0, 2.0, 3.0]
    assert not [message for level, message in gate.said("hardware_gate") if level == ERROR]


@pytest.mark.skipif(controller_switch.AVAILABLE, reason="controller_manager_msgs is installed: see test/launch")
def test_without_ros2_control_the_gate_commands_as_it_does_without_a_controller_manager(live, shared):
    start(live, {**shared, "lockstep": True, "use_sim_time": True, "controller_manager": "/controller_manager"})
    assert answer(live, joint_state(1), reference(1)) == [1.0, 2.0, 3.0]
    with pytest.raises(GraphError, match="command_mode changes only while the node is not configured, or is active"):
        live.graph.set_parameters("hardware_gate", {"command_mode": "velocity"})
    assert answer(live, joint_state(2), reference(2)) == [1.0, 2.0, 3.0]
    live.wait_for_diagnostic("hardware_gate", "running")
