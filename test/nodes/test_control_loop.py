"""control_loop as a real node: what it says where nothing comes in that it could answer."""

from __future__ import annotations

import time

import pytest
from planar_messages import joint_state
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm_nodes.node import topics

COMMANDS = topics.command_topic("effort")
STATE_TIMEOUT, BLIND_TIME = 0.08, 0.3  # [s] as shipped
LATER = 0.15  # [s] by which a busy machine may tell of something late: less than REPEAT_AFTER


@pytest.fixture
def loop(live, shared):
    """A control loop that holds the arm by efforts, in real time, and the joint states of an arm at rest."""
    live.start(
        "control_loop",
        {
            **shared,
            "stages": ["reference_generator", "flexible_dynamics_controller", "hardware_gate"],
            "reference_generator.space": "joints",
            "reference_generator.joint_displacement": [0.0, 0.0, 0.0],
            "flexible_dynamics_controller.law": "joint_pd",
            "flexible_dynamics_controller.reference": "desired_joint_reference",
            "flexible_dynamics_controller.rate": 200.0,
            "hardware_gate.rate": 200.0,
        },
    )
    live.listen(COMMANDS, Float64MultiArray)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    live.until(lambda: live.node.count_publishers(COMMANDS) > 0, "commands")
    live.settle()
    send_states(live)
    live.wait_for_diagnostic("control_loop", "running")
    send_states(live)
    return live


def send_states(live) -> None:
    """Joint states of half a second, the last of them now."""
    for _ in range(100):
        message = joint_state(0)
        message.header.stamp = live.node.get_clock().now().to_msg()
        live.states.publish(message)
        live.spin(0.005)


def heard(live, words: str, **values: str) -> float:
    """When the control loop says this, on a monotonic clock [s]."""

    def says(status) -> bool:
        told = {pair.key: pair.value for pair in status.values}
        return words in status.message and values.items() <= told.items()

    statuses = live.received[topics.DIAGNOSTICS]
    live.until(lambda: any(says(one) for array in statuses for one in array.status), f"'{words}' and {values}", 5.0)
    return time.monotonic()


def test_a_stop_is_said_where_no_joint_state_comes_any_more_and_then_the_wish_for_the_fallback(loop):
    for received in loop.received.values():
        received.clear()
    last = time.monotonic()
    stopped = heard(loop, "controlled stop: no joint state for", state="controlled stop", fallback="no")
    fallen = heard(loop, "tripped: no usable joint state for", state="tripped", fallback="yes")
    assert stopped - last == pytest.approx(STATE_TIMEOUT, abs=LATER)
    assert fallen - last == pytest.approx(BLIND_TIME, abs=LATER)
    assert len(loop.received[COMMANDS]) > 10  # it braked all the while
