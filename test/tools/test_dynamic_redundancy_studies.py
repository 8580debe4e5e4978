"""The studies `wheel` and `dual_arm`: what they ask for, and that compared runs differ in the law alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexarm_tools.check.dry_run import dry_run
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.study import load_study

CONFIG = Path(__file__).resolve().parents[2] / "config"
STUDIES = {"wheel": "wheel_3r", "dual_arm": "dual_arm_trep"}


@pytest.fixture(params=STUDIES)
def study(request, packages):
    return load_study(CONFIG / STUDIES[request.param] / f"demo_{request.param}.yaml", packages)


def parameters(scenario, node: str) -> dict:
    return next(dict(spec.parameters) for spec in scenario.nodes if spec.name == node)


def test_the_reaction_is_at_most_a_twentieth_of_the_same_motion_without(study):
    goals = {figure.name: figure.goal.text for figure in study.figures if figure.goal}
    assert goals["reaction_ratio"] == "<= 0.05"
    assert ("both_tools_ratio" in goals) == ("both_tools" in study.scenarios)


def test_compared_runs_differ_in_the_law_alone(study):
    one, other = study.scenarios["plain"], study.scenarios["reactionless"]
    assert one.plant == other.plant and one.duration == other.duration
    assert parameters(one, "reference_generator") == parameters(other, "reference_generator")
    first, second = (parameters(run, "rns_vibration_controller") for run in (one, other))
    assert (first["law"], second["law"]) == ("resolved_acceleration", "reactionless")
    for name in ("task", "position_gain", "velocity_gain"):
        assert first[name] == second[name]


def test_both_tools_move_as_the_one_did_and_as_its_mirror_image(packages):
    study = load_study(CONFIG / "dual_arm_trep" / "demo_dual_arm.yaml", packages)
    one, both = (
        parameters(study.scenarios[name], "reference_generator")["joint_displacement"]
        for name in ("one_tool", "both_tools")
    )
    assert list(both[::2]) == list(one[::2]) and list(one[1::2]) == [0.0, 0.0]
    assert list(both[1::2]) == [-value for value in both[::2]]


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["free_flying_attitude", *(pytest.param(n, marks=pytest.mark.long) for n in ("free_flying", "free_flying_left"))],
)
def test_on_a_free_flying_base_the_tool_moves_and_the_attitude_is_kept_or_left(packages, name):
    found = dry_run(load_scenario(CONFIG / "wheel_3r" / "scenarios" / f"{name}.yaml", packages))
    assert found.failure == "" and {"attitude", "tracking_error"} <= {figure.name for figure in found.figures}
