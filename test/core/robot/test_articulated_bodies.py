"""Accelerations of an arm by its own recursion, against Pinocchio's articulated-body algorithm."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
import random_arms
import robots
import sensed_robots

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState

TREES = {"two_arms": "a3", "raft": "c"}  # two branches; prismatic and revolute elastic joints


def state_of(model: ArmModel, rng: np.random.Generator) -> ArmState:
    return ArmState(
        0, rng.normal(size=model.n), rng.normal(size=model.n), 0.1 * rng.normal(size=model.m), rng.normal(size=model.m)
    )


def by_pinocchio(model: ArmModel, state: ArmState, effort: np.ndarray) -> np.ndarray:
    """Accelerations (n,) of the actuated joints."""
    load = np.empty(model.n + model.m)
    load[model._actuated_v] = effort - model.D_m * state.velocity
    load[model._elastic_v] = -model.K_b @ state.deflection - model.D_b @ state.deflection_rate
    q = model.configuration(state.position, state.deflection)
    v = model.velocity(state.velocity, state.deflection_rate)
    return pinocchio.aba(model._model, model._data, q, v, load)[model._actuated_v]


def check(model: ArmModel) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        state, effort = state_of(model, rng), 10.0 * rng.normal(size=model.n)
        expected = by_pinocchio(model, state, effort)
        assert np.allclose(
            model.forward_dynamics(state, effort), expected, rtol=0.0, atol=1e-10 * np.abs(expected).max()
        )


@pytest.mark.parametrize("seed", range(24))
def test_random_arms_accelerate_as_in_pinocchio(seed):
    check(ArmModel(random_arms.random_arm(seed)[1], gravity=(1.0, -2.0, -9.0)))


@pytest.mark.parametrize("name", TREES)
def test_branches_and_sliding_bases_accelerate_as_in_pinocchio(name):
    check(ArmModel(getattr(sensed_robots, name)(), TREES[name]))


@pytest.mark.parametrize("name", ["arm_7r", "arm_6r", "planar_3r", "boom_7r"])
def test_the_robots_of_the_repository_accelerate_as_in_pinocchio(name):
    check(ArmModel(load_robot_description(robots.URDF / f"{name}.urdf.xacro")))


def test_rotors_resist_as_in_pinocchio():
    model = ArmModel(load_robot_description(robots.URDF / "arm_7r.urdf.xacro", {"armature": "true"}))
    assert model.armature.any()
    check(model)


def test_several_efforts_at_once_give_what_each_gives_alone():
    model, rng = ArmModel(sensed_robots.raft(), "c"), np.random.default_rng(1)
    state, efforts = state_of(model, rng), rng.normal(size=(3, model.n))
    together = model.forward_dynamics(state, efforts)
    assert np.array_equal(together, [model.forward_dynamics(state, effort) for effort in efforts])


def test_an_effort_on_a_resting_base_is_that_of_the_arm_alone():
    model, rng = ArmModel(sensed_robots.raft(), "c"), np.random.default_rng(2)
    state, acceleration = state_of(model, rng), rng.normal(size=model.n)
    blocks = model.blocks(state)
    expected = blocks.H_m @ acceleration + blocks.c_m + model.D_m * state.velocity
    assert np.allclose(model.effort_on_resting_base(state, acceleration), expected, rtol=0.0, atol=1e-10)
