"""rns_vibration_controller as a real node: same result as the core, and safe against bad input."""

from __future__ import annotations

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from planar_messages import START, joint_state
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from flexarm.msg import BaseReaction, CartesianReference, FlexibleState, JointReference
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.motion_guard import joint_limits
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_core.types import CartesianReference as Reference
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.conversions import cartesian_reference_form, joint_reference_form
from flexarm_nodes.node import topics
from flexarm_tools.graph.graph import GraphError

AXES = np.array([True, True, False, False, False, False])


def tool_reference(stamp: int) -> Reference:
    """A reference near the start pose."""
    velocity = np.array([-0.05, 0.01, 0.0, 0.0, 0.0, 0.0])
    return Reference(stamp, "base_ft", np.array([1.99, 0.01, 0.0]), np.eye(3), velocity, np.zeros(6), AXES)


@pytest.fixture
def controller(live, shared):
    """The node, listened to."""
    live.start("rns_vibration_controller", shared)
    live.listen(topics.JOINT_REFERENCE, JointReference)
    live.listen(topics.BASE_REACTION, BaseReaction)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    live.references = live.publisher(topics.CARTESIAN_REFERENCE, CartesianReference)
    live.until(lambda: live.node.count_publishers(topics.BASE_REACTION) > 0, "base_reaction")
    live.settle()
    return live


def ask(live, tick: int, **state) -> JointReference:
    """Publish a state and its reference; return the answer."""
    count = len(live.received[topics.JOINT_REFERENCE])
    live.references.publish(cartesian_reference_form(tool_reference(tick * 1_000_000), "tool0").message())
    live.states.publish(joint_state(tick, **state))
    live.until(lambda: len(live.received[topics.JOINT_REFERENCE]) > count, "a joint reference")
    return live.received[topics.JOINT_REFERENCE][-1]


def test_the_node_gives_the_cores_result_whatever_the_order_of_the_joints(controller, shared):
    model = ArmModel(shared["robot_description"], gravity=(0.0, 0.0, 0.0))
    limits = joint_limits(model.lower, model.upper, model.velocity_limit, model.effort_limit)
    core = VibrationController(model, VibrationControllerConfig(), limits=limits)
    velocity = np.array([0.1, -0.2, 0.3])
    moving = {"velocity": velocity, "deflection": 0.01, "rate": -0.05}
    for tick, names in ((7, None), (8, ["base_x", "joint3", "joint1", "joint2"])):
        stamp = tick * 1_000_000
        state = ArmState(stamp, START, velocity, np.array([0.01]), np.array([-0.05]))
        expected, reaction = core.update(state, tool_reference(stamp))
        answer = ask(controller, tick, names=names, **moving)
        assert list(answer.names) == ["joint1", "joint2", "joint3"]
        assert answer.header.stamp.nanosec == tick * 1_000_000
        assert np.array_equal(answer.effort, expected.effort)
        assert np.array_equal(answer.acceleration, expected.acceleration)
    controller.until(lambda: bool(controller.received[topics.BASE_REACTION]), "a base reaction")
    message = controller.received[topics.BASE_REACTION][0]
    assert np.allclose(message.coupling_momentum, reaction.coupling_momentum)
    assert message.rank == 1 and message.vibration_damping and message.header.frame_id == "base_ft"


def test_a_bad_joint_state_is_refused_and_the_next_good_one_is_answered(controller):
    for tick, bad, said in (
        (1, {"position": [1.0, np.nan, 0.0]}, "joint state position of joint2 is not finite"),
        (3, {"names": ["joint1", "joint3", "base_x"]}, "joint state lacks joint2"),
        (5, {"names": ["joint1", "joint2", "joint3"]}, "joint state lacks base_x"),
    ):
        before = len(controller.received[topics.JOINT_REFERENCE])
        controller.states.publish(joint_state(tick, **bad))
        controller.wait_for_diagnostic("rns_vibration_controller", said)
        assert len(controller.received[topics.JOINT_REFERENCE]) == before
        assert np.isfinite(ask(controller, tick + 1).effort).all()


def test_a_live_parameter_takes_effect_and_a_senseless_one_is_refused(controller):
    before = ask(controller, 1, rate=0.1)
    controller.graph.set_parameters("rns_vibration_controller", {"vibration_damping": False})
    after = ask(controller, 2, rate=0.1)
    assert not np.allclose(before.effort, after.effort)
    for values, said in (
        ({"damping_ratio": -1.0}, "damping_ratio must lie in"),
        ({"law": "magic"}, "law must be one of reactionless, torque, resolved_acceleration"),
        ({"base_state_source": "flexible_state"}, "can only change while the node is not configured"),
        ({"position_gain": "high"}, "position_gain must be double"),
    ):
        with pytest.raises(GraphError, match=said):
            controller.graph.set_parameters("rns_vibration_controller", values)


