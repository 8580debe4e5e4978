"""The momentum that joints give to the base: MuJoCo's, and its derivatives those of differences."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from planned_arms import boom_motions, planar_motions

from flexarm_core.reaction_null_space.coupling.coupling_momentum import CouplingMomentum
from flexarm_core.reaction_null_space.reactionless.posture_pairs import pair_postures
from flexarm_sim.mujoco.model import build_model

STEP = 1e-6


def drawn(model, count=4):
    """Positions and velocities (count, n)."""
    return np.random.default_rng(3).uniform(-1.5, 1.5, (2, count, model.n))


@pytest.mark.parametrize("motions", [boom_motions, planar_motions])
def test_it_is_what_mujoco_says(motions):
    model = motions().model
    robot = build_model(model.description)
    data, whole = mujoco.MjData(robot), np.zeros((robot.nv, robot.nv))
    arm = [robot.joint(name).dofadr[0] for name in model.joint_names]
    base = [robot.joint(name).dofadr[0] for name in model.elastic_joint_names]
    positions, velocities = drawn(model)
    found = CouplingMomentum(model).at(positions, velocities)
    for q, qd, momentum in zip(positions, velocities, found, strict=True):
        data.qpos[arm] = q
        mujoco.mj_forward(robot, data)
        for column, unit in zip(whole, np.eye(robot.nv), strict=True):
            mujoco.mj_mulM(robot, data, column, unit)
        judge = whole[np.ix_(base, arm)] @ qd / np.sqrt(np.diag(model.K_b))
        assert np.allclose(momentum, judge, rtol=1e-6, atol=1e-9)


def test_its_derivatives_are_those_of_differences():
    model = boom_motions((0.0, 0.0, -9.81)).model
    momentum, (positions, velocities) = CouplingMomentum(model), drawn(model)
    found, by_position, by_velocity = momentum.derivatives(positions, velocities)
    assert np.allclose(found, momentum.at(positions, velocities), atol=1e-12)
    weights, by_turning = momentum.weight_derivatives(positions)
    assert np.abs(weights).max() > 0.1
    for joint, unit in enumerate(STEP * np.eye(model.n)):
        for slope, differ in (
            (by_position, lambda sign, d=unit: momentum.at(positions + sign * d, velocities)),
            (by_velocity, lambda sign, d=unit: momentum.at(positions, velocities + sign * d)),
            (by_turning, lambda sign, d=unit: momentum.weights(positions + sign * d)),
        ):
            judge = (differ(1.0) - differ(-1.0)) / (2.0 * STEP)
            assert np.allclose(slope[:, :, joint], judge, atol=1e-5)


def test_without_gravity_nothing_weighs():
    assert not CouplingMomentum(boom_motions().model).weighs
    assert CouplingMomentum(boom_motions((0.0, 0.0, -9.81)).model).weighs


def test_pairs_of_postures_are_ranked_by_the_way_of_the_center_of_mass():
    """The planar arm's base is pushed along x only: what the momentum integrates to is mass times that way."""
    model = planar_motions().model
    starts, goals = np.random.default_rng(5).uniform(-1.0, 1.0, (2, 6, 3))
    pairs = pair_postures(CouplingMomentum(model), starts, goals, np.full(3, 1.5), 30)
    assert pairs and [pair.transfer for pair in pairs] == sorted(pair.transfer for pair in pairs)
    robot = build_model(model.description)
    data = mujoco.MjData(robot)
    arm = [robot.joint(name).qposadr[0] for name in model.joint_names]

    def moment(q):
        data.qpos[arm] = q
        mujoco.mj_forward(robot, data)
        return float(robot.body_mass @ data.xipos[:, 0])

    for pair in pairs:
        assert (np.abs(pair.goal - pair.start) <= 1.5).all()
        exact = abs(moment(pair.goal) - moment(pair.start)) / np.sqrt(model.K_b[0, 0])
        assert pair.transfer == pytest.approx(exact, abs=2e-3)
