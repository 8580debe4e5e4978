"""`flexarm replay`: publish the messages of an MCAP file again."""

from __future__ import annotations

import argparse
from pathlib import Path

from flexarm_tools.commands.topic_arguments import add_topic_arguments

HELP = "publish what an MCAP file recorded, at the recorded pace"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE.mcap")
    parser.add_argument("--rate", type=float, default=1.0, metavar="X", help="of the recorded pace (default: 1)")
    parser.add_argument("--loop", action="store_true", help="begin again at the end, until Ctrl-C")
    add_topic_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Replay the file to its end, or until Ctrl-C."""
    from flexarm_tools.bag.replay import replay
    from flexarm_tools.graph.topic_choice import TopicChoice

    choice = TopicChoice(tuple(options.topics), tuple(options.exclude), hidden=True)
    replay(Path(options.file), choice, options.rate, options.loop, options.domain)
    return 0
