"""The simulated plant's drives on random arms: none runs away, whatever is commanded, and none drops at its start.

Arms of 1 to 7 joints, on springs, with friction, thrown, or too heavy for their motors, in position and velocity mode,
at bandwidths of 10 to 500 rad/s and 50 to 1000 Hz, under steps, swings and noise that no arm could follow.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import table
from drive_cases import QUIET, draw_case, run_case

from flexarm_tools.metrics.figures import Figure, parse_goal

CASES = 300


def plant_drives(cases: int = CASES, seed: int = 0) -> Iterator[Figure]:
    """So many cases, one a seed."""
    diverged, calm, rough, heavy = [], [0.0], [0.0], [0.0]
    drop, dropped, late, waited = 0.0, "none", 0, 0.0
    for number in range(seed, seed + cases):
        case = draw_case(number)
        outcome = run_case(case)
        (heavy if not case.holds else calm if case.calm else rough).append(outcome.speed_ratio)
        if case.holds and not case.thrown and outcome.drop > drop:
            drop, dropped = outcome.drop, f"{number}: {case.words}"
        if outcome.diverged:
            diverged.append(f"{number}: {case.words}")
        elif case.holds:
            late += outcome.rest > QUIET
            waited = max(waited, outcome.rest)
    yield Figure("drive_cases", float(cases), "1", None, "random arms, springs, friction, drives and commands")
    yield Figure(
        "diverged", float(len(diverged)), "1", parse_goal("== 0"),
        "cases that blew up or did not come to rest after the last change: in 3 s and twice what the best drive needs",
        details={
            "cases": "; ".join(diverged) or "none", "longer_than_3_s": late, "longest_s": waited,
        },
    )  # fmt: skip
    yield Figure(
        "worst_speed_ratio", max(calm), "1", parse_goal("<= 1.5"),
        f"largest speed over its limit, {len(calm) - 1} cases in which nothing but the drives moves the joints",
        details={
            "on_springs_rubbing_or_thrown": max(rough), "cases_of_these": len(rough) - 1,
            "too_heavy_for_the_motors": max(heavy), "cases_too_heavy": len(heavy) - 1,
        },
    )  # fmt: skip
    yield Figure(
        "worst_drop_mm", drop, "mm | mrad", parse_goal("<= 0.001"),
        "motion of the base before the first command, begun in static equilibrium", details={"case": dropped},
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=CASES, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the next ones follow")
    chosen = parser.parse_args()
    sys.exit(table.run("plant_drives", (partial(plant_drives, chosen.cases, chosen.seed),)))
