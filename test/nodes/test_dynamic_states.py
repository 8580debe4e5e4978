"""dynamic_joint_states: one message of ros2_control for joints and sensors, in the place of several."""

from __future__ import annotations

import numpy as np
import pytest
import robots
from control_msgs.msg import DynamicJointState, InterfaceValue
from geometry_msgs.msg import WrenchStamped
from planar_messages import joint_state
from rclpy.serialization import deserialize_message, serialize_message
from sensed_arm import NODE, PERIOD
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import BaseWrenchEstimate, JointReference
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.messages.conversions import JointStateSelector, doubles, nanoseconds_to_stamp, wrench_form
from flexarm_nodes.messages.dynamic_states import INTERFACES, DynamicStates
from flexarm_nodes.node import topics

COMMANDS = topics.command_topic("effort")


def dynamic(stamp: int, **values: dict[str, float]) -> DynamicJointState:
    """A message with these values, by name and interface."""
    message = DynamicJointState(joint_names=list(values))
    message.header.stamp = nanoseconds_to_stamp(stamp)
    message.interface_values = [
        InterfaceValue(interface_names=list(one), values=doubles(np.array(list(one.values()))))
        for one in values.values()
    ]
    return message


def states_of(message: DynamicJointState) -> DynamicStates:
    return DynamicStates(bytes(serialize_message(message)))


def felt(wrench, kind="wrench") -> dict[str, float]:
    return dict(zip(INTERFACES[kind], wrench, strict=True))


def test_joints_are_those_with_a_position_and_sensors_those_with_their_interfaces():
    rng = np.random.default_rng(1)
    wrench, rates = rng.normal(size=6), rng.normal(size=6)
    message = dynamic(
        5,
        a={"effort": 3.0, "position": 1.0, "velocity": 2.0},
        tool_ft_sensor=felt(wrench),
        b={"position": 4.0, "temperature": 60.0},
        imu={"orientation.w": 1.0, **felt(rates, "imu")},
        gpio={"in1": 1.0},
    )
    states = states_of(message)
    joints = deserialize_message(states.joint_state(), JointState)
    assert joints.name == ["a", "b"] and list(joints.position) == [1.0, 4.0] and joints.header.stamp.nanosec == 5
    assert np.array_equal(joints.velocity, [2.0, np.nan], equal_nan=True)
    reading = states.reading("wrench", "tool_ft_sensor", "flange")
    assert reading == wrench_form(5, "flange", wrench).message()
    imu = states.reading("imu", "imu", "link")
    assert (imu.linear_acceleration.z, imu.angular_velocity.x) == (rates[2], rates[3]) and imu.header.frame_id == "link"
    assert states.has("imu", "imu") and not states.has("strain", "imu") and not states.has("wrench", "other")
    bare = deserialize_message(states_of(dynamic(1, a={"position": 1.0})).joint_state(), JointState)
    assert not bare.velocity and not bare.effort  # differentiated, as in any joint state


def test_what_is_not_whole_is_refused():
    torn, uneven = dynamic(1, a={"position": 1.0}), dynamic(1, a={"position": 1.0})
    torn.interface_values[0].values = doubles(np.zeros(0))
    uneven.joint_names = ["a", "b"]
    for message in (torn, uneven):
        with pytest.raises(InputError, match="differ"):
            states_of(message)
    for raw in (b"", bytes(serialize_message(torn))[:30]):
        with pytest.raises(InputError, match="cannot be read"):
            DynamicStates(raw)
    lacking = felt(np.zeros(6))
    del lacking["torque.z"]
    states = states_of(dynamic(1, broken={**lacking, "force.x": np.nan}))
    with pytest.raises(InputError, match=r"force.x, torque.z of 'broken' is missing or not finite"):
        states.reading("wrench", "broken", "flange")


