"""A base's push is made up for only where efforts come in time for its swing."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flexarm_core.hardware_gate.joint_dynamics import ANSWERED, JointDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState


@pytest.fixture
def swinging() -> ArmState:
    """The planar arm and its base in motion."""
    return ArmState(0, np.array([0.4, -0.7, 0.9]), np.array([0.2, -0.3, 0.1]), np.array([0.1]), np.array([0.3]))


def test_joints_and_push_together_are_the_dynamics_of_the_arm(planar_3r, swinging):
    dynamics, effort = JointDynamics(planar_3r), np.array([20.0, -10.0, 3.0])
    together = dynamics.acceleration(swinging, effort) + dynamics.push(swinging)
    assert np.allclose(together, planar_3r.forward_dynamics(swinging, effort), rtol=1e-10)
    wanted = np.array([1.0, -2.0, 3.0])
    held = dynamics.effort(swinging, wanted - dynamics.push(swinging))
    assert np.allclose(planar_3r.forward_dynamics(swinging, held), wanted, rtol=1e-9)


def test_a_slow_base_is_answered_and_a_quick_one_is_left_alone(planar_3r, planar_3r_text, swinging):
    dynamics = JointDynamics(planar_3r)
    blocks = planar_3r.blocks(swinging)
    free = blocks.H_b - blocks.H_bm @ np.linalg.solve(blocks.H_m, blocks.H_bm.T)
    frequency = float(np.sqrt(planar_3r.K_b / free).item())
    assert dynamics.answer(swinging, 0.9 * ANSWERED / frequency) == 1.0
    assert dynamics.answer(swinging, 1.5 * ANSWERED / frequency) == pytest.approx(0.5)
    assert dynamics.answer(swinging, 2.1 * ANSWERED / frequency) == 0.0
    stiff = re.sub(r'stiffness="[^"]*"', 'stiffness="1e7"', planar_3r_text)
    assert JointDynamics(ArmModel(stiff, gravity=(0.0, 0.0, 0.0))).answer(swinging, 0.002) == 0.0
