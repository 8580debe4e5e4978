"""`flexarm record`: record the running graph to an MCAP file."""

from __future__ import annotations

import argparse
from pathlib import Path

from flexarm_tools.commands.topic_arguments import add_topic_arguments
from flexarm_tools.process.exit_status import EXIT_FAILED

HELP = "record the live graph to an MCAP file, for Foxglove and ros2 bag"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", metavar="FILE.mcap", help="file that is written (default: flexarm_DATE-TIME.mcap)")
    parser.add_argument("--duration", type=float, default=0.0, metavar="S", help="default: until Ctrl-C")
    parser.add_argument("--all", action="store_true", help="hidden topics too, those of actions")
    add_topic_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Record until the duration has elapsed, or until Ctrl-C."""
    from flexarm_tools.bag.record import record
    from flexarm_tools.graph.topic_choice import TopicChoice

    choice = TopicChoice(tuple(options.topics), tuple(options.exclude), options.all)
    path = Path(options.out) if options.out else None
    return 0 if record(path, choice, options.duration, options.domain) else EXIT_FAILED
