"""The suite's own study: what it must show is what it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.study import load_study

FOLDER = Path(__file__).resolve().parents[2] / "config" / "planar_3r"
GOALS = {
    "peak_base_deflection_plain": None,
    "peak_base_deflection_reactionless": "<= 1e-5",
    "deflection_ratio": "<= 1e-3",
    "tracking_error_reactionless": "<= 1e-4",
    "settling_periods_controlled": "<= 2",
    "settling_periods_passive": ">= 10",
    "combined_tracking_error": "<= 1e-2",
    "tick_latency_p50": None,
    "tick_latency_p99": None,
    "watchdog_stops": "== 0",
}
PERIOD = 3.4983  # [s] of 31 kg on 100 N/m


@pytest.fixture(scope="module")
def study(packages):
    return load_study(FOLDER / "demo_planar.yaml", packages)


def test_every_figure_that_the_suite_is_held_to_is_asked_for_with_its_goal(study):
    found = {}
    for figure in study.figures:
        goal = figure.goal
        if figure.run and goal is None:
            goal = next(spec.goal for spec in study.scenarios[figure.run].figures if spec.name == figure.figure)
        found[figure.name] = goal.text if goal else None
    assert GOALS.items() <= found.items()


def test_the_plain_and_the_reactionless_run_differ_in_the_law_and_what_belongs_to_it_alone(study):
    plain, reactionless = study.scenarios["plain"], study.scenarios["reactionless"]
    laws = []
    for scenario in (plain, reactionless):
        assert scenario.ticks == 6000
        assert scenario.gravity == (0.0, 0.0, 0.0)
        laws.append({node.name: dict(node.parameters) for node in scenario.nodes})
        assert laws[-1]["rns_vibration_controller"].pop("law")
        del laws[-1]["rns_vibration_controller"]["vibration_damping"]
    assert laws[0] == laws[1]
    assert plain.plant == reactionless.plant


def test_the_pushed_runs_get_the_same_push_and_differ_in_the_switch(study):
    passive, damped = study.scenarios["push_passive"], study.scenarios["push_damped"]
    assert passive.pushes == damped.pushes
    assert passive.events == ()
    (event,) = damped.events
    assert event.at == 3.0
    assert event.parameters == {"vibration_damping": True}


def test_figure_3_has_the_papers_gains_and_otherwise_the_damped_run(study):
    paper, damped = study.scenarios["push_paper"], study.scenarios["push_damped"]
    assert (paper.events, paper.plant) == (damped.events, damped.plant)
    assert [(push.link, push.start, push.duration) for push in paper.pushes] == [("base_link", 1.0, 0.1)]
    gains, ours = (dict(scenario.nodes[0].parameters) for scenario in (paper, damped))
    assert (gains.pop("vibration_gain"), gains.pop("joint_damping")) == (10.0, 1.0)
    assert {name: ours[name] for name in gains} == gains


def test_figures_3_and_4_are_comparisons(study):
    shown = {comparison.title.partition(":")[0]: comparison.runs for comparison in study.comparisons}
    assert shown["Fig. 3"] == ("push_passive", "push_paper", "push_damped")
    assert shown["Fig. 4"] == ("plain", "reactionless")


def test_the_pushed_runs_are_long_enough_for_their_goals(study):
    assert study.scenarios["push_passive"].duration > 3.0 + 10.0 * PERIOD
    assert study.scenarios["push_damped"].duration > 3.0 + 2.5 * PERIOD


def test_only_the_run_in_real_time_is_in_real_time(study):
    modes = {name: scenario.mode for name, scenario in study.scenarios.items()}
    assert modes.pop("real_time") == "real_time"
    assert set(modes.values()) == {"lockstep"}
    assert (study.scenarios["real_time"].rate, study.scenarios["real_time"].duration) == (250.0, 60.0)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("scenarios/*.yaml")), ids=lambda path: path.stem)
def test_every_scenario_can_be_read_on_its_own(path, packages):
    assert load_scenario(path, packages).figures
