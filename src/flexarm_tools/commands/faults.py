"""`flexarm faults`: inject faults and look for a case in which the arm runs away."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from flexarm_core.errors import InputError, quoted
from flexarm_core.text_file import read_text
from flexarm_tools.process.exit_status import EXIT_FAILED

HELP = "try faults of all kinds on core and nodes, at random moments, on random arms"
MOST_BYTES = 10_000_000  # of a file of figures
SHORT, LONG = (120, 6), (2000, 200)  # number of cases on the core gate, and on real nodes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="from which all cases are drawn (%(default)s)")
    parser.add_argument("--core", type=int, metavar="N", help=f"cases on the core gate ({SHORT[0]}, --long {LONG[0]})")
    parser.add_argument("--nodes", type=int, metavar="N", help=f"cases on real nodes ({SHORT[1]}, --long {LONG[1]})")
    parser.add_argument("--long", action="store_true", help="the whole campaign: some 20 minutes")
    parser.add_argument("--kind", nargs="+", default=[], metavar="NAME", help="only these kinds of fault")
    parser.add_argument(
        "--rate", nargs="+", type=int, default=[], metavar="HZ", help="rates of joint states in core cases"
    )
    parser.add_argument(
        "--jobs", type=int, default=0, metavar="N", help="processes for core cases (default: all cores)"
    )
    parser.add_argument("--json", default="", metavar="FILE", help="figures as JSON, - for the terminal")
    parser.add_argument("--report", default="", metavar="FOLDER", help="report.html and figures.json are written there")
    parser.add_argument("--table", default="", metavar="PAGE.md", help="page whose table of faults is written anew")
    parser.add_argument("--show", default="", metavar="FILE", help="show figures of an earlier --json; nothing is run")


def run(options: argparse.Namespace) -> int:
    """Run the cases, evaluate them and write the requested output files."""
    from flexarm_tools.faults.table import markdown, write_report, write_table
    from flexarm_tools.faults.tally import failures

    found = _shown(Path(options.show)) if options.show else _try(options)
    text = json.dumps(found, indent=1)
    if options.json == "-":
        print(text)
    else:
        print(markdown(found))
        for line in found["missed"]:
            print(f"missed: {line}")
    if options.json not in ("", "-"):
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.report:
        folder = Path(options.report)
        write_report(folder / "report.html", found)
        (folder / "figures.json").write_text(text + "\n", encoding="utf-8")
    if options.table:
        write_table(Path(options.table), found)
    missed = failures(found)
    for line in missed:
        print(f"flexarm: {line}", file=sys.stderr)
    return EXIT_FAILED if missed else 0


def _shown(path: Path) -> dict[str, Any]:
    """Return the figures of an earlier campaign."""
    from flexarm_tools.faults.table import markdown
    from flexarm_tools.faults.tally import failures

    text = read_text(path, "figures of a campaign", MOST_BYTES, InputError)
    try:
        found: dict[str, Any] = json.loads(text)
        markdown(found), failures(found), found["missed"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = quoted(f"{type(error).__name__}: {error}")
        raise InputError(f"'{path}' was not written by `flexarm faults --json`: {reason}") from error
    return found


def _try(options: argparse.Namespace) -> dict[str, Any]:
    from flexarm_tools.faults.campaign import campaign

    core, nodes = LONG if options.long else SHORT
    core = core if options.core is None else options.core
    nodes = nodes if options.nodes is None else options.nodes
    return campaign(options.seed, core, nodes, options.kind, options.jobs, options.rate)
