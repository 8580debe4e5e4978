"""Offered qualities of service: written as rosbag2 does, read back whoever wrote them."""

from __future__ import annotations

import pytest
import yaml
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

from flexarm_core.errors import InputError
from flexarm_tools.graph.offered_qos import read_offered_qos, write_offered_qos

# of a topic of `ros2 bag record` in Humble
HUMBLE = """\
- history: 3
  depth: 0
  reliability: 1
  durability: 2
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: 1
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false
"""
WORDS = {"history: 3": "history: unknown", "reliability: 1": "reliability: best_effort"}
WORDS |= {"durability: 2": "durability: transient_local", "liveliness: 1": "liveliness: automatic"}


def test_a_profile_with_infinite_times_is_written_as_rosbag2_writes_it():
    unknown = QoSProfile(
        history=HistoryPolicy.UNKNOWN,
        depth=0,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.VOLATILE,
        liveliness=LivelinessPolicy.AUTOMATIC,
        **{name: Duration(nanoseconds=2**63 - 1) for name in ("deadline", "lifespan", "liveliness_lease_duration")},
    )
    assert write_offered_qos([unknown]) == HUMBLE


def test_what_was_written_is_read_back():
    profiles = [
        QoSProfile(depth=3, deadline=Duration(nanoseconds=1_500_000_007), durability=DurabilityPolicy.TRANSIENT_LOCAL),
        QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, liveliness=LivelinessPolicy.MANUAL_BY_TOPIC),
    ]
    assert list(read_offered_qos(write_offered_qos(profiles))) == profiles


def test_policies_may_be_words_as_in_newer_bags():
    text = HUMBLE
    for number, word in WORDS.items():
        text = text.replace(number, word)
    (profile,) = read_offered_qos(text)
    assert profile.reliability == ReliabilityPolicy.BEST_EFFORT
    assert profile.durability == DurabilityPolicy.TRANSIENT_LOCAL


@pytest.mark.parametrize("text", ["[", "5", "- history: 1", HUMBLE.replace("reliability: 1", "reliability: sure")])
def test_other_texts_are_refused(text):
    with pytest.raises(InputError, match="offered_qos_profiles cannot be read"):
        read_offered_qos(text)


def test_no_text_offers_nothing():
    assert read_offered_qos("") == () and yaml.safe_load(write_offered_qos([])) == []
