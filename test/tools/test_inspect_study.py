"""The study that `make demo` runs: what it asks for, and that a variant switches off what it says and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_run import sample_of
from scenario_pipeline import built_plant, changeable_pipeline

from flexarm_nodes.node.diagnostics import ERROR, OK
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.scenario.study import load_study
from flexarm_tools.wiring.chain import wired_nodes

FOLDER = Path(__file__).resolve().parents[2] / "config" / "boom_7r"
GOALS = {
    "deflection_ratio_all_off": "<= 0.05",
    "wipe_force_error": "<= 0.05",
    "path_rms_free": "<= 3e-3",
    "friction_ratio": "<= 0.2",
    "deflection_ratio_bump": "<= 1.0",
    "base_rms_error_bump": "<= 0.3",
}
STAGES = (
    "flexible_dynamics_estimator",
    "behavior_impedance_controller",
    "ik_redundancy_solver",
    "rns_vibration_controller",
    "base_wrench_torque_estimator",
    "hardware_gate",
)


@pytest.fixture(scope="module")
def study(packages):
    return load_study(FOLDER / "demo_inspect.yaml", packages)


def parameters(scenario):
    return {node.executable: dict(node.parameters) for node in scenario.nodes}


def test_every_figure_that_the_suite_is_held_to_is_asked_for_with_its_goal(study):
    asked = {spec.name: spec.goal.text for spec in study.figures if spec.goal}
    assert GOALS.items() <= asked.items()


def test_all_five_abilities_take_part(study):
    assert tuple(node.executable for node in study.scenarios["all_on"].nodes) == STAGES


@pytest.mark.parametrize(
    ("run", "changed"),
    [
        ("null_space_off", {"rns_vibration_controller", "base_wrench_torque_estimator"}),
        ("torque_loop_off", {"base_wrench_torque_estimator"}),
        ("estimator_off", {"flexible_dynamics_estimator", "rns_vibration_controller", "base_wrench_torque_estimator"}),
        ("redundancy_off", {"ik_redundancy_solver", "rns_vibration_controller"}),
        ("behaviors_off", {"behavior_impedance_controller", "reference_generator"}),
    ],
)
def test_a_variant_changes_its_stage_and_nothing_else(study, run, changed):
    on, off = study.scenarios["all_on"], study.scenarios[run]
    before, after = parameters(on), parameters(off)
    assert {name for name in before | after if before.get(name) != after.get(name)} == changed
    assert (off.plant, off.pushes, off.rate, off.gravity) == (on.plant, on.pushes, on.rate, on.gravity)
    assert (off.robot.path, off.robot.arguments) == (on.robot.path, on.robot.arguments)


def test_every_run_is_wired_and_could_run_in_one_process(study):
    for scenario in study.scenarios.values():
        assert wired_nodes(scenario)
        assert wired_nodes(in_one_process(scenario))


@pytest.mark.parametrize(("tolerance", "wanted"), [(1e-9, ERROR), (3e-3, OK)])
def test_a_tool_that_is_off_its_path_makes_the_run_fail(study, tolerance, wanted):
    scenario = study.scenarios["all_on"]
    nodes = tuple(
        replace(node, parameters=dict(node.parameters) | {"path_tolerance": tolerance})
        if node.executable == "rns_vibration_controller"
        else node
        for node in scenario.nodes
    )
    pipeline, built, model = changeable_pipeline(replace(scenario, nodes=nodes))
    plant = built_plant(scenario, model.description)
    for _ in range(3):
        tick = pipeline.tick(sample_of(plant.measure()))
        plant.advance(tick.command)
    level, text, _ = built["rns_vibration_controller"][0].judge(tick)
    assert level == wanted
    assert ("from its path" in text) == (wanted == ERROR)


@pytest.mark.long
def test_every_goal_of_the_study_holds(tmp_path):
    """The seven runs to their end, in one process (three minutes): a variant that trips makes the demo fail."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "flexarm_tools.cli",
            "demo",
            "inspect",
            "--engine",
            "process",
            "--report",
            tmp_path / "r",
        ],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, "\n".join(
        line for line in done.stdout.splitlines() if "FAIL" in line or "void" in line
    )
