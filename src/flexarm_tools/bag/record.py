"""`flexarm record`: record the messages of a running graph to an MCAP file."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path

from flexarm_core.errors import ConfigError
from flexarm_tools.bag.recorder import McapRecorder
from flexarm_tools.graph.quiet_node import quiet_node
from flexarm_tools.graph.tapped_topic import TAKE_PERIOD
from flexarm_tools.graph.topic_choice import TopicChoice
from flexarm_tools.process.end_request import EndRequest


def record(path: Path | None, choice: TopicChoice, duration: float = 0.0, domain: int | None = None) -> int:
    """Record until the duration has elapsed or a signal (Ctrl-C, SIGTERM) arrives, and print a summary.

    Args:
        path: output file; None: in the current folder, named after date and time.
        choice: topics to record.
        duration: duration from the start [s]; 0: until interrupted.
        domain: ROS domain; None: ROS_DOMAIN_ID.

    Returns:
        Number of messages; a file without messages is deleted.

    Raises:
        ConfigError: the duration is negative, or the file already exists or cannot be written.
    """
    if not duration >= 0.0:
        raise ConfigError(f"duration must be a number >= 0 [s], got {duration}")
    path = path or Path(f"flexarm_{datetime.now():%Y_%m_%d-%H_%M_%S}.mcap")
    where = f"ROS domain {os.environ.get('ROS_DOMAIN_ID', '0') if domain is None else domain}"
    with EndRequest() as end, quiet_node("flexarm_recorder", domain) as node:
        recorder = McapRecorder(node, path, choice)
        print(f"recording {where} to {path}; Ctrl-C ends it", flush=True)
        try:
            _follow(recorder, end, duration)
        finally:
            recorder.finish()
    if not recorder.count:
        path.unlink()
    print(_account(recorder, path, where), flush=True)
    return recorder.count


def _follow(recorder: McapRecorder, end: EndRequest, duration: float) -> None:
    deadline = time.monotonic() + duration if duration else float("inf")
    refused = 0
    while not end.made and time.monotonic() < deadline:
        recorder.poll()
        for topic, reason in list(recorder.refused.items())[refused:]:
            print(f"  not recorded: {topic}: {reason}", flush=True)
        refused = len(recorder.refused)
        time.sleep(TAKE_PERIOD)


def _account(recorder: McapRecorder, path: Path, where: str) -> str:
    if not recorder.count:
        return f"no message came on the chosen topics of {where}: no file is left"
    span = (recorder.ended - recorder.began) * 1e-9
    spoken = [topic for topic in recorder.topics.values() if topic.count]
    width = max(len(topic.name) for topic in spoken)
    kinds = max(len(topic.type_name) for topic in spoken)
    lines = []
    for topic in sorted(spoken, key=lambda topic: topic.name):
        rate = f"{topic.count / span:9.1f} Hz" if topic.count > 1 and span > 0.0 else ""
        lost = f"  {topic.lost} lost" if topic.lost else ""
        lines.append(f"  {topic.name:<{width}}  {topic.type_name:<{kinds}}  {topic.count:>8}  {rate}{lost}".rstrip())
    lines += [f"  {name}  {count} messages, from the joint states" for name, count in sorted(recorder.derived.items())]
    size = path.stat().st_size / 1e6
    lines.append(f"{recorder.count} messages of {len(spoken)} topics in {span:.1f} s, {size:.1f} MB: {path}")
    return "\n".join(lines)
