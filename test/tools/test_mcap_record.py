"""A recorded graph: an independent reader finds in the file what was said, and a replay says it again."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from geometry_msgs.msg import Vector3, Wrench
from live import LiveGraph, own_domain
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64, String

from flexarm.msg import BehaviorContribution, BehaviorStatus
from flexarm_core.errors import ConfigError
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.node import topics
from flexarm_tools.bag import replay as mcap_replay
from flexarm_tools.bag.recorder import McapRecorder
from flexarm_tools.bag.replay import replay
from flexarm_tools.graph.quiet_node import quiet_node
from flexarm_tools.graph.topic_choice import TopicChoice

BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
STATUSES = 20
CHOSEN = TopicChoice(exclude=("/diagnostics", "/rosout", "/parameter_events", "left_*"))
RECORD = """
from pathlib import Path
from flexarm_tools.bag.record import record
from flexarm_tools.graph.quiet_node import quiet_node
from flexarm_tools.graph.topic_choice import TopicChoice
record(Path({path!r}), TopicChoice(("/said",)))
"""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveGraph]:
    """A graph of its own."""
    with own_domain():
        graph = LiveGraph(tmp_path)
        try:
            yield graph
        finally:
            graph.close()


def status(tick: int) -> BehaviorStatus:
    """A message with types of three packages inside each other, in sequences too."""
    force = Wrench(force=Vector3(x=0.1 * tick, y=-2.0), torque=Vector3(z=3.0))
    parts = [BehaviorContribution(name=f"part {i}", force=force, effort=[1.5, -0.1]) for i in range(tick % 3)]
    message = BehaviorStatus(joint_names=["a", "bc"], behaviors=parts, wrench=force, stalled=bool(tick % 2))
    message.header.stamp = nanoseconds_to_stamp(tick * 1_000_000)
    message.header.frame_id = "base_link"
    return message


def fields(message: Any) -> Any:
    """A message of rclpy or of the independent reader as plain values."""
    if isinstance(message, (str, int, float)):
        return message
    if isinstance(message, (list, array)):
        return [fields(each) for each in message]
    names = [slot.removeprefix("_") for slot in message.__slots__ if slot != "_check_fields"]
    return {name: fields(getattr(message, name)) for name in names}


def spin(live: LiveGraph, recorder: McapRecorder, condition, what: str) -> None:
    """Record until a condition holds."""

    def holds() -> bool:
        recorder.discover()
        recorder.take()
        return condition()

    live.until(holds, what)


@contextlib.contextmanager
def spun(live: LiveGraph) -> Iterator[None]:
    """Handle callbacks meanwhile."""
    done = threading.Event()
    thread = threading.Thread(target=live.until, args=(done.is_set, "end"))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextlib.contextmanager
def beside(live: LiveGraph, name: str) -> Iterator[Node]:
    """A node in the context of the test's own."""
    node = rclpy.create_node(name, context=live.node.context)
    try:
        yield node
    finally:
        node.destroy_node()


def record_graph(live: LiveGraph, path: Path) -> dict[str, list[Any]]:
    """Record a latched topic of before, a best-effort one, nested messages, and a topic that comes late."""
    node = live.node
    latched = node.create_publisher(String, "robot_description", topics.LATCHED)
    latched.publish(String(data="<robot/>"))
    statuses = node.create_publisher(BehaviorStatus, topics.BEHAVIOR_STATUS, topics.EVERY_SAMPLE)
    quick = node.create_publisher(Float64, "quick", BEST_EFFORT)
    node.create_publisher(String, "left_out", topics.LATCHED).publish(String())
    with quiet_node("ear", None) as ear:
        recorder = McapRecorder(ear, path, CHOSEN)
        try:
            spin(live, recorder, lambda: statuses.get_subscription_count() and quick.get_subscription_count(), "ears")
            live.settle()
            said = [status(tick) for tick in range(STATUSES)]
            for message in said:
                statuses.publish(message)
                time.sleep(2e-3)
            quick.publish(Float64(data=0.25))
            late = node.create_publisher(String, "late", topics.CONTROL)
            spin(live, recorder, late.get_subscription_count, "an ear for a late topic")
            late.publish(String(data="at last"))
            spin(live, recorder, lambda: recorder.count == STATUSES + 3, "every message")
        finally:
            recorder.finish()
    assert set(recorder.refused) == {"/tf"}  # the description is not one
    assert not any(topic.lost for topic in recorder.topics.values())
    for publisher in (latched, statuses, quick, late):
        node.destroy_publisher(publisher)
    return {
        "/robot_description": [String(data="<robot/>")],
        "/behavior_status": said,
        "/quick": [Float64(data=0.25)],
        "/late": [String(data="at last")],
    }


