"""`flexarm demo`: run one of the studies of the suite."""

from __future__ import annotations

import argparse

from flexarm_tools.commands.run import add_run_arguments, run_and_report

HELP = "run one of the suite's own studies"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    name = parser.add_argument("name", nargs="?", default="inspect", metavar="NAME")
    name.completer = lambda **_: _names()  # type: ignore[attr-defined]  # asked by argcomplete
    parser.add_argument("--list", action="store_true", help="list the demos, with their times, and end")
    add_run_arguments(parser)


def _names() -> list[str]:
    from flexarm_tools.run.demos import demo_files

    return list(demo_files())


def run(options: argparse.Namespace) -> int:
    """Run the demo, or list the available names."""
    from flexarm_tools.run.demos import demo_file, list_demos

    if options.list:
        print(list_demos())
        return 0
    options.engine = options.engine or "first"
    return run_and_report(demo_file(options.name), options)
