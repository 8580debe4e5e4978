"""Campaign: draws cases from a seed, runs them, and shows the progress."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_tools.faults.bad_limits import run_bad_limits
from flexarm_tools.faults.core_case import Case
from flexarm_tools.faults.kinds import WHAT, chosen_kinds, draw_case
from flexarm_tools.faults.outcome import Outcome
from flexarm_tools.faults.tally import tally

SEEDS = 100_000  # distance of the first seeds of two campaigns
BATCH = 8  # cases that a process receives at a time
SLOWEST, FASTEST = 10, 2000  # rates that can be asked for [Hz]
PROGRESS_EACH = 100  # cases between two progress lines in a log


def run_core_case(seed: int, names: Sequence[str], rates: Sequence[int] = ()) -> Outcome:
    """Run the case of a seed, among these kinds and rates (see :func:`draw_case`), on the core gate."""
    setting, faults = draw_case(seed, names, rates, core=True)
    with np.errstate(all="ignore"):
        return run_bad_limits(setting) if not faults else Case(setting, faults).run()


def campaign(
    seed: int, core: int, nodes: int, kinds: Sequence[str], jobs: int, rates: Sequence[int] = ()
) -> dict[str, Any]:
    """Run cases on the core gate and on real nodes, and return the results.

    Args:
        seed: seed of the campaign.
        core: number of cases on the core gate, in simulation time.
        nodes: number of cases on real nodes, in real time.
        kinds: kinds of fault, empty: all.
        jobs: processes for cases on the core gate, 0: one per available processor.
        rates: rates of joint states on the core gate to choose from [Hz], empty: those of each kind.

    Raises:
        ConfigError: there is no such kind, or a rate is not one of a controller.
    """
    if not all(SLOWEST <= rate <= FASTEST for rate in rates):
        raise ConfigError(f"rates are from {SLOWEST} to {FASTEST} Hz, got {', '.join(map(str, rates))}")
    names, first = chosen_kinds(kinds), seed * SEEDS
    outcomes = list(_with_progress(_core_outcomes(range(first, first + core), names, rates, jobs), core, "core"))
    if nodes:
        from flexarm_tools.faults.node_campaign import node_outcomes

        outcomes += _with_progress(node_outcomes(range(first, first + nodes), names), nodes, "nodes")
    return tally(outcomes, WHAT)


def _core_outcomes(seeds: range, names: Sequence[str], rates: Sequence[int], jobs: int) -> Iterator[Outcome]:
    run, jobs = partial(run_core_case, names=tuple(names), rates=tuple(rates)), jobs or len(os.sched_getaffinity(0))
    if jobs == 1 or len(seeds) <= BATCH:
        yield from map(run, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run, seeds, chunksize=BATCH)


def _with_progress(outcomes: Iterable[Outcome], count: int, where: str) -> Iterator[Outcome]:
    """Show the progress on stderr."""
    missed, began = 0, time.monotonic()
    for done, one in enumerate(outcomes, 1):
        missed += bool(one.missed)
        if sys.stderr.isatty() or done % PROGRESS_EACH == 0 or done == count:
            end = "\r" if sys.stderr.isatty() and done < count else "\n"
            left = (time.monotonic() - began) / done * (count - done)
            line = f"{where}: {done} of {count} cases, {missed} missed a bar, {left:.0f} s left   "
            print(line, end=end, file=sys.stderr, flush=True)
        yield one
