"""A base's push is made up for only where efforts come in time for its swing."""

from __future__ import annotations

import re

import numpy as np
import pytest
from planned_arms import boom_motions
from scipy.linalg import eigh

from flexarm_core.hardware_gate.joint_dynamics import ANSWERED, JointDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState


@pytest.fixture
def swinging() -> ArmState:
    """The planar arm and its base in motion."""
    return ArmState(0, np.array([0.4, -0.7, 0.9]), np.array([0.2, -0.3, 0.1]), np.array([0.1]), np.array([0.3]))


def test_joints_and_push_together_are_the_dynamics_of_the_arm(planar_3r, swinging):
    dynamics, effort = JointDynamics(planar_3r), np.array([20.0, -10.0, 3.0])
    push = sum(dynamics.push(swinging, 0.002))
    together = dynamics.acceleration(swinging, effort) + push
    assert np.allclose(together, planar_3r.forward_dynamics(swinging, effort), rtol=1e-10)
    wanted = np.array([1.0, -2.0, 3.0])
    held = dynamics.effort(swinging, wanted - push)
    assert np.allclose(planar_3r.forward_dynamics(swinging, held), wanted, rtol=1e-9)


def test_a_slow_base_is_answered_and_a_quick_one_is_left_alone(planar_3r, planar_3r_text, swinging):
    dynamics = JointDynamics(planar_3r)
    frequency = float(np.sqrt(planar_3r.K_b / planar_3r.blocks(swinging).H_b).item())
    whole = dynamics.push(swinging, 0.0)[0]
    for delay, share in ((0.9, 1.0), (1.5, 0.5), (2.1, 0.0)):
        answered, rest = dynamics.push(swinging, delay * ANSWERED / frequency)
        assert np.allclose(answered, share * whole) and np.allclose(rest, (1.0 - share) * whole)
    stiff = re.sub(r'stiffness="[^"]*"', 'stiffness="1e7"', planar_3r_text)
    assert not JointDynamics(ArmModel(stiff, gravity=(0.0, 0.0, 0.0))).push(swinging, 0.002)[0].any()


def test_what_moves_a_base_in_its_slow_modes_only_is_answered_whatever_stiff_ones_pass_on():
    """Of the six modes of the boom three are below 8 Hz, the others above 80 Hz."""
    boom_7r = boom_motions().model
    rng, none = np.random.default_rng(4), np.zeros(boom_7r.m)
    q, v = np.array([0.1, 0.5, -0.2, -1.2, 0.3, 0.6, 0.1]), 0.5 * rng.standard_normal(7)
    blocks = boom_7r.blocks(ArmState(0, q, v, none, none))
    squares, modes = eigh(boom_7r.K_b, blocks.H_b)
    assert np.sqrt(squares[2]) < 50.0 and np.sqrt(squares[3]) > 500.0
    for moving, answered in ((modes[:, :3], True), (modes[:, 3:], False)):
        force = -blocks.H_b @ moving @ rng.standard_normal(3)
        at = np.linalg.solve(boom_7r.K_b, force - blocks.c_b + blocks.dH_bm_qd)
        state = ArmState(0, q, v, at, none)
        for _ in range(20):  # the bias changes with the deflection
            now = boom_7r.blocks(state)
            state = ArmState(0, q, v, np.linalg.solve(boom_7r.K_b, force - now.c_b + now.dH_bm_qd), none)
        push = JointDynamics(boom_7r).push(state, 0.001)
        large, small = push if answered else push[::-1]
        assert np.abs(small).max() < 0.02 * np.abs(large).max()
