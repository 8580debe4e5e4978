"""The study of the six-joint arm: what it asks for, and its graph of four nodes through the wrist's singularity."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import own_domain

from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.study import load_study

FOLDER = Path(__file__).resolve().parents[2] / "config" / "arm_6r"
GOALS = {
    "singular_stops": "== 0",
    "singular_feasible_error": "<= 1e-6",
    "largest_condition_number": ">= 30",
    "peak_reference_velocity": "<= 3",
    "peak_reference_acceleration": "<= 20",
    "joint_return": "<= 1e-3",
}


@pytest.fixture(scope="module")
def study(packages):
    return load_study(FOLDER / "demo_singular_path.yaml", packages)


def test_every_figure_that_the_suite_is_held_to_is_asked_for_with_its_goal(study):
    asked = {spec.name: spec.goal.text for spec in study.scenarios["orthogonalization"].figures if spec.goal}
    assert GOALS.items() <= asked.items()
    assert set(GOALS) <= {figure.name for figure in study.figures}


def test_both_methods_get_the_same_plant_and_path(study):
    ours, theirs = study.scenarios["orthogonalization"], study.scenarios["damped_least_squares"]
    assert ours.plant == theirs.plant and ours.duration == theirs.duration and ours.nodes[0] == theirs.nodes[0]
    settings, others = ours.nodes[1].parameters, theirs.nodes[1].parameters
    assert set(others) - set(settings) == {"method", "damping"}
    assert all(others[key] == value for key, value in settings.items())


@pytest.mark.long
def test_the_graph_goes_through_the_singularity_of_the_wrist(study, tmp_path, monkeypatch):
    scenario = replace(study.scenarios["orthogonalization"], duration=3.6, figures=())
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros"))
    with own_domain():
        recording = run_scenario(scenario, Progress("test"), tmp_path / "logs")
    assert recording.lost_samples == 0 and recording.lockstep_timeouts == 0
    assert recording.watchdog_stops == 0 and recording.node_deaths == ()
    found = {name: METRICS[name].measure(recording, MetricOptions()).value for name in METRICS if name in (
        "resolution_position_error", "standstill", "largest_condition_number", "peak_reference_acceleration",
    )}  # fmt: skip
    assert found["resolution_position_error"] < 1e-6 and found["standstill"] == 0.0
    assert found["largest_condition_number"] > 1e3 and found["peak_reference_acceleration"] <= 20.0 + 1e-6
    assert recording.position[0, 4] > 0.1 and recording.position[-1, 4] < -0.05  # straight through, no flip
    assert np.abs(np.diff(recording.position, axis=0)).max() < 0.01
