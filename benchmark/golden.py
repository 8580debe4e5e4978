"""golden record|compare: the start of every scenario in config/, with separate stages and with all in one process.

`record` stores motions and commands before the source is reordered, `compare` prints the largest difference from them.
Only the first `--seconds` of each scenario run: later pushes, events and motions are not covered. The runs are in
lockstep. A lost message, or another processor, can still change a result; `compare` prints what differs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.study import is_study

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "benchmark" / "golden.npz"
ROWS = 50  # kept of a run
COMPARED = ("position", "velocity", "effort", "desired_position", "reference_velocity", "reference_effort")
DECISIONS = ("watchdog_stops", "trips", "lockstep_timeouts", "lost_samples")


def scenario_files() -> list[Path]:
    """Every scenario of config/, studies apart: they only list them."""
    files = (path for path in sorted(ROOT.glob("config/*/**/*.yaml")) if path.stem != "controllers")
    return [path for path in files if not is_study(path) and "nodes:" in path.read_text(encoding="utf-8")]


def shortened(path: Path, seconds: float) -> Scenario:
    """The begin of a scenario, in lockstep, without figures."""
    scenario = load_scenario(path)
    duration = min(scenario.duration, round(seconds * scenario.rate) / scenario.rate)
    pushes = tuple(push for push in scenario.pushes if push.start + push.duration <= duration)
    events = tuple(event for event in scenario.events if event.at < duration)
    return replace(scenario, duration=duration, mode="lockstep", figures=(), pushes=pushes, events=events)


def kept(recording: Recording) -> dict[str, Array]:
    """What is compared of a run."""
    rows = np.unique(np.linspace(0, recording.time.size - 1, ROWS).astype(int))
    arrays = {name: np.asarray(getattr(recording, name))[rows] for name in COMPARED}
    arrays["decisions"] = np.array([getattr(recording, name) for name in DECISIONS], dtype=float)
    return arrays


def run(path: Path, seconds: float, output: Path) -> None:
    """One scenario, separate and composed, into a file: what is kept of each run, under its way."""
    scenario = shortened(path, seconds)
    runs: dict[str, Array] = {}
    ways = {"separate": scenario}
    try:
        ways["composed"] = in_one_process(scenario)
    except ConfigError as error:
        print(f"not composed: {error}", file=sys.stderr)
    for way, chosen in ways.items():
        with tempfile.TemporaryDirectory() as folder:
            arrays = kept(run_scenario(chosen, Progress(way), Path(folder)))
        runs |= {f"{way}/{name}": values for name, values in arrays.items()}
    np.savez(output, **runs)


def run_apart(path: Path, seconds: float, domain: int) -> tuple[str, dict[str, dict[str, Array]], str]:
    """One scenario in a process of its own: its name, what is kept of both runs, and what went wrong."""
    name = str(path.relative_to(ROOT / "config").with_suffix(""))
    runs: dict[str, dict[str, Array]] = {}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.npz"
        command = [sys.executable, __file__, "one", "--seconds", str(seconds), "--path", str(path), "--to", str(output)]
        environment = os.environ | {"ROS_DOMAIN_ID": str(domain)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if output.exists():
            with np.load(output) as file:
                for key, values in file.items():
                    way, _, array = key.partition("/")
                    runs.setdefault(way, {})[array] = values
    failed = done.returncode != 0 or "not composed" in done.stderr
    return name, runs, done.stderr.strip().splitlines()[-1] if failed else ""


def _missing(here: Array, there: Array) -> str:
    """Say which rows of a run, out of ROWS, have a value in one of two runs only."""
    if here.shape != there.shape:
        return f"{here.shape} and {there.shape} values"
    rows = np.flatnonzero((np.isnan(here) != np.isnan(there)).reshape(len(here), -1).any(axis=1))
    return f"rows {rows.tolist()} of {len(here)} have a value in one run only"


def difference(one: dict[str, Array], other: dict[str, Array]) -> tuple[float, str]:
    """Return the largest difference between two runs, and where it is.

    It is a share of the largest value of its field where that is above 1: efforts of 1,000 N*m have 1e-13 of rounding.
    It is infinite for other decisions or other NaN.
    """
    worst, where = 0.0, ""
    for name in one:
        here, there = one[name], other[name]
        if here.shape != there.shape or not np.array_equal(np.isnan(here), np.isnan(there)):
            return np.inf, f"{name}: {_missing(here, there)}"
        if name == "decisions" and not np.array_equal(here, there):
            return np.inf, f"{', '.join(DECISIONS)}: {here} and {there}"
        apart = float(np.nanmax(np.abs(here - there), initial=0.0) / np.nanmax(np.abs(there), initial=1.0))
        if apart > worst:
            worst, where = apart, name
    return worst, where


def runs_of_all(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, dict[str, Array]], str]]:
    """Every scenario asked for."""
    files = [path for path in scenario_files() if not options.only or options.only in str(path)]
    with ThreadPoolExecutor(options.jobs) as pool:
        numbered = [(path, options.seconds, 10 + i) for i, path in enumerate(files)]
        yield from pool.map(lambda one: run_apart(*one), numbered)


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("record", "compare", "one"))
    parser.add_argument("--seconds", type=float, default=1.0, help="of each scenario")
    parser.add_argument("--only", default="", help="scenarios whose path contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--path", type=Path, help="scenario of `one`")
    parser.add_argument("--to", type=Path, help="file of `one`")
    options = parser.parse_args()
    if options.action == "one":
        run(options.path, options.seconds, options.to)
        return
    recorded: dict[str, Array] = {}
    if options.action == "compare":
        with np.load(RECORDED) as file:
            recorded = dict(file)
    kept_now: dict[str, Array] = {}
    worst, between, count = 0.0, 0.0, 0
    for name, runs, failure in runs_of_all(options):
        line = f"{name}: {failure}" if failure else name
        count += bool(runs)
        for way, arrays in runs.items():
            kept_now |= {f"{name}/{way}/{key}": value for key, value in arrays.items()}
            if recorded:
                start = f"{name}/{way}/"
                before = {key.removeprefix(start): value for key, value in recorded.items() if key.startswith(start)}
                apart, where = difference(arrays, before) if before else (np.inf, "not recorded")
                worst, line = max(worst, apart), f"{line}, {way} {apart:.2g} {where}".rstrip()
        if len(runs) == 2:
            apart, where = difference(runs["separate"], runs["composed"])
            between, line = max(between, apart), f"{line}, separate and composed {apart:.2g} {where}".rstrip()
        print(line, flush=True)
    if options.action == "record":
        np.savez_compressed(RECORDED, **kept_now)
    print(f"golden_scenarios {count}\ngolden_worst_difference {worst:.3g}\nseparate_and_composed {between:.3g}")


if __name__ == "__main__":
    main()
