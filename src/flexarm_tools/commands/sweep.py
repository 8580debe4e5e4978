"""`flexarm sweep`: run a scenario many times with values that vary, and summarize."""

from __future__ import annotations

import argparse
from pathlib import Path

from flexarm_core.errors import ConfigError

HELP = "run a scenario many times with values that vary; results are one table"
SHOW = "show"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files", nargs="+", metavar="[show] SWEEP.yaml", help="what varies; with show: print the results so far"
    )
    parser.add_argument("--out", metavar="DIR", help="folder of the results (default: flexarm_sweep/NAME)")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="processes (default: one for each core)")
    parser.add_argument(
        "--engine", choices=("local", "ray"), default="local",
        help="local: processes of this machine; ray: a Ray cluster, that of RAY_ADDRESS (default: local)",
    )  # fmt: skip
    parser.add_argument("--fresh", action="store_true", help="delete earlier results in the folder and begin anew")


def run(options: argparse.Namespace) -> int:
    """Run the sweep, or show its results."""
    from flexarm_tools.scenario.study import is_study
    from flexarm_tools.sweep.session import show_sweep, sweep_file

    show, files = options.files[0] == SHOW and len(options.files) > 1, options.files
    files = files[1:] if show else files
    if len(files) != 1:
        raise ConfigError(f"one SWEEP.yaml at a time, got {' '.join(files)}")
    if is_study(Path(files[0])):
        raise ConfigError(f"'{files[0]}' is a study, a few scenarios in one report: flexarm run {files[0]}")
    if options.workers < 0:
        raise ConfigError(f"--workers: expected a number of processes, got {options.workers}")
    out = Path(options.out) if options.out else None
    if show:
        return show_sweep(Path(files[0]), out)
    return sweep_file(Path(files[0]), out, options.workers, options.engine, options.fresh)
