"""The study of the arm on a boom: what it asks for, what its runs share, and where the shapers' numbers come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_tools.check.dry_run import dry_run
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.study import load_study

FOLDER = Path(__file__).resolve().parents[2] / "config" / "boom_7r"
GOALS = {
    "boom_ratio_exact": "<= 1e-2",
    "boom_ratio_real": "<= 5e-2",
    "boom_settling_ratio": ">= 10",
    "pd_ratio": "<= 2e-2",
    "zv_ratio": "<= 2e-2",
    "zvd_ratio": "<= 2e-2",
    "zv_ratio_detuned": "<= 2e-2",
    "zvd_ratio_detuned": "<= 2e-2",
    "residual_pd_ratio": "<= 1e-2",
    "residual_zv_ratio": "<= 5e-2",
    "residual_zvd_ratio": "<= 1e-1",
    "residual_zv_ratio_detuned": "<= 2e-2",
    "residual_zvd_ratio_detuned": "<= 5e-2",
    "zv_reduction": ">= 10",
    "zvd_reduction": ">= 10",
}
TUNED, DETUNED = ("pd_zv", "pd_zvd"), ("pd_zv_detuned", "pd_zvd_detuned")
SHAPED = (*TUNED, *DETUNED)
SOFT = 3


@pytest.fixture(scope="module")
def study(packages):
    return load_study(FOLDER / "demo_boom.yaml", packages)


def parameters(scenario, executable):
    (node,) = (node for node in scenario.nodes if node.executable == executable)
    return dict(node.parameters)


def test_every_figure_that_the_suite_is_held_to_is_asked_for_with_its_goal(study):
    asked = {spec.name: spec.goal.text for spec in study.figures if spec.goal}
    assert GOALS.items() <= asked.items()


def test_peaks_and_residuals_are_set_against_those_of_the_reactionless_run(study):
    ratios = {spec.name: spec.ratio for spec in study.figures}
    for peer in ("pd", *SHAPED):
        kind, _, told = peer.removeprefix("pd_").partition("_")
        end = f"_{told}" if told else ""
        assert ratios[f"{kind}_ratio{end}"] == ("peak_reactionless", f"peak_{peer}")
        assert ratios[f"residual_{kind}_ratio{end}"] == ("residual_reactionless", f"residual_{peer}")


def test_the_residual_is_what_is_left_when_the_move_has_ended(study):
    for name in ("plain", "reactionless", "pd", *SHAPED):
        scenario = study.scenarios[name]
        (residual,) = (spec for spec in scenario.figures if spec.name == "residual_base_energy_root")
        move = parameters(scenario, "reference_generator")
        assert residual.metric == "peak_base_energy_root"
        assert residual.options.after == pytest.approx(move["start"] + move["duration"])
        assert scenario.duration > residual.options.after + 4.0


def test_all_runs_of_the_comparison_move_alike_and_the_peers_differ_in_the_shaper_alone(study):
    plain = study.scenarios["plain"]
    for name in ("reactionless", "pd", *SHAPED):
        scenario = study.scenarios[name]
        assert scenario.plant == plain.plant and scenario.gravity == plain.gravity and not scenario.pushes
        assert (scenario.rate, scenario.duration) == (plain.rate, plain.duration)
        assert scenario.true_robot.description.text == plain.true_robot.description.text
        move = {
            key: value
            for key, value in parameters(scenario, "reference_generator").items()
            if not key.startswith("shaper")
        }
        assert move == parameters(plain, "reference_generator")
    servo = parameters(study.scenarios["pd"], "flexible_dynamics_controller")
    assert servo["law"] == "joint_pd"
    for name in SHAPED:
        assert parameters(study.scenarios[name], "flexible_dynamics_controller") == servo
        assert study.scenarios[name].nodes[1:] == study.scenarios["pd"].nodes[1:]
        assert parameters(study.scenarios[name], "reference_generator")["shaper"] == name.split("_")[1]


def test_the_shapers_are_told_the_soft_modes_of_the_boom_with_the_joints_locked_where_the_arm_starts(study):
    scenario = study.scenarios["pd_zv"]
    model = ArmModel(scenario.robot.description.text, gravity=scenario.gravity)
    still = np.zeros(model.n), np.zeros(model.m), np.zeros(model.m)
    state = ArmState(0, np.array(scenario.plant["initial_position"]), *still)
    rates = model.natural_frequencies(state)
    assert rates[SOFT] > 10.0 * rates[SOFT - 1]  # the others are stiff
    squares, shapes = eigh(model.K_b, model.blocks(state).H_b)
    ratios = np.diag(shapes.T @ model.D_b @ shapes) / (2.0 * np.sqrt(squares))
    for names, factor in ((TUNED, 1.0), (DETUNED, 1.2)):
        for name in names:
            told = parameters(study.scenarios[name], "reference_generator")
            expected = factor * rates[:SOFT] / (2.0 * np.pi)
            assert np.allclose(told["shaper_frequency"], expected, rtol=0.01)
            assert np.allclose(told["shaper_damping_ratio"], ratios[:SOFT], rtol=0.01)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("scenarios/*.yaml")), ids=lambda path: path.stem)
def test_every_scenario_can_be_read_on_its_own(path, packages):
    assert load_scenario(path, packages).figures


def test_the_gate_does_not_take_a_boom_that_it_cannot_see_for_commands_that_act_late(packages):
    """The controller answers the swing of a base that the gate is told nothing of."""
    pushed = load_scenario(FOLDER / "scenarios" / "planned_push_damped.yaml", packages)
    assert dry_run(replace(pushed, duration=0.9)).failure == ""
