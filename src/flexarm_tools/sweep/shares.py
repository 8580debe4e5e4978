"""Shares of runs in which something holds, compared with the goals of a sweep."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from flexarm_tools.metrics.figures import Figure, Goal
from flexarm_tools.sweep.row import HOLDS, Row
from flexarm_tools.sweep.sweep import ShareGoal, Sweep


def share_figures(sweep: Sweep, rows: Mapping[int, Row]) -> tuple[Figure, ...]:
    """Return the goals of a sweep as figures: shares of the runs so far, NaN while there are none."""
    figures = []
    judged = sweep.judged(rows).values()
    for goal in sweep.goals:
        what = f"{goal.figure} {goal.goal.text}" if goal.goal else "every goal holds, nothing unexpected happened"
        at_least = Goal(">=", goal.share, f">= {goal.share:g}")
        figures.append(Figure(goal.name, _share(goal, judged), "1", at_least, f"share of the runs in which {what}"))
    return tuple(figures)


def shortfall(goal: ShareGoal, rows: Collection[Row]) -> float:
    """Return by how much the share of these runs is too small; 0: the goal is met."""
    return max(0.0, goal.share - _share(goal, rows))


def _share(goal: ShareGoal, rows: Collection[Row]) -> float:
    holding = sum(_holds(row, goal) for row in rows)
    return holding / len(rows) if rows else math.nan


def _holds(row: Row, goal: ShareGoal) -> bool:
    return goal.goal.holds(row.figures[goal.figure]) if goal.goal else row.outcome == HOLDS
