"""Joint states at another rate than the gate was told: said if the arm creeps, refused if limits would not hold."""

from __future__ import annotations

import numpy as np
import pytest
import robots
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import JointReference
from flexarm_core.errors import InputError
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.messages.state_rate import GAPS, StateRate
from flexarm_nodes.node import topics

NAMES = list(robots.chain("planar_4r").joint_names)
SPEED = 1.0  # [rad/s]


def at(stamp: int) -> JointState:
    message = JointState(name=NAMES, position=[0.0] * 4, velocity=[0.0] * 4)
    message.header.stamp = nanoseconds_to_stamp(stamp)
    return message


def look(rate: StateRate, stamps) -> None:
    for stamp in stamps:
        rate.look(bytes(serialize_message(at(int(stamp)))))


def test_the_median_counts_whatever_is_repeated_overtaken_or_lost():
    rng, rate = np.random.default_rng(1), StateRate({"rate": 500.0}, "rate")
    stamps = 10**18 + 2_000_000 * np.arange(4 * GAPS) + rng.integers(-200_000, 200_000, 4 * GAPS)
    stamps[10:12] = stamps[11], stamps[10]
    look(rate, np.repeat(np.delete(stamps, slice(20, 30)), 2))
    assert rate.measured == pytest.approx((500.0, 500.0), rel=0.15) and not rate.doubt
    rate.lead()
    rate.clear()
    look(rate, [5, 6, 7])
    assert not any(rate.measured) and not rate.doubt


def test_states_that_come_in_bursts_or_after_a_pause_have_the_rate_of_their_mean_or_median():
    """A driver that stamps what a bus brings four at a time; one that paused."""
    bursts = np.repeat(8_000_000 * np.arange(1, GAPS), 4) + np.tile(50_000 * np.arange(4), GAPS - 1)
    paused = 2_000_000 * np.arange(1, 4 * GAPS) + 10**9 * (np.arange(1, 4 * GAPS) > 40)
    for stamps in (bursts, paused):
        rate = StateRate({"rate": 500.0}, "rate")
        for stamp in stamps:
            look(rate, [stamp])
            assert not rate.doubt
            rate.lead()


@pytest.mark.parametrize(
    ("told", "said"), [(100.0, True), (220.0, True), (240.0, False), (800.0, False), (1000.0, True)]
)
def test_only_a_gate_that_was_told_too_low_a_rate_refuses(told, said):
    for limiting in ("", "gate.rate"):
        rate = StateRate({"gate.rate": told, "law.rate": 250.0}, limiting)
        look(rate, 4_000_000 * np.arange(1, GAPS + 2))
        assert ("250 Hz, but gate.rate is" in rate.doubt) == said and "law.rate" not in rate.doubt
        if limiting and said and told < 250.0:
            with pytest.raises(InputError, match="would not hold"):
                rate.lead()
        else:
            rate.lead()


def run(live, rate: float, ticks: int = 120, period: int = 4_000_000) -> np.ndarray:
    """Positions (k, 4) that are commanded towards a far reference."""
    text, tool = robots.find("planar_4r")
    limits = {"rate": rate, "max_velocity": [SPEED], "max_acceleration": [20.0]}
    shared = {"robot_description": text, "tool_frame": tool, "command_mode": "position", "lockstep": True}
    live.start("hardware_gate", shared | limits)
    live.listen(topics.command_topic("position"), Float64MultiArray)
    states = live.publisher(topics.JOINT_STATES, JointState)
    references = live.publisher(topics.JOINT_REFERENCE, JointReference)
    live.settle()
    commands, position, velocity = live.received[topics.command_topic("position")], np.zeros(4), np.zeros(4)
    for k in range(1, ticks):
        count, message = len(commands), at(k * period)
        message.position, message.velocity = position.tolist(), velocity.tolist()
        states.publish(message)
        reference = JointReference(names=NAMES, position=[1.0 if k > GAPS + 2 else 0.0] * 4)  # far, once it is known
        reference.header.stamp = message.header.stamp
        references.publish(reference)
        live.handled("hardware_gate")
        live.spin(0.002)
        if len(commands) > count:
            velocity = (np.array(commands[-1].data) - position) / (period * 1e-9)
            position = np.array(commands[-1].data)
    return np.array([command.data for command in commands])


def test_a_gate_with_too_low_a_rate_never_exceeds_its_limits(live):
    sent = run(live, 100.0)
    live.wait_for_diagnostic("hardware_gate", "joint states come at 250 Hz, but rate is 100 Hz")
    speed = np.abs(np.diff(sent, axis=0)).max(initial=0.0) / 0.004
    assert speed < 1.05 * SPEED


def test_a_gate_with_too_high_a_rate_says_why_the_arm_creeps(live):
    sent = run(live, 1000.0)
    live.wait_for_diagnostic("hardware_gate", "joint states come at 250 Hz, but rate is 1000 Hz")
    assert 0.0 < np.abs(sent).max() < 0.5  # at the rate it was told
