"""The study of the arm with elastic drives: what it asks for, and that compared runs differ in the law alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexarm_tools.scenario.study import load_study

FOLDER = Path(__file__).resolve().parents[2] / "config" / "arm_7r"
GOALS = {"residual_ratio": "<= 0.05", "residual_ratio_softer": "<= 0.5"}


@pytest.fixture(scope="module")
def study(packages):
    return load_study(FOLDER / "demo_drives.yaml", packages)


def test_every_figure_is_asked_for_with_its_goal(study):
    found = {figure.name: figure.goal.text for figure in study.figures if figure.goal}
    assert found == GOALS


def test_compared_runs_have_the_same_move_servo_gains_and_sensors(study):
    pd, damped, softer = (study.scenarios[name] for name in ("pd", "damped", "softer"))
    for scenario in (damped, softer):
        assert (scenario.plant, scenario.duration, scenario.rate) == (pd.plant, pd.duration, pd.rate)
        assert scenario.robot.description.text == pd.robot.description.text
        given = {node.name: dict(node.parameters) for node in scenario.nodes}
        usual = {node.name: dict(node.parameters) for node in pd.nodes}
        assert given["reference_generator"] == usual["reference_generator"]
        assert given["hardware_gate"] == usual["hardware_gate"]
        law = {name: value for name, value in given["flexible_dynamics_controller"].items() if name != "law"}
        assert law == {k: v for k, v in usual["flexible_dynamics_controller"].items() if k != "law"}
    true, told = softer.true_robot.description.elastic_drives, softer.robot.description.elastic_drives
    assert true.keys() == told.keys()
    for name, drive in true.items():
        assert drive.stiffness == pytest.approx(0.8 * told[name].stiffness)