def test_an_independent_reader_finds_what_was_said_and_a_replay_says_it_again_with_the_same_qualities(
    live, tmp_path, capsys, monkeypatch
):
    said = record_graph(live, tmp_path / "run.mcap")
    heard: dict[str, list[Any]] = {name: [] for name in said}
    with (tmp_path / "run.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True, decoder_factories=[DecoderFactory()])
        assert reader.get_header().profile == "ros2"
        for schema, channel, message, decoded in reader.iter_decoded_messages():
            heard[channel.topic].append(fields(decoded))
            assert schema.encoding == "ros2msg" and channel.metadata["topic_type_hash"].startswith("RIHS01_")
            assert message.publish_time <= message.log_time
    assert heard == {name: fields(messages) for name, messages in said.items()}

    live.until(lambda: not any(live.node.count_publishers(name) for name in said), "silence")
    qualities = {"/robot_description": topics.LATCHED, "/quick": BEST_EFFORT}
    for name, messages in said.items():
        quality = qualities.get(name, topics.EVERY_SAMPLE)
        live.node.create_subscription(type(messages[0]), name, live.received[name].append, quality)
    began = time.monotonic()
    monkeypatch.setattr(mcap_replay, "quiet_node", lambda name, domain: beside(live, name))
    monkeypatch.setattr(mcap_replay, "DISCOVERY_TIME", 0.0)  # nodes of one context know each other
    with spun(live):  # a message that nobody has taken dies with its publisher
        assert replay(tmp_path / "run.mcap", TopicChoice(exclude=("late",)), rate=0.5) == STATUSES + 2
    assert time.monotonic() - began > 2.0 * 2e-3 * STATUSES  # at half the pace
    live.until(lambda: all(len(live.received[name]) == len(said[name]) for name in said if name != "/late"), "a replay")
    assert all(live.received[name] == said[name] for name in said if name != "/late") and not live.received["/late"]
    assert "replaying 3 topics" in capsys.readouterr().out

    live.until(lambda: not any(live.node.count_publishers(name) for name in said), "silence")
    keeper = live.node.create_publisher(String, "late", topics.CONTROL)
    with pytest.raises(ConfigError, match="'/late' is already published by test.*--exclude /late"):
        replay(tmp_path / "run.mcap", TopicChoice(), rate=0.1)
    live.node.destroy_publisher(keeper)


def test_publishers_that_offer_less_are_heard_as_soon_as_they_come(live, tmp_path):
    first = live.node.create_publisher(String, "said", topics.LATCHED)
    first.publish(String(data="latched"))
    with quiet_node("ear", None) as ear:
        recorder = McapRecorder(ear, tmp_path / "run.mcap", CHOSEN)
        try:
            spin(live, recorder, lambda: recorder.count == 1, "the latched message")
            second = live.node.create_publisher(String, "said", BEST_EFFORT)
            spin(live, recorder, second.get_subscription_count, "an ear for best effort")
            second.publish(String(data="best effort"))
            spin(live, recorder, lambda: recorder.count == 2, "the second message")
        finally:
            recorder.finish()


def test_sigterm_ends_a_recording_in_good_order_and_nothing_is_overwritten(live, tmp_path):
    path = tmp_path / "run.mcap"
    with pytest.raises(ConfigError, match="new' does not exist"):  # no folder is made
        McapRecorder(live.node, tmp_path / "new" / "run.mcap", CHOSEN)
    command = [sys.executable, "-c", RECORD.format(path=str(path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = live.publisher("said", String)
            for tick in range(50):
                said.publish(String(data=str(tick)))
            live.settle()
        finally:
            process.send_signal(signal.SIGTERM)
        account, _ = process.communicate(timeout=20.0)
    assert process.returncode == 0 and "/said  std_msgs/msg/String" in account, account
    with path.open("rb") as stream:
        assert make_reader(stream).get_summary().statistics.message_count == 50
    with pytest.raises(ConfigError, match="is there already"):
        McapRecorder(live.node, path, CHOSEN)
