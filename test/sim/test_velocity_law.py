"""The velocity law on a simulated arm with velocity drives: the paper's figures 10 to 12, prediction, limits."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_base_arms import WEIGHTLESS, elastic_base_arm
from trep_experiments import (
    OURS_PATH,
    PAPER_PATH,
    START,
    figure_10,
    figure_11,
    figure_12,
    link_2_alone,
    trep_model,
    trep_plant,
)
from velocity_driven import decay_rate, run_velocity_law

from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLaw, VelocityLawConfig
from flexarm_core.reaction_null_space.stability.velocity_law_poles import largest_stable_gain, velocity_law_poles
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.drives import DriveConfig
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

PASSIVE = 0.05 / (2.0 * 1.225)  # [1/s] decay of TREP's beams by themselves


def slow_waves(model, q, config, **options):
    """Predicted (frequency, damping ratio) of the base, drives' modes left out."""
    waves = velocity_law_poles(model, q, config, **options)[1]
    return waves[waves[:, 0] < 60.0]


@pytest.mark.parametrize(("momentum_gain", "least"), [(20.0, 25.0), (5.0, 80.0)])
def test_figure_10_a_held_arm_damps_the_base_as_predicted(momentum_gain, least):
    config = VelocityLawConfig(24.0, momentum_gain, 20.0, feed_forward=False)
    run = figure_10(config)
    rate, frequency = decay_rate(run.time[160:], run.deflection[160:, 0], 1e-5)
    predicted = slow_waves(trep_model(), START, config)[0]
    assert rate / np.hypot(rate, frequency) == pytest.approx(predicted[1], rel=0.05)
    passive = np.sqrt(77.9218 / 1.225)
    assert rate / np.hypot(rate, frequency) > least * PASSIVE / passive


def test_figure_10_without_feedback_the_base_swings_as_by_itself():
    run = figure_10(VelocityLawConfig(0.0, 20.0, 20.0))
    rate, frequency = decay_rate(run.time[160:], run.deflection[160:, 0])
    assert rate == pytest.approx(PASSIVE, rel=0.01)
    assert frequency == pytest.approx(np.sqrt(77.9218 / 1.225), rel=1e-3)
    assert np.abs(run.position - START).max() < 0.01, "a held arm stays"


@pytest.mark.parametrize(("duration", "ours"), [(1.0, 1e-7), pytest.param(3.0, 1e-7, marks=pytest.mark.long)])
def test_figure_11_along_the_path_the_base_rests_whatever_the_speed(duration, ours):
    alone = np.abs(link_2_alone(duration)).max()
    paper = np.abs(figure_11(PAPER_PATH, duration).deflection).max()
    run = figure_11(OURS_PATH, duration)
    assert alone / paper > 300.0, "by the literal law, which lags 20 ms behind"
    assert np.abs(run.deflection).max() < ours
    assert np.abs(run.position - run.reference).max() < 1e-4
    assert np.allclose(run.position[-1], START + [0.0, np.pi * np.sign(run.position[-1, 1])], atol=1e-4)


@pytest.mark.long
def test_figure_12_a_hit_on_the_way_is_damped_and_the_arm_returns_to_its_path():
    run, motion = figure_12(OURS_PATH)
    after = run.time > 2.06
    rate, _ = decay_rate(run.time[after], run.deflection[after, 0], 5e-5)
    assert np.abs(run.deflection[run.time < 2.0]).max() < 1e-7, "undisturbed before the hit"
    assert rate > 8.0 * PASSIVE
    assert np.linalg.norm(run.position[2300] - run.reference[2300]) > 0.1, "damping takes the arm off its path"
    assert motion.path.nearest(run.position[-1])[1] < 0.01
    assert np.linalg.norm(run.position[-1] - run.reference[-1]) < 0.05, "and catches up with its reference"
    assert np.abs(run.position[-1, 1] - START[1]) > 2.0 * np.pi, "it went round"


@pytest.mark.long
def test_figure_12_without_feedback_the_motion_does_not_touch_the_vibration():
    run, motion = figure_12(VelocityLawConfig(0.0, 50.0, 50.0, drive_lag=OURS_PATH.drive_lag), duration=5.0)
    after = run.time > 2.06
    rate, frequency = decay_rate(run.time[after], run.deflection[after, 0])
    assert rate == pytest.approx(PASSIVE, rel=0.02)
    assert frequency == pytest.approx(np.sqrt(77.9218 / 1.225), rel=1e-3)
    assert motion.path.nearest(run.position[-1])[1] < 1e-4


def test_three_directions_of_a_base_are_damped_at_once():
    """A planar 4R on x, y and yaw; the slowest decay is that of the least damped predicted mode."""
    text, q = elastic_base_arm(("x", "y", "rz"), 4), np.array([0.3, 0.9, -0.9, 1.1])
    model, robot = ArmModel(text, gravity=WEIGHTLESS), parse_robot_description(text)
    energies = {}
    for gain in (0.0, 12.0):
        law = VelocityLaw(model, VelocityLawConfig(gain, 2.0, 2.0))
        law.hold(q)
        config = PlantConfig(
            initial_position=tuple(q), initial_deflection=(1e-4, -1e-4, 2e-4), drive=DriveConfig("velocity")
        )
        run = run_velocity_law(Plant(robot, MujocoBackend(robot, gravity=WEIGHTLESS), config), law, 3.0)
        energies[gain] = np.einsum("ti,ij,tj->t", run.deflection, model.K_b, run.deflection)
        assert law.coupling is not None and law.coupling.damping == 0.0
    slowest = slow_waves(model, q, VelocityLawConfig(12.0, 2.0))
    decay = (slowest[:, 0] * slowest[:, 1]).min()
    late, start = energies[12.0][2000:].max(), energies[12.0][0]
    assert late < 10.0 * start * np.exp(-2.0 * decay * 2.0)
    assert late < 1e-3 * energies[0.0][2000:].max()


@pytest.mark.parametrize(("share", "grows"), [(0.8, False), (1.2, True)])
def test_the_largest_stable_gain_is_that_of_the_simulated_arm(share, grows):
    """Sampled every 4 ms, measured 4 ms late, drives of 200 rad/s: beyond the predicted gain the base is shaken."""
    model = trep_model()
    limit = largest_stable_gain(model, START, VelocityLawConfig(1.0, 5.0, 5.0), period=0.004, delay=1)
    assert 100.0 < limit < 300.0
    law = VelocityLaw(model, VelocityLawConfig(share * limit, 5.0, 5.0))
    law.hold(START)
    late = SensorConfig(delay=0.004)
    suite = SensorSuiteConfig(joint_position=late, joint_velocity=late, joint_effort=late, deflection=late,
                              deflection_rate=late)  # fmt: skip
    plant = trep_plant(period_ns=4_000_000, initial_deflection=(1e-6,), sensors=suite)
    run = run_velocity_law(plant, law, 0.4)
    shaken = np.abs(run.velocity).max(axis=1)
    # the fast mode at the limit of stability has a period of about 40 ms
    assert (shaken[70:].max() > 2.0 * shaken[20:50].max()) == grows
