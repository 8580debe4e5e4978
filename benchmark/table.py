"""The one way to write a benchmark: measures are functions that return figures; `run` prints and writes them.

What is compared with a peer is timed by :func:`costs`, in turns in one process and by the CPU time of the thread, and
becomes a figure by :func:`versus`. The figures of all benchmarks are one table: `bench.py`.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from flexarm_tools.metrics.figures import Figure, parse_goal, write_figures
from flexarm_tools.run.provenance import provenance

FOLDER = Path(__file__).resolve().parents[1] / "build" / "benchmark"
PEERS = FOLDER.parent / "peers"  # where bench.py installs what nothing else here needs
sys.path.append(str(PEERS))  # last: our own versions of what they need come first
PACKAGES = {"Pinocchio": "pin", "pink": "pin-pink", "Exudyn": "exudyn", "MuJoCo": "mujoco", "dynibo": "dynibo"}
BATCH = 1_000_000  # [ns] roughly, of calls that are timed at once
ROUNDS = 101


class Cost(NamedTuple):
    """CPU time of a call [us], of the quickest batch and in the median of all."""

    least: float
    median: float


def costs(calls: Mapping[str, Callable[[], Any]], rounds: int = ROUNDS, batch: int = BATCH) -> dict[str, Cost]:
    """Time calls in turns, so that a busy machine slows all of them; the first round warms up."""
    clock, counts, times = time.thread_time_ns, {}, {name: [] for name in calls}
    for name, call in calls.items():
        call()
        began = clock()
        call()
        counts[name] = max(1, batch // max(clock() - began, 1))
    gc.collect()
    gc.disable()
    for turn in range(rounds + 1):
        for name, call in calls.items():
            count = range(counts[name])
            began = clock()
            for _ in count:
                call()
            if turn:
                times[name].append((clock() - began) * 1e-3 / len(count))
    gc.enable()
    return {name: Cost(min(row), sorted(row)[len(row) // 2]) for name, row in times.items()}


def versus(
    name: str, meaning: str, found: Mapping[str, Cost], ours: str, peer: str, goal: str = "", part: bool = False
) -> Figure:
    """The peer's time over ours, of the quickest batches; ``part``: ours over the peer's."""
    mine, theirs = found[ours], found[peer]
    details: dict[str, bool | float | str] = {"ours_us": mine.least, "peer": peer, "peer_us": theirs.least}
    details |= {"ours_median_us": mine.median, "peer_median_us": theirs.median}
    value = mine.least / theirs.least if part else theirs.least / mine.least
    return Figure(name, value, "1", parse_goal(goal) if goal else None, meaning, details=details)


def origin() -> dict[str, str]:
    """Commit, date, machine and versions, those of peers too."""
    found = provenance([])
    for name, package in PACKAGES.items():
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            continue
    return found


def measured(measure: Callable[[], Iterable[Figure]]) -> list[Figure]:
    """Figures of a measure, printed."""
    began, figures = time.perf_counter(), []
    for figure in measure():
        goal = figure.goal.text if figure.goal else ""
        mark = "" if figure.goal is None else "holds" if figure.holds else "FAILS"
        print(f"{figure.name:26} {figure.value:12.4g} {figure.unit:3} {goal:10} {mark:6} {figure.meaning}")
        for key, value in figure.details.items():
            print(f"    {key} = {value:.4g}" if isinstance(value, float) else f"    {key} = {value}")
        figures.append(figure)
    print(f"    ({time.perf_counter() - began:.1f} s)", flush=True)
    return figures


def run(name: str, measures: Iterable[Callable[[], Iterable[Figure]]]) -> int:
    """Exit status: 0 only if every goal holds."""
    output = FOLDER / f"{name}.json"
    good = write_figures(output, [figure for one in measures for figure in measured(one)], provenance=origin())
    print(f"written to {output}")
    return 0 if good else 1
