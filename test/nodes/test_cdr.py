"""Messages read from their bytes are the messages that were sent."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistStamped, WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from rosidl_parser.definition import Array, BasicType, NamespacedType, UnboundedSequence, UnboundedString
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
TEXTS = ("", "a", "base", "tool_ft_sensor", "Gelenk für Öl")  # every alignment of what follows


def fill(message, rng) -> None:
    """Give every field of a message, however deep, a value of its type."""
    for slot, part in zip(message.__slots__, message.SLOT_TYPES, strict=False):
        setattr(message, slot[1:], some(part, getattr(message, slot), rng))


def some(part, before, rng):
    if isinstance(part, NamespacedType):
        fill(before, rng)
        return before
    if isinstance(part, UnboundedString):
        return str(rng.choice(TEXTS))
    if isinstance(part, BasicType):
        if part.typename == "boolean":
            return bool(rng.integers(2))
        if part.typename == "octet":
            return bytes([rng.integers(4)])
        return float(rng.normal()) if part.typename in ("double", "float") else int(rng.integers(100))
    count = part.size if isinstance(part, Array) else int(rng.integers(4))
    assert isinstance(part, Array | UnboundedSequence)
    if isinstance(part.value_type, NamespacedType):
        module = __import__(".".join(part.value_type.namespaces), fromlist=["x"])
        values = [getattr(module, part.value_type.name)() for _ in range(count)]
        for value in values:
            fill(value, rng)
        return values
    values = [some(part.value_type, None, rng) for _ in range(count)]
    return before.__class__(before.typecode, values) if isinstance(before, array) else values


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
