"""The report's table of figures: goals first, and many figures without a goal folded away."""

from __future__ import annotations

import re

from flexarm_tools.metrics.figures import Figure, Goal
from flexarm_tools.report.figures_table import UNFOLDED, figures_table

WANTED = Figure("path_error", 0.002, "m", Goal("<=", 0.003, "<= 0.003"))


def names(table: str) -> list[str]:
    return re.findall(r'class="name">(\w+)<', table)


def test_figures_with_goals_stand_first_and_many_others_are_folded_behind_them():
    others = [Figure(f"other_{i}", float(i), "1") for i in range(UNFOLDED + 1)]
    failed = Figure("watchdog_stops", float("nan"), "1", Goal("==", 0.0, "== 0"))
    table = figures_table([*others[:3], WANTED, *others[3:], failed])
    shown, _, folded = table.partition("<details")
    assert names(shown) == ["path_error", "watchdog_stops"]
    assert names(folded) == [figure.name for figure in others]
    assert f"{UNFOLDED + 1} more figures, measured without a goal" in folded
    assert "open" not in folded.partition(">")[0]


def test_few_figures_or_figures_without_any_goal_are_not_folded():
    others = [Figure(f"other_{i}", float(i), "1") for i in range(3 * UNFOLDED)]
    assert "<details" not in figures_table([*others[:UNFOLDED], WANTED])
    assert names(figures_table([*others[:UNFOLDED], WANTED]))[0] == "path_error"
    assert "<details" not in figures_table(others)
    assert figures_table([]) == ""


def test_goals_of_zero_that_are_met_by_zero_are_folded_and_counted():
    zeros = [Figure(f"stops_{i}", 0.0, "1", Goal("==", 0.0, "== 0")) for i in range(3)]
    one = Figure("trips", 1.0, "1", Goal("==", 0.0, "== 0"))
    shown, _, folded = figures_table([zeros[0], WANTED, *zeros[1:], one]).partition("<details")
    assert names(shown) == ["path_error", "trips"]
    assert names(folded) == ["stops_0", "stops_1", "stops_2"]
    assert "3 figures that had to be 0 and are" in folded


def test_nothing_holds_where_the_figures_are_void():
    missed = Figure("late", 2.0, "s", Goal("<=", 1.0, "<= 1"))
    table = figures_table([WANTED, missed, Figure("stops", 0.0, "1", Goal("==", 0.0, "== 0"))], void=True)
    assert re.findall(r'class="mark \w+">(\w+)<', table) == ["void", "fails", "void"]
    assert ">holds<" in figures_table([WANTED])
