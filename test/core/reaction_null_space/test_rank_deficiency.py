"""Postures at which the coupling inertia loses rank: found, damped, reported, and passed in closed loop."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from rns_cases import CASES, case
from rns_loop import close_loop
from scipy.optimize import minimize

from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.types import ArmState, JointReference

# A servo's gain counts times H_m over what inertia a light base leaves: 50 and more on wheel_3r.
CONFIG = VibrationControllerConfig(
    task="joint_path",
    realization="joint_servo",
    position_gain=100.0,
    velocity_gain=20.0,
    damping_ratio=0.3,
    servo_position_gain=25.0,
    servo_velocity_gain=10.0,
)


def conditioning(robot, position):
    """Smallest singular value of ``S H_bm`` over ``sqrt(tr S H_b S^T tr H_m)``."""
    blocks = robot.model.blocks(robot.at(position))
    selected = robot.selection.at(blocks, 0.0, 0.0)
    scale = np.sqrt(np.trace(selected.rows @ blocks.H_b @ selected.rows.T) * np.trace(blocks.H_m))
    return np.linalg.svd(selected.coupling, compute_uv=False)[-1] / scale


@cache
def singular_posture(name):
    """A posture, well within the joints' limits, at which the coupling inertia loses rank."""
    robot, rng = case(name), np.random.default_rng(0)
    lower = np.maximum(robot.model.lower, -2.5) + 0.4
    upper = np.minimum(robot.model.upper, 2.5) - 0.4
    best = None
    for _ in range(10):
        found = minimize(
            lambda q: conditioning(robot, q) ** 2,
            rng.uniform(lower, upper),
            method="L-BFGS-B",
            bounds=list(zip(lower, upper, strict=True)),
            options={"ftol": 1e-18, "gtol": 1e-12},
        )
        if best is None or found.fun < best.fun:
            best = found
        if best.fun < 1e-10:
            break
    return best.x


@pytest.mark.parametrize("name", CASES)
def test_a_singular_posture_is_damped_and_reported(name):
    robot, q = case(name), singular_posture(name)
    assert conditioning(robot, q) < 1e-4
    rng, model = np.random.default_rng(1), robot.model
    ways = (("reactionless", "computed_torque"), ("reactionless", "joint_servo"), ("torque", "computed_torque"))
    for law, realization in ways:
        config = replace(CONFIG, law=law, realization=realization)
        controller = VibrationController(model, config, robot.selection)
        for shift in (0.0, 1e-8, 1e-6, 1e-4):
            controller.reset()
            position = q + shift * rng.normal(size=model.n)
            rate = 0.1 * rng.normal(size=model.m) * np.isin(model.elastic_joint_names, robot.selection.names)
            state = ArmState(0, position, 0.5 * rng.normal(size=model.n), np.zeros(model.m), rate)
            joints, reaction = controller.update(state, joints=JointReference(0, position))
            scale = np.sqrt(np.trace(model.blocks(state).H_b) * np.trace(model.blocks(state).H_m))
            assert reaction.damping > 0.0
            assert reaction.coupling_singular_values[-1] < 1e-3 * scale
            assert np.abs(joints.acceleration).max() < 1e3 and np.isfinite(joints.effort).all()


@pytest.mark.parametrize(
    ("name", "rank"), [("planar_3r", 0), ("trep", 0), ("dual_arm_trep", 0), ("wheel_3r", 1), ("planar_4r", 2)]
)
def test_arms_stretched_along_the_rail_have_lost_a_rank(name, rank):
    robot = case(name)
    stretched = robot.at(np.zeros(robot.model.n))
    controller = VibrationController(robot.model, replace(CONFIG, realization="computed_torque"), robot.selection)
    assert controller.update(stretched, joints=JointReference(0, stretched.position))[1].rank == rank


@pytest.mark.parametrize("name", CASES)
def test_from_a_singular_posture_the_closed_loop_moves_on_without_blowing_up(name):
    """A base that swings, an arm that stands where it cannot damp it, a joint reference that goes away and back.

    Where one direction counts, no reactionless motion leads to such a posture: it is an extremum of the arm's center of
    mass along the rail. So the motion begins there.
    """
    robot, start = case(name), singular_posture(name)
    rng, n = np.random.default_rng(2), robot.model.n
    way = 0.3 * rng.uniform(0.5, 1.0, n) * rng.choice([-1.0, 1.0], n)

    def goal(time, stamp):
        there, back = fifth_order(time, 1.0), fifth_order(time - 1.0, 1.0)
        s, rate, acceleration = (a - b for a, b in zip(there, back, strict=True))
        return JointReference(stamp, start + s * way, rate * way, acceleration * way)

    swing = 0.01 * np.isin(robot.model.elastic_joint_names, robot.selection.names)
    run = close_loop(robot, CONFIG, start, 2.5, deflection=swing, goal=goal, period=0.001)
    assert run.reactions[0].damping > 0.0
    fastest = 1.875 * np.abs(way).max()
    energy = [0.5 * x @ robot.model.K_b @ x for x in run.deflection]
    assert np.abs(run.velocity).max() < 10.0 * fastest
    assert max(energy) < 1.01 * energy[0] and energy[-1] < 0.1 * energy[0]
