"""`flexarm replay`: publish the messages of an MCAP file at the recorded pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from flexarm_core.errors import ConfigError, InputError
from flexarm_nodes.node.topics import TF, TF_STATIC
from flexarm_tools.bag.file import McapFile, RecordedTopic
from flexarm_tools.graph.message_class import message_class
from flexarm_tools.graph.message_definition import MessageDefinition
from flexarm_tools.graph.packages import AmentPackages
from flexarm_tools.graph.quiet_node import quiet_node
from flexarm_tools.graph.topic_choice import OF_NODES, TopicChoice
from flexarm_tools.process.end_request import EndRequest

DISCOVERY_TIME = 3.2  # [s] wait before publishing: Fast DDS announces participants every 3 s
SETTLE_TIME = 0.8  # [s] for subscriptions to discover the publishers
LAST_WORDS = 1.0  # [s] wait at the end for the last messages to be acknowledged
CHECK_PERIOD = 1.0  # [s] period of the check for other publishers
NAP = 0.1  # [s] longest sleep, so that an end request is handled quickly
DEPTH = 100  # history depth for slow subscriptions; the recorded depth is not used


def replay(path: Path, choice: TopicChoice, rate: float = 1.0, loop: bool = False, domain: int | None = None) -> int:
    """Publish the messages of a file by their times of arrival, and print a summary.

    Args:
        path: ``.mcap`` file.
        choice: topics; if it names none, the monitoring topics of the nodes (/rosout, /parameter_events) are left out.
        rate: seconds of the recording per second.
        loop: restart at the end, until Ctrl-C or SIGTERM.
        domain: ROS domain; None: ROS_DOMAIN_ID.

    Returns:
        Number of published messages.

    Raises:
        ConfigError: the rate is invalid, a type is not installed or has a different definition, or another node already
            publishes one of the topics.
        InputError: the file cannot be used, or does not contain any of the topics.
    """
    if not 0.0 < rate < float("inf"):
        raise ConfigError(f"rate must be a number > 0, got {rate}")
    with McapFile(path) as file:
        topics = _chosen(file, choice)
        classes = {name: _class(name, topic) for name, topic in topics.items()}
        with EndRequest() as end, quiet_node("flexarm_player", domain) as node:
            _wait(DISCOVERY_TIME, end)
            _refuse_company(node, topics)
            publishers = {
                name: node.create_publisher(classes[name], name, _quality(topic)) for name, topic in topics.items()
            }
            _wait(SETTLE_TIME, end)
            _refuse_company(node, topics)
            span = (file.ended - file.began) * 1e-9
            print(f"replaying {len(topics)} topics of {span:.1f} s at rate {rate:g}; Ctrl-C ends it", flush=True)
            count, late = 0, 0.0
            while not end.made:
                done, behind = _play(file, publishers, rate, end, lambda: _refuse_company(node, topics))
                count, late = count + done, max(late, behind)
                if not loop:
                    break
            deadline = time.monotonic() + LAST_WORDS
            for publisher in publishers.values():
                publisher.wait_for_all_acked(Duration(seconds=max(deadline - time.monotonic(), 0.0)))
    print(f"{count} messages, at most {late * 1e3:.1f} ms late", flush=True)
    return count


def _chosen(file: McapFile, choice: TopicChoice) -> dict[str, RecordedTopic]:
    chosen = {name: topic for name, topic in file.topics.items() if choice.takes(name) and topic.count}
    if not choice.names:
        left_out = OF_NODES if find_spec("tf2_msgs") else (*OF_NODES, TF, TF_STATIC)  # frames follow from joint states
        chosen = {name: topic for name, topic in chosen.items() if name not in left_out}
    if not chosen:
        raise InputError(
            f"'{file.path}' holds none of these topics; it holds {', '.join(sorted(file.topics)) or 'none'}"
        )
    return chosen


def _class(name: str, topic: RecordedTopic) -> Any:
    """Return the message class of a topic; its layout must equal the recorded one, or subscribers would misread it."""
    found = message_class(topic.type_name)
    if topic.definition is not None:
        recorded = topic.definition.layout()
        installed = MessageDefinition.find(topic.type_name, AmentPackages()).layout()
        if recorded != installed:
            other = sorted(
                kind for kind in recorded.keys() | installed.keys() if recorded.get(kind) != installed.get(kind)
            )
            raise ConfigError(
                f"topic '{name}' was recorded with another definition of {', '.join(other)} than the installed one;"
                f" leave it out with --exclude {name}, or source the workspace it was recorded with"
            )
    return found


def _refuse_company(node: Node, topics: Iterable[str]) -> None:
    """Raise an error if another node publishes one of the topics: recorded and live messages must not be mixed."""
    for name in topics:
        if not node.count_publishers(name):
            continue
        company = {each.node_name for each in node.get_publishers_info_by_topic(name)} - {node.get_name()}
        if company:
            raise ConfigError(
                f"topic '{name}' is already published by {', '.join(sorted(company))}: replay into another ROS domain"
                f" (--domain), or leave it out with --exclude {name}"
            )


def _quality(topic: RecordedTopic) -> QoSProfile:
    """Return the QoS that all recorded publishers offered; reliable if the file does not contain it."""
    reliable = all(each.reliability != ReliabilityPolicy.BEST_EFFORT for each in topic.offered)
    latched = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in topic.offered)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched and topic.offered else DurabilityPolicy.VOLATILE,
    )


def _wait(seconds: float, end: EndRequest) -> None:
    deadline = time.monotonic() + seconds
    while not end.made and (left := deadline - time.monotonic()) > 0.0:
        time.sleep(min(left, NAP))


def _play(
    file: McapFile, publishers: dict[str, Any], rate: float, end: EndRequest, check: Callable[[], None]
) -> tuple[int, float]:
    """Publish the file once; return the number of messages and the largest delay [s]."""
    begin, count, late = time.monotonic(), 0, 0.0
    first, checked = -1, begin
    for arrived, name, data in file.messages(publishers):
        first = arrived if first < 0 else first
        due = begin + (arrived - first) * 1e-9 / rate
        while not end.made:
            now = time.monotonic()
            if now - checked > CHECK_PERIOD:
                check()
                checked = now
            if now >= due:
                break
            time.sleep(min(due - now, NAP))
        if end.made:
            break
        late = max(late, now - due)
        publishers[name].publish(data)
        count += 1
    return count, late
