"""Joint states of grippers and mobile bases, on the topic of an arm's, are told from the arm's own by their names."""

from __future__ import annotations

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_nodes.messages.conversions import JointStateSelector
from flexarm_nodes.messages.foreign_joints import ForeignJoints

ARM = ("joint1", "joint2", "base_x")
NAMES = np.array([*ARM, "finger", "wheel_left", "joint", "joint11", "", "é", "joint2 "], dtype=object)


def drawn(rng: np.random.Generator) -> JointState:
    names = list(rng.choice(NAMES, rng.integers(0, 6)))
    message = JointState(name=names, position=rng.normal(size=rng.integers(0, 6)).tolist())
    message.header.frame_id = str(rng.choice(["", "base_link", "x" * 13]))
    message.header.stamp.sec, message.header.stamp.nanosec = int(rng.integers(0, 2**31)), int(rng.integers(0, 10**9))
    return message


@pytest.mark.parametrize("seed", range(3))
def test_a_message_is_foreign_where_it_names_joints_and_none_of_the_arms(seed):
    rng, is_foreign, counts = np.random.default_rng(seed), ForeignJoints(ARM), [0, 0]
    for message in [drawn(rng) for _ in range(300)] * 2:  # words that were seen before, too
        foreign = bool(message.name) and not set(message.name) & set(ARM)
        assert is_foreign(bytes(serialize_message(message))) == foreign, message.name
        counts[foreign] += 1
    assert min(counts) > 100


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bytes_raise_nothing(seed):
    rng, is_foreign = np.random.default_rng(seed), ForeignJoints(ARM)
    for _ in range(2000):
        raw = bytearray(serialize_message(drawn(rng)))
        for place in rng.integers(2, len(raw), rng.integers(0, 6)):  # the first two bytes are the middleware's own
            raw[place] = rng.integers(0, 256)
        assert is_foreign(bytes(raw[: rng.integers(0, len(raw) + 1)])) in (True, False)


def test_where_one_message_holds_some_joints_of_the_arm_it_is_a_faulty_one_of_the_arms():
    select = JointStateSelector(ARM)
    assert select(JointState(name=["finger"], position=[0.1], velocity=[0.0])) is None
    for names in (["joint1"], ["finger", "joint2", "base_x"], []):
        with pytest.raises(InputError, match="joint state lacks"):
            select(JointState(name=names, position=[0.1] * len(names), velocity=[0.0] * len(names)))


def test_what_others_name_twice_is_no_fault_of_the_arm():
    """Two grippers of one maker have joints of the same names."""
    names, position = ["finger", "joint1", "finger", "joint2", "base_x"], [9.0, 0.1, 8.0, 0.2, 0.3]
    found = JointStateSelector(ARM)(JointState(name=names, position=position, velocity=position))
    assert found is not None and found[0].tolist() == found[1].tolist() == [0.1, 0.2, 0.3]
    twice = JointState(name=[*names, "joint2"], position=[*position, 0.2], velocity=[*position, 0.2])
    with pytest.raises(InputError, match="joint state names 'joint2' twice"):
        JointStateSelector(ARM)(twice)
