"""`flexarm view`: show a running graph or recorded runs in a browser."""

from __future__ import annotations

import argparse

from flexarm_tools.commands.xacro_arguments import add_xacro_arguments
from flexarm_tools.view.command import HELP as HELP
from flexarm_tools.view.command import add_view_arguments, run_view


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_view_arguments(parser)
    add_xacro_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Show the view until Ctrl-C."""
    run_view(options)
    return 0
