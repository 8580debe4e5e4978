"""Flexible arms in which joints follow others: reduced equations against constraint forces, Pinocchio and MuJoCo."""

from __future__ import annotations

import re

import numpy as np
import pytest
from coupled_arms import FreeJoints, coupled_arm
from random_flexible_arms import flexible_arm

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.hardware_gate.softness import softness
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.flexible_backend import FlexibleBackend
from flexarm_sim.mujoco.backend import MujocoBackend

GRAVITY = (0.3, -0.5, -9.81)


def coordinates(model: FlexibleModel, rng, size: float = 0.7):
    x, v = size * rng.normal(size=(2, model.size))
    x[model.unmeasured] *= 0.02
    v[model.unmeasured] *= 0.02
    return x, v


@pytest.mark.parametrize("seed", range(12))
def test_rigid_arms_have_the_equations_of_pinocchio(seed):
    arm, rng = coupled_arm(seed), np.random.default_rng(seed)
    free, model = FreeJoints(arm, np.array(GRAVITY)), FlexibleModel(arm.text, gravity=GRAVITY)
    order = [model.hinge_names.index(name) for name in (*arm.driven, *arm.elastic)]
    x, v = coordinates(model, rng)
    H, c = free.equation(x[order], v[order])
    M = model.mass_matrix(x)
    armature = np.zeros(model.size)
    for name in arm.driven:
        armature[model.hinge_names.index(name)] = model.description.joints[name].armature
    assert (M - np.diag(armature))[np.ix_(order, order)] == pytest.approx(H, rel=1e-9, abs=1e-9)
    forces = model.damping_matrix() @ v + model.stiffness_matrix() @ x
    bias = model.inverse_dynamics(x, v, np.zeros(model.size)) - forces
    assert bias[order] == pytest.approx(c, rel=1e-9, abs=1e-8)
    effort = rng.normal(size=len(model.hinge_names))
    a = model.forward_dynamics(x, v, effort)
    assert model.inverse_dynamics(x, v, a) == pytest.approx(effort, abs=1e-7)
    assert model.response(np.arange(model.size)) == pytest.approx(np.linalg.inv(M), rel=1e-7, abs=1e-9)


def coupled_flexible(seed: int) -> tuple[str, str, float, float, str, str]:
    """A random arm with flexible links whose last joint follows another one, and the same one without that."""
    rng = np.random.default_rng(seed)
    text = flexible_arm(seed).urdf()
    joints = parse_robot_description(text).actuated
    leader, follower = str(rng.choice(joints[:-1])), joints[-1]
    a, b = (
        float(rng.uniform(0.3, 1.5) * rng.choice((-1, 1))),
        0.0,
    )  # an offset changes the load of a beam, and its modes
    mimic = f'<mimic joint="{leader}" multiplier="{a!r}" offset="{b!r}"/>'
    start = text.index(f'<joint name="{follower}" type=')
    end = text.index("</joint>", start)
    coupled = text[:end] + mimic + text[end:]
    coupled = re.sub(
        rf'<joint name="{follower}">\s*(<command_interface[^>]*/>\s*)+', f'<joint name="{follower}">', coupled
    )
    return coupled, text, a, b, leader, follower


MOVING = [seed for seed in range(30) if flexible_arm(seed).urdf().count('type="revolute"') > 1]


