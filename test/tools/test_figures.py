"""Figures: goals, and the JSON that everything measured is written in."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_tools.metrics.all import MetricOptions
from flexarm_tools.metrics.figures import Figure, FigureSpec, compute_figures, parse_goal, ratio, write_figures


@pytest.mark.parametrize(
    ("goal", "holding", "missing"),
    [
        ("<= 1e-5", (1e-5, 0.0, -1.0), (1.1e-5,)),
        ("< 2", (1.9,), (2.0, 3.0)),
        (">= 10", (10.0, 11.0), (9.9,)),
        (">10", (10.1,), (10.0,)),
        ("== 0", (0.0,), (1.0, -1.0)),
    ],
)
def test_a_goal_holds_where_its_comparison_does(goal, holding, missing):
    assert all(parse_goal(goal).holds(value) for value in holding)
    assert not any(parse_goal(goal).holds(value) for value in missing)


@pytest.mark.parametrize("text", ["", "1e-5", "<=", "<= x", "<= nan", "<= inf", "=< 3", "!= 3", "<= 1 m"])
def test_what_is_no_comparison_with_a_number_is_refused(text):
    with pytest.raises(ConfigError, match="is not a comparison and a number"):
        parse_goal(text)


@pytest.mark.parametrize("goal", ["<= 1", "< 1", ">= -1", "> -1", "== 0"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_meets_no_goal(goal, value):
    assert not parse_goal(goal).holds(value)
    assert not Figure("x", value, "m", parse_goal(goal)).holds
    assert not Figure("x", value, "m").holds


def test_a_lower_bound_can_exceed_something_but_not_stay_below_it():
    assert Figure("x", 10.1, "1", parse_goal(">= 10"), at_least=True).holds
    assert not Figure("x", 1.5, "1", parse_goal("<= 2"), at_least=True).holds
    assert not Figure("x", 2.0, "1", parse_goal("== 2"), at_least=True).holds


def test_an_upper_bound_can_stay_below_something_but_not_exceed_it():
    assert Figure("x", 0.4, "1", parse_goal("<= 0.5"), at_most=True).holds
    assert not Figure("x", 2.0, "1", parse_goal(">= 1"), at_most=True).holds
    assert not Figure("x", 0.0, "1", parse_goal("== 0"), at_most=True).holds


EXACT, LEAST, MOST = {}, {"at_least": True}, {"at_most": True}


@pytest.mark.parametrize(
    ("numerator", "denominator", "bound"),
    [
        (EXACT, EXACT, ""),
        (LEAST, EXACT, "at_least"),
        (EXACT, LEAST, "at_most"),
        (MOST, EXACT, "at_most"),
        (EXACT, MOST, "at_least"),
        (MOST, LEAST, "at_most"),
        (LEAST, MOST, "at_least"),
    ],
)
def test_the_ratio_of_bounds_is_a_bound(numerator, denominator, bound):
    found = ratio("r", Figure("a", 1.0, "s", **numerator), Figure("b", 4.0, "s", **denominator), parse_goal("<= 0.5"))
    assert (found.value, found.bound) == (0.25, bound)
    assert found.holds == (bound != "at_least")
    assert found.to_json().get("bound", "") == bound


def test_bounds_that_work_against_each_other_or_are_turned_round_give_no_ratio():
    for kind in (LEAST, MOST):
        found = ratio("r", Figure("a", 1.0, "s", **kind), Figure("b", 4.0, "s", **kind))
        assert math.isnan(found.value) and found.bound == "" and not found.holds
        assert math.isnan(ratio("r", Figure("a", -1.0, "s"), Figure("b", 4.0, "s", **kind)).value)
        assert math.isnan(ratio("r", Figure("a", 1.0, "s"), Figure("b", 0.0, "s", **kind)).value)
    assert ratio("r", Figure("a", -1.0, "s"), Figure("b", 4.0, "s")).value == -0.25


def test_the_json_has_the_agreed_form(tmp_path):
    figures = [Figure("deflection", 4e-6, "m", parse_goal("<= 1e-5")), Figure("latency", 1e-3, "s")]
    assert write_figures(tmp_path / "new" / "metrics.json", figures)
    assert json.loads((tmp_path / "new" / "metrics.json").read_text()) == {
        "figures": {
            "deflection": {"value": 4e-6, "unit": "m", "goal": "<= 1e-5", "holds": True},
            "latency": {"value": 1e-3, "unit": "s", "goal": None, "holds": True},
        }
    }


def test_json_stays_strict_where_a_value_is_missing(tmp_path):
    figures = [Figure("x", math.nan, "m"), Figure("y", math.inf, "m", details={"worst": math.inf, "cases": 3.0})]
    assert not write_figures(tmp_path / "m.json", figures)

    def refuse(constant):
        raise AssertionError(constant)

    found = json.loads((tmp_path / "m.json").read_text(), parse_constant=refuse)["figures"]
    assert found["x"] == {"value": None, "unit": "m", "goal": None, "holds": False}
    assert found["y"]["value"] is None
    assert (found["y"]["worst"], found["y"]["cases"]) == (None, 3.0)


def test_a_bound_says_in_the_json_that_it_is_one():
    assert Figure("x", 3.0, "1", at_least=True, details={"settled": False}).to_json() == {
        "value": 3.0, "unit": "1", "goal": None, "holds": True, "bound": "at_least", "settled": False,
    }  # fmt: skip


def test_one_missed_goal_is_enough_to_fail(tmp_path):
    good, bad = Figure("a", 1.0, "m", parse_goal("<= 2")), Figure("b", 3.0, "m", parse_goal("<= 2"))
    assert write_figures(tmp_path / "m.json", [good])
    assert not write_figures(tmp_path / "m.json", [good, bad])


def test_two_figures_of_one_name_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="figure names must be unique: a"):
        write_figures(tmp_path / "m.json", [Figure("a", 1.0, "m"), Figure("a", 2.0, "m")])


def test_the_same_figures_give_the_same_bytes(tmp_path):
    figures = [Figure("a", 0.1 + 0.2, "m"), Figure("b", 1e-300, "m")]
    write_figures(tmp_path / "1.json", figures)
    write_figures(tmp_path / "2.json", figures)
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    found = json.loads((tmp_path / "1.json").read_text())["figures"]
    assert found["a"]["value"] == 0.1 + 0.2  # no digit is lost


def test_a_figure_says_what_it_is_and_with_which_options(record, tmp_path):
    recording = record(lambda time: 0.1 * np.exp(-time))
    spec = FigureSpec("settling", "settling_periods", MetricOptions(since=0.5), parse_goal("<= 2"))
    (figure,) = compute_figures([spec], recording)
    assert figure.meaning.startswith("Time until the base deflection stays below")
    assert figure.meaning.endswith("since 0.5 s")
    assert figure.to_json()["settled"] is True
    assert write_figures(tmp_path / "m.json", [figure])


def test_the_unit_of_a_deflection_is_that_of_the_elastic_joints(record):
    (figure,) = compute_figures([FigureSpec("x", "peak_base_deflection", MetricOptions(), None)], record(np.sin))
    assert figure.unit == "m"


def test_a_ratio_has_no_unit_and_none_where_it_means_nothing():
    small, large = Figure("small", 1e-6, "m"), Figure("large", 1e-2, "m")
    assert ratio("r", small, large).value == pytest.approx(1e-4)
    assert ratio("r", small, large).unit == "1"
    assert ratio("r", small, Figure("force", 2.0, "N")).unit == "(m)/(N)"
    assert math.isnan(ratio("r", small, Figure("zero", 0.0, "m")).value)
    assert math.isnan(ratio("r", Figure("none", math.nan, "m"), large).value)


def test_no_figure_holds_beside_an_unexpected_event(tmp_path):
    assert write_figures(tmp_path / "m.json", [Figure("a", 1.0, "m", parse_goal("<= 2"))], ["a stop"])
    content = json.loads((tmp_path / "m.json").read_text())
    assert (content["unexpected"], content["figures"]["a"]["holds"]) == (["a stop"], False)
