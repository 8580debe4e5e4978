"""Bases that are softer or stiffer, lighter or heavier, less or more damped than told: computed torque stays stable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rns_cases import case
from scipy.linalg import expm
from wrong_bases import SCENARIOS, THROWN, drawn, growth, moved, passive

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.stability.sampled_model import SampledModel
from flexarm_core.reaction_null_space.stability.stability import Margin, check_gains
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.types import ArmState
from flexarm_sim.backends import make_backend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_tools.scenario.robot_changes import RobotChanges

START = np.radians([60.0, -60.0, -60.0])
SOFT = 0.79  # times the told stiffness
FREE = VibrationControllerConfig(task="none", joint_damping=0.4, vibration_damping=False, base_bandwidth=0.0)


def test_computed_torque_without_the_observer_grows_on_a_soft_base_as_the_closed_form_says_and_in_mujoco():
    """With L = H_bm qd and e = (K_told - K) x / M: dL/dt = -G_m L - (H_b - M) e, H_b xdd + D xd + K x = -dL/dt."""
    model = case("planar_3r").model
    blocks = model.blocks(ArmState(0, START, np.zeros(3), np.zeros(1), np.zeros(1)))
    H_b, K, D = blocks.H_b[0, 0], SOFT * model.K_b[0, 0], model.D_b[0, 0]
    M = H_b - (blocks.H_bm @ np.linalg.solve(blocks.H_m, blocks.H_bm.T))[0, 0]
    G_m, fed = FREE.joint_damping, (H_b / M - 1.0) * (K - model.K_b[0, 0])
    L = np.array([fed, 0.0, -G_m])
    A = np.array([[0.0, 1.0, 0.0], (np.array([-K, -D, 0.0]) - L) / H_b, L])
    wanted = np.linalg.eigvals(A).real.max()
    loop = SampledModel(model, START, FREE, BaseSelection(model), Sampling(1e-4), stiffness=SOFT)
    assert wanted > 0.4 and loop.growth() == pytest.approx(wanted, rel=0.01)

    real = RobotChanges({}, {"all": SOFT}, 0.0).apply(model.description, model.tool_frame)
    plant = Plant(
        real, make_backend("mujoco", real, gravity=(0.0, 0.0, 0.0), max_step=1e-3),
        PlantConfig(1_000_000, tuple(START), initial_deflection=(1e-6,)),
    )  # fmt: skip
    controller, deflection = VibrationController(model, FREE), []
    for _ in range(8_000):
        read = plant.measure()
        state = ArmState(
            read.stamp, read.joints.position, read.joints.velocity, read.elastic.position, read.elastic.velocity
        )
        deflection.append(state.deflection[0])
        plant.advance(controller.update(state)[0].effort)
    said = [1e-6 * expm(A * 1e-3 * k)[0, 0] for k in range(0, 8_000, 100)]
    assert np.ptp(said) > 2e-5
    np.testing.assert_allclose(deflection[::100], said, rtol=0.0, atol=0.03 * np.ptp(said))


SHORT = ("planar_3r/push_damped", "wheel_3r/reactionless", "planar_3r/torque_law", "boom_7r/push_damped")


@pytest.mark.parametrize(
    "run", [*SHORT, *(pytest.param(run, marks=pytest.mark.long) for run in SCENARIOS if run not in SHORT)]
)
def test_random_wrong_bases_are_stable_in_every_posture_that_was_drawn(run):
    rng, without = np.random.default_rng(3), 0
    for _ in range(12):
        one = drawn(run, rng)
        assert growth(one, rng) < 1e-3, one
        without += growth(one, rng, base_bandwidth=0.0) > 1e-3
    assert without > 0 or run not in ("planar_3r/push_damped", "wheel_3r/reactionless")


@pytest.mark.parametrize("run", ["planar_3r/push_damped", "wheel_3r/reactionless"])
def test_a_soft_base_is_not_thrown_by_the_whole_chain(run):
    one = drawn(run, np.random.default_rng(1))
    soft = replace(one, stiffness=(0.7,) * len(one.stiffness), mass=1.0, damping=(1.0,) * len(one.damping))
    without = passive(soft, 4.0)
    ours, before = moved(soft, 4.0), moved(soft, 4.0, base_bandwidth=0.0, check_gains=False)
    assert not ours.thrown(without) and ours.size.max() < without
    assert before.thrown(without) and before.size.max() > THROWN * ours.size.max()


def test_the_check_accepts_a_base_within_a_quarter_only_if_it_is_observed():
    model = case("planar_3r").model
    config = replace(FREE, vibration_damping=True)
    settings = BaseSelection(model), Sampling(0.001), None, Margin(effort=1.0)
    check_gains(model, START, replace(config, base_bandwidth=40.0), *settings)
    with pytest.raises(ConfigError, match=r"0.8 times as stiff.*base_bandwidth"):
        check_gains(model, START, config, *settings)
