"""Stability of the vibration controller on random arms: what the analysis accepts, simulated with the real controller.

Every accepted case is simulated on MuJoCo after a hit, half of them with +-10 % of error in the inertia of every link.
Of the refused ones those that the analysis calls unstable as modeled, and those that it refuses for want of a margin,
are counted apart: a simulation with the exact model can show the former only. The former are tapped so lightly that
they do not leave the posture at which they are unstable for another one at which they are not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import table
from elastic_robots import with_wrong_inertia
from hits import is_unstable, leaves
from stability_cases import random_cases

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.stability.sampled_model import DRIFT
from flexarm_tools.metrics.figures import Figure, parse_goal

ACCEPTED, REFUSED = 300, 60


def stability(accepted: int = ACCEPTED, refused: int = REFUSED, seed: int = 0) -> Iterator[Figure]:
    """Random cases until enough are accepted; of the refused ones the first."""
    rng = np.random.default_rng(seed)
    unstable = wrong = exact = looked_at = 0
    count = {"accepted": 0, "joint_servo": 0, "refused": 0, "refused_unstable": 0, "shown": 0, "margin_shown": 0}
    for case in random_cases(rng):
        try:
            case.check()
        except ConfigError:
            count["refused"] += 1
            if looked_at < refused:
                looked_at += 1
                growth = case.loop().growth()
                as_modeled = growth > DRIFT
                count["refused_unstable"] += as_modeled
                shown = leaves(case, growth) if as_modeled else is_unstable(case)
                count["shown"] += shown and as_modeled
                count["margin_shown"] += shown and not as_modeled
            continue
        count["joint_servo"] += case.config.realization == "joint_servo"
        is_wrong = count["accepted"] % 2 == 1
        wrong, exact = wrong + is_wrong, exact + (not is_wrong)
        unstable += is_unstable(case, with_wrong_inertia(case.text, rng) if is_wrong else None)
        count["accepted"] += 1
        if count["accepted"] == accepted:
            break
    yield Figure(
        "unstable_cases", float(unstable), "1", parse_goal("== 0"),
        f"of {accepted} accepted random cases, simulated for 2 s",
        details={"with_exact_model": exact, "with_inertia_wrong_by_10_percent": wrong, **count},
    )  # fmt: skip
    yield Figure(
        "refused_and_unstable", count["shown"] / max(count["refused_unstable"], 1), "1", parse_goal(">= 0.9"),
        f"share of {count['refused_unstable']} refused cases, unstable as modeled, that the simulation shows to be so",
        details={"looked_at": looked_at, "share_of_refused": count["refused_unstable"] / max(looked_at, 1)},
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(table.run("rns_stability", (stability,)))
