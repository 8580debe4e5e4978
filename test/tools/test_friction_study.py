"""The study of joint friction: what it asks for, what its runs share, and its graph over one reversal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import own_domain

from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.study import load_study

FOLDER = Path(__file__).resolve().parents[2] / "config" / "arm_7r"
GOALS = {
    "tracking_ratio": "<= 0.1",
    "stick_slip_events": "== 0",
    "final_error_counts": "<= 2",
    "effort_step_off": "<= 15",
    "effort_step_on": "<= 15",
}
COUNT = 2.0 * np.pi / 2**20  # [rad] of an encoder of 20 bit
LOOP = "base_wrench_torque_estimator"


@pytest.fixture(scope="module")
def study(packages):
    return load_study(FOLDER / "demo_friction.yaml", packages)


def test_every_figure_that_the_suite_is_held_to_is_asked_for_with_its_goal(study):
    asked = {spec.name: spec.goal.text for spec in study.figures if spec.goal}
    for run in ("torque_loop", "switched"):
        asked |= {spec.name: spec.goal.text for spec in study.scenarios[run].figures if spec.goal}
    assert GOALS.items() <= asked.items()
    assert set(GOALS) <= {figure.name for figure in study.figures}


def test_with_and_without_differ_in_the_torque_loop_alone(study):
    ours, theirs = study.scenarios["torque_loop"], study.scenarios["position_loop"]
    assert ours.plant == theirs.plant and ours.duration == theirs.duration
    assert ours.robot.description.text == theirs.robot.description.text
    for node, other in zip(ours.nodes, theirs.nodes, strict=True):
        if node.executable == LOOP:
            changed = set(node.parameters.items()) ^ set(other.parameters.items())
            assert {name for name, _ in changed} == {"torque_loop", "torque_bandwidth"}
        else:
            assert node == other


def test_no_controller_has_a_friction_parameter_and_the_friction_is_that_of_the_task(study):
    scenario = study.scenarios["torque_loop"]
    controllers = [node for node in scenario.nodes if node.executable != "hardware_gate"]
    assert not [name for node in controllers for name in node.parameters if "friction" in name]
    limits = [scenario.robot.description.joints[name].effort_limit for name in scenario.robot.description.actuated]
    np.testing.assert_allclose(scenario.plant["friction.stiction"], 0.3 * np.array(limits))
    np.testing.assert_allclose(scenario.plant["friction.coulomb"], 0.75 * 0.3 * np.array(limits))
    assert scenario.plant["sensors.joint_position.resolution"] == pytest.approx(COUNT)
    assert scenario.plant["sensors.joint_velocity.resolution"] == pytest.approx(COUNT * scenario.rate)


def test_the_payload_weighs_three_kilograms_and_only_the_plant_knows(study):
    scenario = study.scenarios["payload"]
    known, true = (
        build_sensed_bodies(robot.description, "base_ft_sensor").gravity_parameters()[:, 0].sum()
        for robot in (scenario.robot, scenario.true_robot)
    )
    assert true - known == pytest.approx(3.0)
    assert scenario.robot.description.text == study.scenarios["torque_loop"].robot.description.text
    assert scenario.nodes == study.scenarios["torque_loop"].nodes


@pytest.mark.long
def test_the_graph_turns_back_without_sticking(study, tmp_path, monkeypatch):
    scenario = replace(study.scenarios["torque_loop"], duration=2.4, figures=())
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros"))
    with own_domain():
        recording = run_scenario(scenario, Progress("test"), tmp_path / "logs")
    assert recording.lost_samples == 0 and recording.lockstep_timeouts == 0
    assert recording.watchdog_stops == 0 and recording.node_deaths == ()

    def measure(name, **options):
        return METRICS[name].measure(recording, MetricOptions(**options)).value

    assert measure("stick_slip_events") == 0.0 and measure("contacts_detected") == 0.0
    assert measure("joint_tracking_rms") < 3e-4
    assert measure("friction_estimate_error", after=0.5) < 0.05
    assert np.all(np.ptp(recording.position, axis=0) > np.deg2rad(0.95))
    loaded = np.isfinite(recording.estimated_friction).all(axis=1)
    assert loaded.all() and np.all(recording.estimate_valid == 1.0) and recording.correction_weight[-1] == 1.0
    part = recording.reference_effort - recording.reference_friction
    assert np.abs(part[1000:]).max() < 60.0 < np.abs(recording.reference_effort[1000:]).max()  # gravity and inertia
