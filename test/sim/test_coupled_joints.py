"""Joints that follow others in the simulated plant: where they are, and what it feels, compared with Pinocchio."""

from __future__ import annotations

import re

import numpy as np
import pytest
from coupled_arms import FreeJoints, coupled_arm

from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.mujoco.backend import MujocoBackend

GRAVITY = (1.0, 2.0, -9.0)
SEEDS = range(8)


def case(seed: int, friction: bool = False):
    arm = coupled_arm(seed)
    model, rng = ArmModel(arm.text, gravity=GRAVITY), np.random.default_rng(seed)
    rubs = JointFriction(coulomb=(0.3,)) if friction else None
    plant = MujocoBackend(model.description, gravity=GRAVITY, friction=rubs)
    motion = [*rng.uniform(-1.0, 1.0, (2, model.n)), *rng.uniform(-0.05, 0.05, (2, model.m))]
    plant.reset(*motion)
    return arm, model, plant, ArmState(0, *motion), rng


@pytest.mark.parametrize("seed", SEEDS)
def test_the_plant_accelerates_as_the_reduced_equations_say(seed):
    _, model, plant, state, rng = case(seed)
    effort = rng.uniform(-9.0, 9.0, model.n)
    plant.reset(state.position, state.velocity, state.deflection, state.deflection_rate, effort)
    seen = plant.state()
    wanted = model.forward_dynamics(state, effort)
    assert np.allclose(seen.acceleration, wanted, rtol=1e-3, atol=1e-2)
    assert np.abs(seen.acceleration - wanted).max() < 1e-3 * np.abs(wanted).max()
    tool = model.tool_kinematics(state, model.world_frame)
    assert np.allclose(seen.tool_position_in_world, tool.position, atol=1e-9)
    assert np.allclose(seen.tool_twist_in_world, tool.velocity, atol=1e-9)
    inertia, bias = plant.joint_dynamics()
    blocks = model.blocks(state)
    solved = np.linalg.solve(blocks.H_b, blocks.H_bm)
    assert np.allclose(inertia, blocks.H_m - blocks.H_bm.T @ solved, rtol=1e-7)
    still = ArmState(0, state.position, 0.0 * state.velocity, state.deflection, 0.0 * state.deflection_rate)
    assert np.allclose(plant.gravity_effort(), model.gravity_effort(still), atol=1e-7)
    assert np.isfinite(bias).all()
    # what the sensor under the base feels is what the motors do
    full = (np.concatenate(pair) for pair in (
        (state.position, state.deflection), (state.velocity, state.deflection_rate),
        (seen.acceleration, seen.deflection_acceleration),
    ))  # fmt: skip
    told = SensorDynamics(build_sensed_bodies(model.description), GRAVITY).torques(
        *full, seen.wrenches["base_ft_sensor"]
    )
    lost = model.D_m * state.velocity + model.armature * seen.acceleration
    assert np.allclose(told.torque + told.gravity, effort - lost, atol=3e-3 * np.abs(told.torque).max())


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_followers_stay_with_their_drivers_through_a_second_of_motion(seed, friction):
    arm, model, plant, _, rng = case(seed, friction)
    free = FreeJoints(arm, np.array(GRAVITY))
    for _ in range(100):
        plant.step(rng.uniform(-3.0, 3.0, model.n) + plant.gravity_effort(), 0.01)
        seen = plant.state()
        position, _ = free.pose(np.concatenate((seen.position, seen.deflection)), "tool0")
        assert np.linalg.norm(seen.tool_position_in_world - position) < 1e-5


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_energy_is_kept_where_nothing_takes_it(seed):
    arm = coupled_arm(seed)
    text = re.sub(r'<dynamics damping="[^"]*"/>', "", re.sub(r'damping="[^"]*"/>', 'damping="0"/>', arm.text))
    model = ArmModel(text, gravity=(0.0, 0.0, 0.0))
    plant = MujocoBackend(model.description, gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(seed)
    plant.reset(*rng.uniform(-0.5, 0.5, (2, model.n)))

    def energy() -> float:
        seen = plant.state()
        blocks = model.blocks(ArmState(0, seen.position, seen.velocity, seen.deflection, seen.deflection_rate))
        H = np.block([[blocks.H_m, blocks.H_bm.T], [blocks.H_bm, blocks.H_b]])
        v = np.concatenate((seen.velocity, seen.deflection_rate))
        return float(0.5 * v @ H @ v + 0.5 * seen.deflection @ model.K_b @ seen.deflection)

    before = energy()
    for _ in range(50):
        plant.step(np.zeros(model.n), 0.01)
    assert abs(energy() - before) < 2e-3 * before
