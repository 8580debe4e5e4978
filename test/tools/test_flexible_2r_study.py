"""The study of the arm of two flexible links: what it asks for, and its graph of four nodes as it runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import own_domain

from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.study import load_study

FOLDER = Path(__file__).resolve().parents[2] / "config" / "flexible_2r"
GOALS = {
    "residual_ratio_pd": "<= 0.05",
    "residual_ratio_pd_detuned": "<= 0.125",
    "residual_ratio_zv_detuned": "<= 0.3333",
    "push_decay_ratio": ">= 10",
    "modal_rms_error": "<= 0.05",
    "modal_rms_error_payload": "<= 0.05",
    "modal_rms_error_open_loop": None,
}


@pytest.fixture(scope="module")
def study(packages):
    return load_study(FOLDER / "demo_flexible_slew.yaml", packages)


def parameters(scenario, node: str) -> dict:
    return next(dict(spec.parameters) for spec in scenario.nodes if spec.name == node)


def test_every_figure_that_the_suite_is_held_to_is_asked_for_with_its_goal(study):
    found = {}
    for figure in study.figures:
        goal = figure.goal
        if figure.run and goal is None:
            goal = next(spec.goal for spec in study.scenarios[figure.run].figures if spec.name == figure.figure)
        found[figure.name] = goal.text if goal else None
    assert GOALS.items() <= found.items()


def test_compared_runs_have_the_same_plant_move_and_servo_gains(study):
    slews = [study.scenarios[name] for name in ("pd", "damped", "damped_detuned", "zv_detuned")]
    for scenario in slews:
        assert scenario.plant == slews[0].plant and scenario.duration == slews[0].duration
        move, control = (parameters(scenario, node) for node in ("reference_generator", "flexible_dynamics_controller"))
        for name in ("joint_displacement", "start", "duration", "time_law"):
            assert move[name] == parameters(slews[0], "reference_generator")[name]
        for name in ("position_gain", "velocity_gain"):
            assert control[name] == parameters(slews[0], "flexible_dynamics_controller")[name]
        assert scenario.figures[0].options == MetricOptions(after=1.2)
    for scenario in slews[2:]:  # told too stiff, and the plant is what it is
        assert scenario.robot.arguments == {"stiffness_scale": "1.1"}
        assert scenario.true_robot.description.text == slews[0].true_robot.description.text
    assert study.scenarios["push_pd"].pushes == study.scenarios["push_damped"].pushes


@pytest.mark.long
def test_the_four_nodes_move_the_arm_and_estimate_its_modes(packages, tmp_path, monkeypatch):
    text = (FOLDER / "scenarios" / "damped.yaml").read_text()
    text = "".join(line for line in text.splitlines(keepends=True) if "segments:" not in line)
    for old, new in (
        ("backend: mujoco", "backend: flexible_dynamics"),
        ("max_step: 0.000045", "max_step: 0.0002"),
        ("start: 0.2", "start: 0.0"),
        ("duration: 3.2", "duration: 0.5"),
        ("after: 1.2", "after: 0.1"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "short.yaml").write_text(text)
    scenario = load_scenario(tmp_path / "short.yaml", packages)
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros"))
    with own_domain():
        recording = run_scenario(replace(scenario, mode="lockstep"), Progress("test"), tmp_path / "logs")
    assert recording.ticks == 500 and recording.lost_samples == 0
    assert recording.lockstep_timeouts == 0 and recording.watchdog_stops == 0 and recording.node_deaths == ()
    assert np.isfinite(recording.estimated_modal_position).all()
    assert np.abs(recording.modal_position).max() > 1e-3
    options = MetricOptions(after=0.2)
    assert METRICS["modal_rms_error"].measure(recording, options).value < 0.05
    assert np.abs(recording.position[-1] - recording.position[0]).min() > 0.1