def test_a_name_that_is_given_twice_is_a_fault_of_who_reads_it():
    """Two grippers of one maker have the same joints; the arm between them has not."""
    message = dynamic(
        1, finger={"position": 1.0, "velocity": 0.0}, sensor=felt(np.ones(6)), joint={"position": 2.0, "velocity": 3.0},
        other={},
    )  # fmt: skip
    message.joint_names = ["finger", "sensor", "joint", "finger"]
    message.interface_values[3] = message.interface_values[0]
    states = states_of(message)
    joints = deserialize_message(states.joint_state(), JointState)
    assert joints.name == ["finger", "joint", "finger"] and list(joints.position) == [1.0, 2.0, 1.0]
    assert JointStateSelector(["joint"])(joints) == ([2.0], [3.0])
    with pytest.raises(InputError, match="'finger' twice"):
        JointStateSelector(["joint", "finger"])(joints)
    assert states.reading("wrench", "sensor", "flange").wrench.force.x == 1.0
    message.joint_names = ["finger", "sensor", "joint", "sensor"]
    with pytest.raises(InputError, match="'sensor' twice"):
        states_of(message).reading("wrench", "sensor", "flange")


def test_a_gate_takes_its_states_from_it(live, shared):
    live.start("hardware_gate", {**shared, "lockstep": True, "use_sim_time": True, "dynamic_joint_states": True})
    live.listen(COMMANDS, Float64MultiArray)
    states = live.publisher(topics.DYNAMIC_JOINT_STATES, DynamicJointState)
    references = live.publisher(topics.JOINT_REFERENCE, JointReference)
    live.until(lambda: live.node.count_publishers(COMMANDS) > 0, "commands")
    live.settle()
    assert live.node.count_subscribers(topics.JOINT_STATES) == 0
    for tick in range(1, 4):
        state, wanted = joint_state(tick), JointReference(names=["joint1", "joint2", "joint3"])
        wanted.header.stamp, wanted.effort = state.header.stamp, doubles(np.array([1.0, 2.0, 3.0]))
        rows = zip(state.name, state.position, state.velocity, strict=True)
        references.publish(wanted)
        states.publish(dynamic(tick * 1_000_000, **{name: {"position": q, "velocity": v} for name, q, v in rows}))
        live.until(lambda tick=tick: len(live.received[COMMANDS]) >= tick, "a command")
        assert list(live.received[COMMANDS][-1].data) == [1.0, 2.0, 3.0]
    states.publish(dynamic(4_000_000, joint1={"position": 1.0, "velocity": 0.0}))
    live.wait_for_diagnostic("hardware_gate", "joint state lacks joint2")


def test_a_stage_takes_wrench_and_joints_from_one_message_as_from_two(live):
    text = robots.find("arm_7r")[0]
    model = ArmModel(text)
    home, rng = model.description.force_torque_sensors["base_ft_sensor"].frame, np.random.default_rng(2)
    parameters = {"robot_description": text, "sensor_wait": 0.5, "state_timeout": 60.0}
    cases = [(rng.uniform(-0.5, 0.5, model.n), rng.normal(size=6)) for _ in range(5)]
    found: dict[bool, list[np.ndarray]] = {}
    for one in (False, True):
        namespace = "/one" if one else "/two"
        live.start(NODE, {**parameters, "dynamic_joint_states": one}, namespace=namespace)
        estimates = f"{namespace}/{topics.BASE_WRENCH_ESTIMATE}"
        live.listen(estimates, BaseWrenchEstimate)
        if one:
            states = live.publisher(f"{namespace}/{topics.DYNAMIC_JOINT_STATES}", DynamicJointState)
        else:
            states = live.publisher(f"{namespace}/{topics.JOINT_STATES}", JointState)
            wrenches = live.publisher(f"{namespace}/base_wrench", WrenchStamped)
        live.until(lambda name=estimates: live.node.count_publishers(name) > 0, "estimates")
        live.settle()
        found[one] = []
        for tick, (position, wrench) in enumerate(cases, 1):
            if one:
                joints = {name: {"position": q, "velocity": 0.0, "effort": 0.0}
                          for name, q in zip(model.joint_names, position, strict=True)}  # fmt: skip
                states.publish(dynamic(tick * PERIOD, base_ft_sensor=felt(wrench), **joints))
            else:
                wrenches.publish(wrench_form(tick * PERIOD, home, wrench).message())
                message = JointState(name=list(model.joint_names), position=doubles(position))
                message.velocity = message.effort = doubles(np.zeros(model.n))
                message.header.stamp = nanoseconds_to_stamp(tick * PERIOD)
                states.publish(message)
            live.until(lambda name=estimates, tick=tick: len(live.received[name]) >= tick, "an estimate")
            estimate = live.received[estimates][-1]
            assert estimate.valid
            found[one].append(np.array(estimate.torque))
    assert np.array_equal(found[False], found[True]) and np.isfinite(found[True]).any()
