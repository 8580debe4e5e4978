"""`flexarm run`: run a scenario or study file and report on it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

HELP = "run a scenario or study file and report on it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scenario", metavar="SCENARIO.yaml")
    add_run_arguments(parser)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments shared by all commands that run a file."""
    parser.add_argument(
        "--report", metavar="DIR", help="where metrics.json and report.html go (default: flexarm_report/NAME)"
    )
    parser.add_argument(
        "--mcap", action="store_true", help="record every topic of each run to recordings/NAME.mcap beside the report"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--lockstep", dest="mode", action="store_const", const="lockstep", help="instead of the file's mode"
    )
    mode.add_argument(
        "--real-time", dest="mode", action="store_const", const="real_time", help="instead of the file's mode"
    )
    parser.add_argument(
        "--engine", choices=("nodes", "process"), default="nodes",
        help="nodes: as ROS nodes; process: in this process, in lockstep, faster (default: nodes)",
    )  # fmt: skip
    parser.set_defaults(mode="")


def run(options: argparse.Namespace) -> int:
    """Run the scenario or study file."""
    return run_and_report(Path(options.scenario), options)


def run_and_report(path: Path, options: argparse.Namespace) -> int:
    """Run a file; return an exit status that is 0 if every expectation holds and nothing unexpected happened."""
    if options.engine == "process":
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the nodes have it, read at NumPy's import: more threads
        # change the order of sums, and so the last bits
    from flexarm_tools.run.session import run_file

    return run_file(path, options.mode, Path(options.report) if options.report else None, options.mcap, options.engine)