def test_the_base_state_can_come_from_the_flexible_state(live, shared):
    live.start("rns_vibration_controller", {**shared, "base_state_source": "flexible_state", "task": "none"})
    live.listen(topics.JOINT_REFERENCE, JointReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    flexible = live.publisher(topics.FLEXIBLE_STATE, FlexibleState)
    live.until(lambda: live.node.count_publishers(topics.JOINT_REFERENCE) > 0, "joint_reference")
    live.settle()
    joints = joint_state(3, names=["joint1", "joint2", "joint3"])
    base = FlexibleState(elastic_joints=["base_x"], deflection=[0.01], deflection_rate=[0.1])
    base.header.stamp = joints.header.stamp
    states.publish(joints)
    flexible.publish(base)
    live.until(lambda: bool(live.received[topics.JOINT_REFERENCE]), "a joint reference")
    model = ArmModel(shared["robot_description"], gravity=(0.0, 0.0, 0.0))
    core = VibrationController(model, VibrationControllerConfig(task="none"))
    state = ArmState(3_000_000, START, np.zeros(3), np.array([0.01]), np.array([0.1]))
    assert np.array_equal(live.received[topics.JOINT_REFERENCE][0].effort, core.update(state)[0].effort)


def test_a_tool_path_with_a_stream_of_postures_is_answered_when_both_have_come(live, shared):
    parameters = {**shared, "posture_gain": 9.0, "posture": "desired_joint_reference", "check_gains": False}
    live.start("rns_vibration_controller", parameters)
    live.listen(topics.JOINT_REFERENCE, JointReference)
    states = live.publisher(topics.JOINT_STATES, JointState)
    tools = live.publisher(topics.CARTESIAN_REFERENCE, CartesianReference)
    postures = live.publisher(topics.DESIRED_JOINT_REFERENCE, JointReference)
    live.until(lambda: live.node.count_publishers(topics.JOINT_REFERENCE) > 0, "joint_reference")
    live.settle()
    wanted = JointReferenceRecord(3_000_000, START + 0.1)
    states.publish(joint_state(3))
    tools.publish(cartesian_reference_form(tool_reference(3_000_000), "tool0").message())
    live.handled("rns_vibration_controller")
    assert not live.received[topics.JOINT_REFERENCE]
    postures.publish(joint_reference_form(wanted, ("joint1", "joint2", "joint3")).message())
    live.until(lambda: bool(live.received[topics.JOINT_REFERENCE]), "a joint reference")
    core = VibrationController(
        ArmModel(shared["robot_description"], gravity=(0.0, 0.0, 0.0)), VibrationControllerConfig(posture_gain=9.0)
    )
    state = ArmState(3_000_000, START, np.zeros(3), np.zeros(1), np.zeros(1))
    expected = core.update(state, tool_reference(3_000_000), wanted)[0]
    assert np.array_equal(live.received[topics.JOINT_REFERENCE][0].effort, expected.effort)


def test_without_a_robot_description_configuring_fails_and_says_how_to_give_one_and_its_topic_is_enough(live, shared):
    live.start("rns_vibration_controller", {"gravity": [0, 0, 0], "map_postures": 200}, transitions=())
    live.refuses("rns_vibration_controller", {}, "no robot description: set the robot_description parameter")
    publisher = live.node.create_publisher(String, topics.ROBOT_DESCRIPTION, topics.LATCHED)
    publisher.publish(String(data=shared["robot_description"]))
    live.until(lambda: publisher.get_subscription_count() > 0, "a subscription")

    def configures() -> bool:
        live.settle()  # the description may still be on its way
        try:
            live.graph.transition("rns_vibration_controller", "configure")
        except GraphError:
            return False
        return True

    live.until(configures, "a configuration")
    maps = live.received["maps"]
    live.node.create_subscription(MarkerArray, "/rns_vibration_controller/markers", maps.append, topics.LATCHED)
    live.until(lambda: bool(maps), "the map, though it was published before")
    erased, cubes, lines = maps[0].markers
    assert erased.action == Marker.DELETEALL and cubes.header.frame_id == lines.header.frame_id == "base_ft"
    assert len(cubes.points) > 50 and len(cubes.colors) == len(cubes.points) == len(lines.points) // 2


def test_a_bad_configuration_is_refused_with_its_reason(live, shared):
    live.start("rns_vibration_controller", {**shared, "damping_ratio": "much"}, transitions=())
    live.refuses("rns_vibration_controller", {}, "damping_ratio must be double")
    live.graph.set_parameters("rns_vibration_controller", {"damping_ratio": 0.7})
    for parameters, said in (
        ({"tool_frame": "gripper"}, "'gripper' is not a link"),
        ({"gravity": [0.0, 1.0]}, "gravity must be three numbers"),
        ({"robot_description": "<robot><link name='a'/></robot>"}, "<robot> without a name"),
    ):
        live.refuses("rns_vibration_controller", parameters, said)


def test_an_impossible_transition_does_not_end_the_node(live, shared):
    live.start("rns_vibration_controller", shared, transitions=())
    request = ChangeState.Request()
    request.transition.id = Transition.TRANSITION_ACTIVATE
    client = live.node.create_client(ChangeState, "/rns_vibration_controller/change_state")
    live.until(client.service_is_ready, "the service")
    client.call_async(request)
    live.handled("rns_vibration_controller")
    live.graph.transition("rns_vibration_controller", "configure")
    live.graph.transition("rns_vibration_controller", "activate")
