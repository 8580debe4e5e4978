"""Bases that are otherwise than told: stiffness, damping and mass up to 40 % off, random postures and pushes.

The linear sampled loops at postures to which the arm may drift, for the real and the told base; and runs of the whole
chain with its gate, without ROS, against the base without control.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import table
from wrong_bases import SCENARIOS, drawn, growth, moved, passive

from flexarm_core.errors import ConfigError
from flexarm_tools.metrics.figures import Figure, parse_goal

LOOPS, RUNS = 60, 4  # of each scenario
GROWS = 1e-3  # [1/s]
WITHOUT = {"base_bandwidth": 0.0, "check_gains": False}


def loops(count: int = LOOPS, seed: int = 3) -> Iterator[Figure]:
    """Growth at postures to which arms have drifted."""
    ours, before = {}, {}
    for run in SCENARIOS:
        for found, parameters in ((ours, {}), (before, {"base_bandwidth": 0.0})):
            rng = np.random.default_rng(seed)
            found[run] = sum(growth(drawn(run, rng), rng, **parameters) > GROWS for _ in range(count))
    yield Figure("unstable_loops", float(sum(ours.values())), "1", parse_goal("== 0"),
                 f"of {count} of each scenario", details=ours)  # fmt: skip
    yield Figure("unstable_unobserved", float(sum(before.values())), "1", None, "the same without the observer of the"
                 " base", details=before)  # fmt: skip


def runs(count: int = RUNS, seed: int = 0) -> Iterator[Figure]:
    """Runs of the whole chain after a push."""
    rng = np.random.default_rng(seed)
    thrown, before, refused, ratios = [], [], 0, []
    for run in [*SCENARIOS] * count:
        one = drawn(run, rng)
        alone = passive(one)
        try:
            motion = moved(one)
        except ConfigError:
            refused += 1
            continue
        ratios.append(float(motion.size.max()) / alone)
        thrown += [run] if motion.thrown(alone) else []
        before += [run] if moved(one, **WITHOUT).thrown(alone) else []
    yield Figure("thrown", float(len(thrown)), "1", parse_goal("== 0"),
                 f"of {len(ratios)} runs: the base moved more than twice as far as without control, or a trip",
                 details={"median_ratio": float(np.median(ratios)), "worst_ratio": max(ratios), "refused": refused,
                          "runs": thrown})  # fmt: skip
    yield Figure("thrown_unobserved", float(len(before)), "1", None, "the same without the observer of the base",
                 details={"runs": before})  # fmt: skip


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--loops", type=int, default=LOOPS, help="random bases of each scenario, linear")
    asked.add_argument("--runs", type=int, default=RUNS, help="random bases of each scenario, simulated")
    said = asked.parse_args()
    sys.exit(table.run("rns_wrong_base", (lambda: loops(said.loops), lambda: runs(said.runs))))
