"""Arguments that select the topics and the ROS domain a command records or replays."""

from __future__ import annotations

import argparse


def add_topic_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--topics", nargs="+", default=[], metavar="NAME", help="only these; '*' stands for anything")
    parser.add_argument("--exclude", nargs="+", default=[], metavar="NAME", help="not these; '*' as above")
    parser.add_argument("--domain", type=int, metavar="N", help="ROS domain (default: ROS_DOMAIN_ID)")
