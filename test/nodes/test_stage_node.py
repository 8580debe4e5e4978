"""What every node of one stage does with joint states and references, whatever the stage is."""

from __future__ import annotations

import numpy as np
import pytest
from planar_messages import START, joint_state
from sensor_msgs.msg import JointState

from flexarm.msg import CartesianReference, JointReference
from flexarm_core.types import CartesianReference as Reference
from flexarm_nodes.messages.conversions import cartesian_reference_form
from flexarm_nodes.node import topics

NODE = "rns_vibration_controller"
AXES = np.array([True, True, False, False, False, False])


@pytest.fixture
def controller(live, shared):
    """A node that needs a joint state and a tool reference, listened to."""
    live.start(NODE, {**shared, "check_gains": False})
    live.listen(topics.JOINT_REFERENCE, JointReference)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    live.references = live.publisher(topics.CARTESIAN_REFERENCE, CartesianReference)
    live.until(lambda: live.node.count_publishers(topics.JOINT_REFERENCE) > 0, "joint_reference")
    live.settle()
    return live


def give(live, tick: int, x: float = 1.99) -> None:
    """Publish the tool reference of a tick."""
    pose = np.array([x, 0.01, 0.0]), np.eye(3)
    record = Reference(tick * 1_000_000, "base_ft", *pose, np.zeros(6), np.zeros(6), AXES)
    live.references.publish(cartesian_reference_form(record, "tool0").message())


def answers(live) -> list[int]:
    """Ticks of the joint references so far."""
    stamps = [message.header.stamp for message in live.received[topics.JOINT_REFERENCE]]
    return [stamp.sec * 1000 + stamp.nanosec // 1_000_000 for stamp in stamps]


def expect(live, ticks: list[int]) -> None:
    """Wait for these answers, and a moment longer for others that must not come."""
    live.until(lambda: len(answers(live)) >= len(ticks), f"answers {ticks}")
    live.settle()
    assert answers(live) == ticks


@pytest.mark.parametrize("again", ("state", "reference"))
def test_what_is_repeated_gets_the_same_answer_again(controller, again):
    controller.states.publish(joint_state(1, velocity=np.array([0.1, -0.2, 0.3])))
    give(controller, 1)
    expect(controller, [1])
    if again == "state":
        controller.states.publish(joint_state(1, velocity=np.array([0.1, -0.2, 0.3])))
    else:
        give(controller, 1)
    expect(controller, [1, 1])
    first, second = controller.received[topics.JOINT_REFERENCE]
    assert list(first.effort) == list(second.effort)


def test_a_reference_that_comes_after_the_next_state_is_used_for_that_one_and_replaced_by_its_own(controller):
    for tick in (1, 2):
        controller.states.publish(joint_state(tick))
        controller.settle()
    give(controller, 1)
    expect(controller, [2])
    give(controller, 2, x=1.97)
    expect(controller, [2, 2])
    first, second = controller.received[topics.JOINT_REFERENCE]
    assert list(first.effort) != list(second.effort)


def test_a_reference_of_the_future_is_not_used_before_its_time(controller):
    controller.states.publish(joint_state(1))
    give(controller, 1)
    expect(controller, [1])
    give(controller, 3000)
    controller.states.publish(joint_state(2))
    controller.wait_for_diagnostic(NODE, "reference is stamped 2.998 s ahead of the joint state")
    expect(controller, [1])
    controller.states.publish(joint_state(3000))
    expect(controller, [1, 3000])


def test_a_reference_that_is_older_than_the_one_in_use_does_not_replace_it(controller):
    for tick in (1, 2):
        controller.states.publish(joint_state(tick))
        give(controller, tick)
        expect(controller, list(range(1, tick + 1)))
    give(controller, 1, x=1.97)
    controller.wait_for_diagnostic(NODE, "reference is 0.001 s older than the one in use: ignored")
    controller.states.publish(joint_state(2))
    expect(controller, [1, 2, 2])
    first, second = controller.received[topics.JOINT_REFERENCE][1:]
    assert list(first.effort) == list(second.effort)


def test_a_state_out_of_order_is_ignored(controller):
    for tick in (50, 20):
        controller.states.publish(joint_state(tick))
        controller.settle()
    controller.wait_for_diagnostic(NODE, "joint state is 0.030 s older than the newest: ignored")
    give(controller, 20)
    expect(controller, [50])


def test_after_the_clock_was_set_back_nothing_of_before_is_used(controller):
    controller.states.publish(joint_state(5000))
    give(controller, 5000)
    expect(controller, [5000])
    controller.states.publish(joint_state(1000))
    controller.wait_for_diagnostic(NODE, "time went back by 4.000 s: restarted")
    expect(controller, [5000])  # the reference of 5 s is not one of 1 s
    give(controller, 1000)
    expect(controller, [5000, 1000])


def test_a_motion_begins_anew_where_the_arm_is_after_the_clock_was_set_back(live, shared):
    live.start("reference_generator", {**shared, "space": "joints", "joint_displacement": [0.5, 0.0, 0.0]})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    states, received = live.publisher(topics.JOINT_STATES, JointState), live.received[topics.DESIRED_JOINT_REFERENCE]
    live.until(lambda: live.node.count_publishers(topics.DESIRED_JOINT_REFERENCE) > 0, "desired_joint_reference")
    live.settle()
    for count, (tick, position) in enumerate(((1000, START), (9000, START), (2000, START - 0.3))):
        states.publish(joint_state(tick, position=position))
        live.until(lambda count=count: len(received) > count, "a reference")
    assert received[1].position[0] == pytest.approx(START[0] + 0.5)
    assert received[2].position == pytest.approx((START - 0.3).tolist())