@pytest.mark.parametrize("seed", MOVING[:12])
def test_flexible_arms_move_as_with_the_force_of_a_constraint(seed):
    coupled, free, a, b, leader, follower = coupled_flexible(seed)
    one, other, rng = (
        FlexibleModel(coupled, gravity=GRAVITY),
        FlexibleModel(free, gravity=GRAVITY),
        np.random.default_rng(seed),
    )
    assert one.size == other.size - 1 and len(one.modal) > 0 and follower not in one.hinge_names
    x, v = coordinates(one, rng)
    names, all_names = (*one.hinge_names, *one.mode_names), (*other.hinge_names, *other.mode_names)
    full, rate, effort = np.zeros(other.size), np.zeros(other.size), rng.normal(size=len(one.hinge_names))
    efforts = np.zeros(len(other.hinge_names))
    for i, name in enumerate(names):
        full[all_names.index(name)], rate[all_names.index(name)] = x[i], v[i]
        if i < len(effort):
            efforts[all_names.index(name)] = effort[i]
    k, m = all_names.index(follower), all_names.index(leader)
    full[k], rate[k] = a * full[m] + b, a * rate[m]
    G = np.zeros(other.size)  # of the constraint
    G[k], G[m] = 1.0, -a
    wrench = {other.tool_frame: rng.normal(size=6)}
    alone = other.forward_dynamics(full, rate, efforts, wrench)
    M = other.mass_matrix(full)
    push = np.linalg.solve(M, G)
    exact = alone - push * (G @ alone) / (G @ push)
    moved = one.forward_dynamics(x, v, effort, wrench)
    chosen = [all_names.index(name) for name in names]
    assert moved == pytest.approx(exact[chosen], rel=1e-6, abs=1e-6 * np.abs(exact).max())
    forces = one.inverse_dynamics(x, v, moved, wrench)
    assert forces[: len(effort)] == pytest.approx(effort, abs=1e-6 * (1.0 + np.abs(effort).max() + np.abs(moved).max()))
    at, its = one.frame_motion(one.tool_frame, x, v, moved), other.frame_motion(other.tool_frame, full, rate, exact)
    for part in ("position", "rotation", "velocity", "acceleration"):
        expected = getattr(its, part)
        assert getattr(at, part) == pytest.approx(expected, rel=1e-6, abs=1e-6 * (1.0 + np.abs(expected).max()))
    assert one.energy(x, v) == pytest.approx(other.energy(full, rate), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_plant_moves_as_mujoco_with_an_equality_constraint(seed):
    arm, rng = coupled_arm(seed, joints=4, followers=2), np.random.default_rng(seed)
    description = parse_robot_description(arm.text)
    plants = [
        kind(description, tool_frame="tool0", gravity=GRAVITY, max_step=2e-4)
        for kind in (FlexibleBackend, MujocoBackend)
    ]
    n = len(description.actuated)
    start, effort = 0.3 * rng.normal(size=n), rng.normal(size=n)
    for plant in plants:
        plant.reset(position=start)
        plant.step(effort, 0.1)
    one, other = (plant.state() for plant in plants)
    moved = np.abs(one.position - start).max()
    assert moved > 1e-3
    assert one.position == pytest.approx(other.position, abs=2e-2 * moved)
    assert one.deflection == pytest.approx(other.deflection, abs=2e-2 * np.abs(other.deflection).max())


@pytest.mark.parametrize("seed", [1, 3])
def test_the_plant_with_flexible_links_moves_as_chains_of_bodies_in_mujoco(seed):
    description = parse_robot_description(coupled_flexible(seed)[0])
    one = FlexibleBackend(description, tool_frame="tool0", gravity=GRAVITY, max_step=1e-4)
    other = MujocoBackend(description, tool_frame="tool0", gravity=GRAVITY, max_step=2e-5, segments=12)
    rng, n = np.random.default_rng(seed), len(description.actuated)
    start, effort = 0.3 * rng.normal(size=n), 20.0 * rng.normal(size=n)
    for plant in (one, other):
        plant.reset(position=start, at_rest=True)
        plant.step(effort, 0.1)
    moved = one.state().position - start
    assert np.abs(moved).max() > 1e-3
    assert moved == pytest.approx(other.state().position - start, rel=0.02)


def test_a_gate_finds_how_soft_such_an_arm_is():
    model = ArmModel(coupled_flexible(MOVING[0])[0])
    soft = softness(model, model.velocity_limit, np.full(model.n, 20.0), 0.001)
    assert (soft.rise > 0.0).all() and (soft.bandwidth > 0.0).all() and np.isfinite(soft.bandwidth).all()


def test_estimator_and_controller_of_flexible_links_say_that_they_take_no_follower():
    coupled, *_ = coupled_flexible(MOVING[0])
    model = FlexibleModel(coupled)
    with pytest.raises(RobotDescriptionError, match="which the estimator of the flexible state does not take"):
        FlexibleEstimator(model)
    with pytest.raises(RobotDescriptionError, match="which the controller of flexible links does not take"):
        FlexibleController(model, FlexibleControllerConfig())
