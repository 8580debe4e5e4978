"""Posture beside tool path and quiet base: a third task along what the two leave free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from elastic_robots import WEIGHTLESS, on_elastic_base
from robots import find
from stability_cases import POSITION_AXES

from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, CartesianReference, JointReference

SOFT = ("elastic_y", "elastic_z")
GAIN = 9.0
CONFIG = VibrationControllerConfig(task="tool_path", position_gain=100.0, velocity_gain=20.0, posture_gain=GAIN)


@pytest.fixture(scope="module")
def arm():
    return ArmModel(on_elastic_base(find("arm_7r")[0]), gravity=WEIGHTLESS)


def draw(arm, rng):
    """A state of an arm that swings, and references of tool and joints."""
    q = rng.uniform(np.maximum(arm.lower, -2.0), np.minimum(arm.upper, 2.0))
    swing = 0.02 * rng.normal(size=(2, arm.m))
    state = ArmState(0, q, rng.normal(size=arm.n), *swing)
    at = arm.tool_kinematics(state, arm.base_frame)
    motion = rng.normal(size=(2, 6))
    tool = CartesianReference(
        0, arm.base_frame, at.position + 0.1 * rng.normal(size=3), at.rotation, *motion, np.array(POSITION_AXES)
    )
    return state, tool, JointReference(0, *rng.normal(size=(3, arm.n)))


@pytest.mark.parametrize("law", ["reactionless", "resolved_acceleration"])
def test_base_and_tool_feel_nothing_of_it_and_the_error_dies_as_chosen_in_what_they_leave_free(arm, law):
    rng, regular = np.random.default_rng(3), 0
    selection = BaseSelection(arm, SOFT)
    for _ in range(100):
        state, tool, wanted = draw(arm, rng)
        with_it = VibrationController(arm, replace(CONFIG, law=law), selection)
        without = VibrationController(arm, replace(CONFIG, law=law, posture_gain=0.0), selection)
        (joints, reaction), (plain, _) = (each.update(state, tool, wanted) for each in (with_it, without))
        if reaction.damping > 0.0:
            continue
        regular += 1
        blocks, J = arm.blocks(state), arm.tool_kinematics(state, arm.base_frame).J_m[np.array(POSITION_AXES)]
        A = np.vstack((selection.at(blocks, 0.0, 0.0).coupling, J)) if law != "resolved_acceleration" else J
        happens, otherwise = (arm.forward_dynamics(state, each.effort) for each in (joints, plain))
        size = np.abs(happens).max()
        assert np.abs(A @ (happens - otherwise)).max() < 1e-8 * size
        N = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :]
        error = wanted.acceleration - happens + 2.0 * np.sqrt(GAIN) * (wanted.velocity - state.velocity)
        error += GAIN * (wanted.position - state.position)
        assert np.abs(N @ error).max() < 1e-8 * size
        assert np.abs(N @ (happens - otherwise)).max() > 1e-3
    assert regular > 30


def test_without_a_joint_reference_it_is_the_first_posture(arm):
    state, tool, _ = draw(arm, np.random.default_rng(5))
    controller = VibrationController(arm, CONFIG, BaseSelection(arm, SOFT))
    controller.update(state, tool)
    moved = replace(state, stamp=1_000_000, position=state.position + 0.1)
    held = controller.update(moved, tool)[0].acceleration
    other = VibrationController(arm, CONFIG, BaseSelection(arm, SOFT))
    first = JointReference(1_000_000, state.position)
    assert np.array_equal(held, other.update(moved, tool, first)[0].acceleration)
