"""`flexarm run`: run a scenario or study file and report on it."""

from __future__ import annotations

import argparse
from pathlib import Path

from flexarm_core.errors import ConfigError
from flexarm_tools.process.domain import alone_in_domain

HELP = "run a scenario or study file and report on it"
PROCESS = "process"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scenario", metavar="SCENARIO.yaml", help="scenario or study file; with --of: number of a run")
    parser.add_argument("--of", metavar="SWEEP.yaml", help="play one run of a sweep, in one process")
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
        "--engine", choices=("nodes", "process"),
        help="nodes: as ROS nodes; process: in this process, in lockstep, faster (default: nodes; with --of: process; "
        "of a demo: the first run as nodes, the others in one process)",
    )  # fmt: skip
    parser.set_defaults(mode="")


def run(options: argparse.Namespace) -> int:
    """Run the scenario or study file, or a run of a sweep."""
    if not options.of:
        return run_and_report(Path(options.scenario), options)
    options.engine = options.engine or PROCESS
    _refuse_taken_domain(options)
    from flexarm_tools.run.session import run_loaded
    from flexarm_tools.sweep.session import played_sweep

    if not options.scenario.isdecimal():
        raise ConfigError(f"--of {options.of}: expected the number of a run, got '{options.scenario}'")
    name = f"{Path(options.of).stem}_{int(options.scenario)}"
    scenario = played_sweep(Path(options.of)).scenario(int(options.scenario), source=True)
    report = Path(options.report) if options.report else Path("flexarm_report") / name
    return run_loaded(name, scenario, options.mode, report, options.mcap, options.engine)


def run_and_report(path: Path, options: argparse.Namespace) -> int:
    """Run a file; return an exit status that is 0 if every expectation holds and nothing unexpected happened."""
    options.engine = options.engine or "nodes"
    _refuse_taken_domain(options)
    from flexarm_tools.run.session import run_file

    return run_file(path, options.mode, Path(options.report) if options.report else None, options.mcap, options.engine)


def _refuse_taken_domain(options: argparse.Namespace) -> None:
    """Say at once that the ROS domain is taken."""
    if options.engine != PROCESS:
        with alone_in_domain():
            pass
