"""The push that the page proposes: along the direction in which the base gives way most."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot
from flexarm_tools.view.softest_push import FORCE, softest_push

URDF = Path(__file__).resolve().parents[2] / "urdf"


@pytest.mark.parametrize("robot", ["planar_3r", "boom_7r"])
def test_no_other_push_moves_the_base_farther(robot):
    model = ArmModel(load_robot(URDF / f"{robot}.urdf.xacro"))
    force = np.array(softest_push(model.description))
    assert np.linalg.norm(force) == pytest.approx(FORCE, abs=0.2)
    h, J = 1e-6, np.zeros((3, model.m))
    for i in range(model.m):
        ends = [model.base_pose(sign * h * np.eye(model.m)[i])[0] for sign in (1.0, -1.0)]
        J[:, i] = (ends[0] - ends[1]) / (2.0 * h)
    compliance = J @ np.linalg.inv(model.K_b) @ J.T
    moved = np.linalg.norm(compliance @ force)
    for other in np.random.default_rng(1).normal(size=(200, 3)):
        assert np.linalg.norm(compliance @ other) * FORCE / np.linalg.norm(other) <= moved * 1.01


def test_a_base_that_does_not_give_way_is_pushed_sideways():
    assert softest_push(load_robot(URDF / "arm_6r.urdf.xacro")) == (0.0, FORCE, 0.0)


def test_a_base_that_floats_is_pushed_the_way_in_which_it_floats():
    assert softest_push(load_robot(URDF / "wheel_3r.urdf.xacro", {"free": "true"})) == (FORCE, 0.0, 0.0)
