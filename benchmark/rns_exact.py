"""Identities of the reaction null space on 1,000 random states of serial arms and trees, MuJoCo as their judge."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import table

from flexarm_tools.metrics.figures import Figure, parse_goal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
import rns_identities as identity  # noqa: E402
from rns_cases import CASES, Case, case  # noqa: E402

STATES, MOTIONS = 167, 5  # of each of the six robots


def figure(name: str, measure: Callable[[Case, np.random.Generator, int], float], goal: str, meaning: str) -> Figure:
    """The worst of all robots; what each has is a detail."""
    count = MOTIONS if name == "momentum_drift" else STATES
    details = {robot: measure(case(robot), np.random.default_rng(0), count) for robot in CASES}
    if name in ("projector_error", "reaction_residual"):
        details["boom_7r_soft_modes"] = measure(case("boom_7r", ("auto",)), np.random.default_rng(0), count)
    return Figure(name, max(details.values()), "1", parse_goal(goal), meaning, details=dict(details))


def identities() -> Iterator[Figure]:
    """Each identity of the reaction null space (Nenchev et al. 1999)."""
    yield figure(
        "projector_error", identity.projector_error, "<= 1e-12",
        "largest of S H_bm P over |S H_bm|, P P - P, P - P^T; 167 states of each robot",
    )  # fmt: skip
    yield figure(
        "reaction_residual", identity.reaction_residual, "<= 1e-10",
        "reaction under (9) by MuJoCo, over the forces in it where above 1 N",
    )  # fmt: skip
    yield figure(
        "momentum_error", identity.momentum_error, "<= 1e-10", "momentum of the velocity (10) against the wanted one"
    )
    yield figure(
        "momentum_drift", identity.momentum_drift, "<= 1e-8",
        "change of S H_bm qd along motions by (9) of up to 0.5 s, relative; 5 motions of each robot",
    )  # fmt: skip
    yield figure(
        "inertia_error", identity.inertia_error, "<= 1e-10", "H_b, H_bm, H_m against MuJoCo's mass matrix, relative"
    )
    yield figure(
        "energy_error", identity.energy_error, "<= 1e-6", "power of motors and dampers against dE/dt, relative"
    )


if __name__ == "__main__":
    sys.exit(table.run("rns_exact", (identities,)))
