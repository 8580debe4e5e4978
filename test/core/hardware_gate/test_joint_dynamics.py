"""Efforts and joint accelerations over a base that moves, without what the base does by itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState


@pytest.mark.parametrize("seed", range(5))
def test_over_a_base_at_rest_they_are_the_dynamics_of_the_arm(planar_3r, seed):
    rng = np.random.default_rng(seed)
    dynamics, effort = JointDynamics(planar_3r), rng.uniform(-20.0, 20.0, 3)
    state = ArmState(0, rng.uniform(-2.0, 2.0, 3), np.zeros(3), np.zeros(1), np.zeros(1))
    caused = dynamics.acceleration(state, effort)
    assert np.allclose(caused, planar_3r.forward_dynamics(state, effort), rtol=1e-10)
    assert np.allclose(dynamics.effort(state, caused), effort, rtol=1e-9)


def test_what_a_bent_base_does_by_itself_is_left_out(planar_3r_text):
    model = ArmModel(planar_3r_text, gravity=(0.0, 0.0, 0.0))
    bent = ArmState(0, np.array([0.4, -0.7, 0.9]), np.zeros(3), np.array([0.1]), np.array([0.3]))
    assert np.abs(model.forward_dynamics(bent, np.zeros(3))).max() > 0.1
    assert not JointDynamics(model).acceleration(bent, np.zeros(3)).any()


def test_damping_that_is_told_slows_but_no_effort_makes_up_for_it(planar_3r_text):
    damped = ArmModel(re.sub(r'(<joint name="joint\d" [^>]*>)', r'\1<dynamics damping="2"/>', planar_3r_text))
    none, velocity = np.zeros(1), np.array([0.5, -1.0, 2.0])
    state = ArmState(0, np.array([0.4, -0.7, 0.9]), velocity, none, none)
    dynamics, plain = JointDynamics(damped), JointDynamics(ArmModel(planar_3r_text))
    wanted = np.array([1.0, 2.0, -3.0])
    assert np.allclose(dynamics.effort(state, wanted), plain.effort(state, wanted), rtol=1e-12)
    slower = dynamics.acceleration(state, plain.effort(state, wanted)) - wanted
    assert np.allclose(dynamics.terms(state)[0] @ slower, -2.0 * velocity, rtol=1e-9)
