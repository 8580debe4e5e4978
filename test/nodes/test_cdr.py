"""Messages read from their bytes are the messages that were sent."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from filled_messages import fill
from geometry_msgs.msg import TwistStamped, WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from flexarm.msg import (
    BaseReaction,
    BaseWrenchEstimate,
    BehaviorSet,
    BehaviorStatus,
    CartesianReference,
    FlexibleState,
    JointReference,
    RedundancyState,
    SimulationStatus,
    StrainState,
)
from flexarm_core.errors import InputError
from flexarm_nodes.messages.cdr import message_reader, stamp_of
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp

STAMP = 12_345_678_901
KINDS = (
    BaseReaction, BaseWrenchEstimate, BehaviorSet, BehaviorStatus, CartesianReference, DiagnosticArray, FlexibleState,
    Float64MultiArray, Imu, JointReference, JointState, JointTrajectory, RedundancyState, SimulationStatus, StrainState,
    TwistStamped, WrenchStamped,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_read_equals_what_was_sent(kind):
    read, rng = message_reader(kind), np.random.default_rng(1)
    for _ in range(40):
        message = kind()
        fill(message, rng)
        raw = serialize_message(message)
        found, expected = read(raw), deserialize_message(raw, kind)
        assert repr(found) == repr(expected)  # to the types of its numbers; arrays have no equality of their own
        if hasattr(found, "header"):
            assert stamp_of(raw) == found.header.stamp.sec * 1_000_000_000 + found.header.stamp.nanosec


def test_names_that_were_read_before_are_nobodys_but_the_messages():
    read = message_reader(JointState)
    for names in (["a", "b"], ["a", "b"], ["b", "a"], ["a", "b", "c"], [], ["a"], ["a"]):
        message = read(serialize_message(JointState(name=names, position=[1.0] * len(names))))
        assert message.name == names
        message.name.append("another")


def test_a_message_that_was_read_can_be_sent():
    message = JointState(name=["a"], position=[1.0], velocity=[float("nan")])
    read = message_reader(JointState)(serialize_message(message))
    read.position = [2.0]
    assert deserialize_message(serialize_message(read), JointState).position.tolist() == [2.0]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_bytes_that_are_cut_short_are_refused_or_lack_nothing(kind):
    rng, message = np.random.default_rng(2), kind()
    fill(message, rng)
    raw, read = serialize_message(message), message_reader(kind)
    whole = repr(read(raw))
    refused = 0
    for end in range(4, len(raw)):
        try:
            assert repr(read(raw[:end])) == whole, end
        except InputError as error:
            assert f"{kind.__name__} cannot be read" in str(error)
            refused += 1
    assert refused > 0


def test_another_order_of_bytes_is_read_too():
    raw = b"\x00\x00\x00\x00" + (12).to_bytes(4, "big") + (345_678_901).to_bytes(4, "big")
    raw += (1).to_bytes(4, "big") + b"\x00" * 4 + np.array([1.0, 2, 3, 4, 5, 6], ">f8").tobytes()
    wrench = message_reader(WrenchStamped)(raw)
    assert (stamp_of(raw), wrench.header.stamp) == (STAMP, nanoseconds_to_stamp(STAMP))
    assert (wrench.wrench.force.x, wrench.wrench.torque.z) == (1.0, 6.0)
