"""The headline of a study: what its figures say, in words, and also what is worse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flexarm_tools.metrics.all import METRICS
from flexarm_tools.metrics.figures import Figure, FigureSpec, MetricOptions
from flexarm_tools.report.headline import LESS, MORE, SENTENCES, headline
from flexarm_tools.scenario.study import Comparison, Study, StudyFigureSpec

BASE = "peak_base_energy_root"


@pytest.fixture
def study_of(load):
    """A study of runs with figures ``{run: {figure: (metric, value)}}``; ratios as pairs of runs and a figure."""

    def make(runs, ratios=()):
        scenarios, figures = {}, {}
        for name, found in runs.items():
            specs = tuple(FigureSpec(each, metric, MetricOptions(), None) for each, (metric, _) in found.items())
            scenarios[name] = replace(load(), title=name.capitalize(), figures=specs)
            figures[name] = tuple(Figure(each, value, "1") for each, (_, value) in found.items())
        specs = []
        for i, (above, below, figure) in enumerate(ratios):
            names = [f"{run}_{figure}_{i}" for run in (above, below)]
            specs += [
                StudyFigureSpec(name, run, figure, (), None) for name, run in zip(names, (above, below), strict=True)
            ]
            specs.append(StudyFigureSpec(f"ratio_{i}", "", "", tuple(names), None))
        comparisons = (Comparison("All", tuple(runs)),)
        return Study(load().path, "Several", "", scenarios, tuple(specs), comparisons), figures

    return make


def test_the_ratios_of_a_study_are_said_as_factors_by_phase(study_of):
    on = {f"{BASE}_reach": (BASE, 1.0), f"{BASE}_after_bump": (BASE, 2.0), "cable_twist": ("joint_distance", 1e-4)}
    off = {f"{BASE}_reach": (BASE, 74.0), f"{BASE}_after_bump": (BASE, 10.0), "cable_twist": ("joint_distance", 1.1)}
    ratios = [("on", "off", f"{BASE}_reach"), ("on", "off", f"{BASE}_after_bump"), ("on", "off", "cable_twist")]
    (said,) = headline(*study_of({"on": on, "off": off}, ratios))
    assert said.text == (
        "“On” against “Off”: largest base motion 74 times smaller in reach, 5 times smaller after bump;"
        " cable twist 11,000 times smaller."
    )
    assert not said.bad


def test_what_is_worse_is_said_also_where_the_study_does_not_ask(study_of):
    on = {
        f"{BASE}_reach": (BASE, 1.0),
        f"{BASE}_bump": (BASE, 1.06),
        "modal_vibration_bump": ("modal_vibration", 734.0),
    }
    off = {
        f"{BASE}_reach": (BASE, 9.0),
        f"{BASE}_bump": (BASE, 1.0),
        "modal_vibration_bump": ("modal_vibration", 520.0),
    }
    _, worse = headline(*study_of({"on": on, "off": off}, [("on", "off", f"{BASE}_reach")]))
    assert worse.bad
    assert worse.text == (
        "Worse with “On”: vibration of the links 1.41 times as large in bump;"
        " largest base motion 1.06 times as large in bump."
    )


def test_the_better_run_comes_first_and_a_bound_is_said(study_of):
    study, figures = study_of(
        {"plain": {"settling": ("settling_periods", 40.0)}, "damped": {"settling": ("settling_periods", 2.0)}},
        [("plain", "damped", "settling")],
    )
    figures["plain"] = (replace(figures["plain"][0], at_least=True),)
    (said,) = headline(study, figures)
    assert said.text == "“Damped” against “Plain”: settling time of the base at least 20 times smaller."


def test_more_damping_is_better(study_of):
    runs = {"damped": {"decay": ("base_decay_rate", 8.0)}, "free": {"decay": ("base_decay_rate", 1.0)}}
    for ratios in ([("damped", "free", "decay")], [("free", "damped", "decay")], []):
        (said,) = headline(*study_of(runs, ratios))
        assert said.text == "“Damped” against “Free”: decay rate of the base 8 times as large."


def test_further_pairs_share_a_sentence_and_there_are_never_more_than_five(study_of):
    runs = {
        name: {"tracking_error": ("tracking_error", value), "peak_effort": ("peak_effort", 10.0 / value)}
        for name, value in (("all", 1.0), ("one", 2.0), ("two", 4.0), ("three", 8.0))
    }
    study, figures = study_of(runs, [("all", other, "tracking_error") for other in ("one", "two", "three")])
    said = headline(study, figures, ["one: a stop"] * 9)
    assert [each.bad for each in said] == [True, False, True, False, True]
    assert "“Two”: largest tool error 4 times smaller; “Three”: largest tool error 8 times smaller" in said[3].text
    assert "9" not in said[0].text and "and 5 more" in said[0].text
    assert len(said) <= SENTENCES


def test_figures_that_are_missing_zero_or_not_finite_say_nothing(study_of):
    runs = {
        "on": {"a": ("tracking_error", 0.0), "b": ("tracking_error", float("nan"))},
        "off": {"a": ("tracking_error", 1.0), "b": ("tracking_error", 1.0), "c": ("tracking_error", 1.0)},
    }
    study, figures = study_of(runs)
    assert headline(study, figures) == []
    assert headline(study, {}) == []


def test_every_metric_that_is_named_exists():
    assert LESS.keys() | MORE.keys() <= METRICS.keys()
