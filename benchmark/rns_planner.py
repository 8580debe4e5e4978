"""Planned motions of half a meter on boom_7r: how many random pairs of tool positions are solved, and how well.

Pairs lie in a box in front of the arm. What is found is followed in MuJoCo by joint servos, with exact inertias, with
all wrong by a tenth, and with each link wrong by a tenth one way or the other; each against the straight line of the
tool by resolved acceleration from the same posture in the same time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: as in the whole benchmark

import numpy as np
import table

from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.planning.plan import ReactionPlan
from flexarm_core.reaction_null_space.planning.planner import ReactionPlanner
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))
from plan_follower import follow, resolved_trajectory, scaled
from planned_arms import boom_motions

LOWEST, HIGHEST = np.array([0.3, -0.4, 0.1]), np.array([0.8, 0.4, 0.9])  # [m] corners of the box
DISTANCE, DURATIONS, PAIRS, FOLLOWED = 0.5, (3.0, 4.0, 5.0), 7, 2  # [m], [s], pairs per duration, of them followed


def random_pair(rng: np.random.Generator) -> tuple[Array, Array]:
    """Two places in the box, half a meter apart."""
    while True:
        start, way = rng.uniform(LOWEST, HIGHEST), rng.standard_normal(3)
        goal = start + DISTANCE * way / np.linalg.norm(way)
        if (goal >= LOWEST).all() and (goal <= HIGHEST).all():
            return start, goal


def planner() -> Iterator[Figure]:
    """Share of pairs solved, time, and ratios in MuJoCo."""
    motions, rng = boom_motions(), np.random.default_rng(7)
    planner = ReactionPlanner(motions)
    times, plans = [], []
    for duration in DURATIONS:
        for _ in range(PAIRS):
            start, goal = random_pair(rng)
            began = time.perf_counter()
            try:
                plans.append((planner.plan(start, goal, duration), goal - start))
            except InputError as error:
                print(f"    refused: {error}")
            times.append(time.perf_counter() - began)
    tried = len(DURATIONS) * PAIRS
    yield Figure(
        "plans_solved", len(plans) / tried, "1", parse_goal("== 1"),
        f"share of {tried} random pairs 0.5 m apart with a plan",
    )  # fmt: skip
    yield Figure(
        "plan_time", float(np.median(times)), "s", parse_goal("<= 10"),
        "to plan, median", details={"longest": float(np.max(times))},
    )  # fmt: skip
    ratios = [plan.deflection_ratio for plan, _ in plans]
    residuals = [plan.peak_reaction / np.sqrt(2.0 * plan.straight_energy) for plan, _ in plans]
    yield Figure(
        "plan_ratio_predicted", float(np.median(ratios)), "1", parse_goal("<= 0.01"),
        "root of peak elastic energy over that of resolved acceleration, predicted, median",
        details={"worst": float(np.max(ratios)), "selected_motions_worst": float(np.max(residuals))},
    )  # fmt: skip
    step = max(1, len(plans) // (FOLLOWED * len(DURATIONS)))
    found = np.array([followed(plan, way) for plan, way in plans[::step]])
    for name, goal_text, column, text in (
        ("plan_ratio_exact", "<= 0.02", 0, "the same in MuJoCo, exact inertias, worst"),
        ("plan_ratio_tenth", "<= 0.02", 1, "the same, all inertias wrong by a tenth, worst"),
        ("plan_ratio_links", "<= 0.05", 2, "the same, each link wrong by a tenth one way or the other, worst"),
    ):
        values = found[:, column]
        yield Figure(
            name, float(values.max()), "1", parse_goal(goal_text), text, details={"median": float(np.median(values))}
        )


def followed(plan: ReactionPlan, displacement: Array) -> tuple[float, float, float]:
    """Ratios in MuJoCo: exact, all inertias wrong by a tenth (worse way), each link wrong by a tenth."""
    motions = boom_motions()
    model, rng = motions.model, np.random.default_rng(1)
    straight = resolved_trajectory(motions, plan.positions[0], displacement, plan.duration)
    signs = rng.choice((-0.1, 0.1), 1000)
    robots = (
        None,
        scaled(model.description, lambda _: 0.9),
        scaled(model.description, lambda _: 1.1),
        scaled(model.description, lambda link: 1.0 + float(signs[link])),
    )
    ratios = []
    for robot in robots:
        energy, _ = follow(model, plan.trajectory(), plan.duration, robot)
        compared, _ = follow(model, straight, plan.duration, robot)
        ratios.append(float(np.sqrt(energy / compared)))
    return ratios[0], max(ratios[1:3]), ratios[3]


if __name__ == "__main__":
    sys.exit(table.run("rns_planner", [planner]))
