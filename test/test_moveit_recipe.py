"""What docs/joint_trajectories.md tells MoveIt about the node agrees with the node."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from flexarm_nodes.joint_trajectory.stage import KIND, PARAMETERS
from flexarm_nodes.node import topics

PAGE = Path(__file__).resolve().parents[1] / "docs/joint_trajectories.md"


def recipe() -> dict:
    """The YAML blocks of the section, as one mapping."""
    section = PAGE.read_text(encoding="utf-8").split("\n## With MoveIt\n")[1].split("\n## ")[0]
    merged: dict = {}
    for block in re.findall(r"```yaml\n(.*?)```", section, re.DOTALL):
        merged |= yaml.safe_load(block)
    return merged


def follower() -> dict:
    return next(node["parameters"] for node in recipe()["nodes"] if node["executable"] == KIND.name)


def test_controller_is_the_action_of_the_node():
    given = recipe()["moveit_simple_controller_manager"]
    (name,) = given["controller_names"]
    assert f"{name}/{given[name]['action_ns']}" == topics.FOLLOW_JOINT_TRAJECTORY


def test_parameters_exist():
    assert set(follower()) <= {parameter.name for parameter in PARAMETERS}


def test_moveit_waits_until_the_node_has_said_why_a_goal_failed():
    """It gives up after duration * scaling + margin, and reports TIMED_OUT; a short motion has only the margin."""
    limits = recipe()["trajectory_execution"]
    assert limits["allowed_execution_duration_scaling"] >= 1.0
    assert limits["allowed_goal_duration_margin"] >= follower()["goal_time"] + 0.5
