"""ArmNode: what comes while a node is busy with its activation."""

from __future__ import annotations

import time

import pytest
import rclpy
from live import own_domain
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock

from flexarm_nodes.node.arm_node import ArmNode


@pytest.fixture
def context(monkeypatch):
    with own_domain():
        rclpy.init()
        try:
            yield
        finally:
            rclpy.try_shutdown()


@pytest.fixture
def node(context):
    """A node on simulation time that nobody spins; ``tell`` sends it the time."""
    node = ArmNode("node")
    node.set_parameters([Parameter("use_sim_time", value=True)])
    publisher = node.create_publisher(Clock, "/clock", 10)
    deadline = time.monotonic() + 20.0
    while node.count_subscribers("/clock") == 0 or publisher.get_subscription_count() == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)

    def tell(seconds: int) -> None:
        message = Clock()
        message.clock.sec = seconds
        publisher.publish(message)
        time.sleep(0.5)

    node.tell = tell
    yield node
    node.destroy_node()


def test_a_node_that_becomes_active_knows_the_time(node):
    """A state that arrived during the activation would be stamped ahead of the clock, for which the gate stops."""
    node.tell(7)
    assert node.get_clock().now().nanoseconds == 0
    node.on_activate(None)
    assert node.get_clock().now().nanoseconds == 7_000_000_000


def test_a_state_whose_clock_message_waits_behind_it_is_not_of_the_future(node):
    node.on_activate(None)
    node.tell(7)
    assert node.get_clock().now().nanoseconds == 0
    assert node.age_of(7_001_000_000) == pytest.approx(-0.001)
    assert node.age_of(9_000_000_000) == pytest.approx(-2.0)  # no message says so
