"""Gains of the controller of arms that bend: derived ones hold, refused ones name the largest that do; limits, rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flexible_loop import START, run_flexible
from random_flexible_arms import flexible_arm
from robots import URDF

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.gain_check import GainCheck, LoopConditions, law_gains, workspace_postures
from flexarm_core.flexible_dynamics.control.sampled_loop import Error, Estimate, richer_model, sampled_arm, sampled_loop
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.pipeline.flexible_stages import FlexibleControlStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, FlexibleSample, FlexibleState, JointReference

DAMPED, SERVO = FlexibleControllerConfig(), FlexibleControllerConfig(law="joint_pd")
BOOM = parse_robot_description(load_robot_description(URDF / "boom_7r.urdf.xacro"))
SEED = 2  # one link without weight: quick to simulate


def drawn(seed: int) -> FlexibleModel:
    arm = flexible_arm(seed)
    return FlexibleModel(parse_robot_description(arm.urdf()), gravity=arm.gravity)


def servos(velocity: float) -> FlexibleControllerConfig:
    return replace(SERVO, motion=VibrationDampingConfig(0.25 * velocity**2, velocity))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (0, 2, 3))])
def test_gains_are_derived_for_any_arm_and_pass_the_check_as_given_ones(seed):
    model = drawn(seed)
    for config in (SERVO, DAMPED):
        found = FlexibleController(model, config).config
        assert min(found.motion.position_gain) > 0.0 and min(found.motion.velocity_gain) > 0.0
        assert FlexibleController(model, found).config.motion == found.motion


@pytest.mark.parametrize("seed", [1, 3])
def test_refused_servos_name_the_largest_that_hold_and_more_is_refused(seed):
    model = drawn(seed)
    with pytest.raises(ConfigError, match="do not hold") as refused:
        FlexibleController(model, servos(200.0))
    named = float(str(refused.value).split("the largest that do are ")[1].split(" and ")[1].split(";")[0])
    FlexibleController(model, servos(named))
    with pytest.raises(ConfigError, match="do not hold"):
        FlexibleController(model, servos(1.3 * named))


def test_a_refused_effort_weight_names_the_smallest_that_holds():
    model = drawn(1)
    with pytest.raises(ConfigError, match="effort_weight") as refused:
        FlexibleController(model, replace(DAMPED, motion=VibrationDampingConfig(effort_weight=1e-6)))
    named = float(str(refused.value).split("the smallest that does is ")[1].split(";")[0])
    FlexibleController(model, replace(DAMPED, motion=VibrationDampingConfig(effort_weight=1.02 * named)))


def test_slower_samples_and_delay_make_derived_gains_smaller():
    model = drawn(1)
    gains = [
        np.array(FlexibleController(model, replace(SERVO, conditions=c)).config.motion.velocity_gain)
        for c in (LoopConditions(), LoopConditions(delay=0.004), LoopConditions(period=0.01))
    ]
    assert gains[1].min() < gains[0].min() and gains[2].min() < gains[0].min()


def test_derived_gains_hold_at_postures_that_were_not_looked_at():
    conditions, random = LoopConditions(period=0.002), np.random.default_rng(18)
    boom = FlexibleModel(BOOM)  # seven joints: some move at once with a twentieth of the inertia that servos count on
    motion = GainCheck(boom, conditions).settled("joint_pd", VibrationDampingConfig())
    seen = workspace_postures(boom)
    others = random.uniform(seen.min(axis=0), seen.max(axis=0), (60, 7))
    assert GainCheck(boom, conditions, None, others).fault("joint_pd", motion) == ""
    few = GainCheck(boom, conditions, None, seen[1:4]).settled("joint_pd", VibrationDampingConfig())
    assert GainCheck(boom, conditions, None, others).fault("joint_pd", few)


@pytest.fixture
def narrow() -> FlexibleModel:
    """The arm on the boom with joint limits near a posture where its servos may be quick."""
    middle = np.array([0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716])
    joints = dict(BOOM.joints)
    for name, position in zip(BOOM.actuated, middle, strict=True):
        joints[name] = replace(joints[name], lower=position - 0.1, upper=position + 0.1)
    return FlexibleModel(replace(BOOM, joints=joints))


@pytest.mark.parametrize("gains", [(225.0, 30.0), ((225.0,) * 7, (30.0,) * 6 + (29.0,))])
def test_gains_that_do_not_hold_where_the_arm_starts_are_refused(narrow, gains):
    config = replace(SERVO, motion=VibrationDampingConfig(*gains), conditions=LoopConditions(period=0.002))
    controller = FlexibleController(narrow, config)
    before = controller.config
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"do not hold .* at joint positions"):
            controller.prepare(np.zeros(7))
        assert controller.config == before
    FlexibleController(narrow, replace(config, check_gains=False)).prepare(np.zeros(7))


def test_in_a_pipeline_they_are_refused_with_the_first_sample_and_taken_when_changed(narrow):
    config = replace(SERVO, motion=VibrationDampingConfig(225.0, 30.0), conditions=LoopConditions(period=0.002))
    stage, still = FlexibleControlStage(FlexibleController(narrow, config)), np.zeros(7)
    for stamp in (0, 2_000_000):
        with pytest.raises(InputError, match="do not hold"):
            stage.update(asked_to_stay(stamp, still))
        stage.reset()
    with pytest.raises(ConfigError):  # does not hold anywhere
        stage.change(replace(config, motion=VibrationDampingConfig(1e6, 1e3)))
    with pytest.raises(InputError, match="do not hold"):
        stage.update(asked_to_stay(4_000_000, still))
    stage.change(replace(config, motion=VibrationDampingConfig(100.0, 10.0)))
    tick = asked_to_stay(6_000_000, still)
    stage.update(tick)
    assert np.isfinite(tick.given[stage.name].effort).all()


def asked_to_stay(stamp: int, position: np.ndarray) -> Tick:
    sample = FlexibleSample(stamp, position, 0.0 * position, 0.0 * position)
    return Tick(sample, 6, joints=JointReference(stamp, position, 0.0 * position, 0.0 * position))


def test_derived_gains_become_smaller_where_the_arm_starts(narrow):
    config = replace(SERVO, conditions=LoopConditions(period=0.002))
    controller = FlexibleController(narrow, config)
    before = controller.config.motion
    controller.prepare(np.zeros(7))
    after = controller.config.motion
    assert min(after.velocity_gain) < 0.9 * min(before.velocity_gain)
    assert GainCheck(narrow, config.conditions, None, np.zeros((1, 7))).fault("joint_pd", after) == ""
    assert GainCheck(narrow, config.conditions, None, np.zeros((1, 7))).fault("joint_pd", before)


def test_efforts_at_rest_are_as_large_as_the_sampled_loop_says():
    arm, noise = flexible_arm(SEED), 1e-3
    robot = parse_robot_description(arm.urdf())
    model, config = FlexibleModel(robot, gravity=arm.gravity), EstimatorConfig()
    motion = FlexibleController(model, DAMPED).config.motion
    x = np.zeros(model.size)
    x[model.actuated] = arm.position
    gains = law_gains(model, x, "vibration_damping", motion, 0.001)
    true = sampled_arm(richer_model(model), arm.position, 0.001, Error())
    loop = sampled_loop(model, true, gains, Estimate(model, x, config, 0.001), 0)
    run = run_flexible(robot, robot, arm.position, 0.0 * arm.displacement, 1.0, DAMPED, time=1.5)
    assert run.effort[300:].std(axis=0) == pytest.approx(noise * loop.rest_effort, rel=0.15)


def test_the_noisier_the_velocities_the_smaller_the_gains_and_loud_ones_are_refused():
    model = drawn(SEED)
    quiet, loud = LoopConditions(velocity_noise=1e-3), LoopConditions(velocity_noise=1e-2)
    for config in (SERVO, DAMPED):
        least, most = (FlexibleController(model, replace(config, conditions=c)).config.motion for c in (loud, quiet))
        assert max(least.velocity_gain) < max(most.velocity_gain)
        with pytest.raises(ConfigError, match="noise of 0.01 rad/s asks for .* % of an effort limit"):
            FlexibleController(model, replace(config, motion=most, conditions=loud))


@pytest.mark.parametrize("stiffness", [0.8, pytest.param(1.2, marks=pytest.mark.long)])
def test_links_that_are_not_as_stiff_as_told_swing_no_more_than_under_joint_servos(stiffness):
    arm = flexible_arm(SEED)
    told, true = (parse_robot_description(arm.urdf(factor)) for factor in (1.0, stiffness))
    damped, servo = (
        run_flexible(
            told, true, arm.position, arm.displacement, arm.duration, config,
            gravity=arm.gravity, time=START + arm.duration + 0.5,
        )
        for config in (DAMPED, SERVO)
    )  # fmt: skip
    assert damped.swing(START + arm.duration) <= servo.swing(START + arm.duration) < np.inf
    assert damped.effort_share(before=START - 0.01) <= 0.05
    assert damped.saturated == 0.0


def test_a_demand_beyond_the_limits_is_reduced_as_a_whole():
    model = drawn(1)
    limit = np.array([model.description.joints[name].effort_limit for name in model.description.actuated])
    none, still, modes = np.zeros(0), np.zeros(2), np.zeros(len(model.modal))
    for config in (SERVO, DAMPED):
        controller = FlexibleController(model, config)
        for tick, far in enumerate((0.0, 3.0, -30.0)):
            stamp = tick * 1_000_000
            state = FlexibleState(stamp, none, none, none, modes, modes, modes)
            wanted = JointReference(stamp, np.array([far, 0.1]), still, np.array([1e4 * far, 0.0]))
            effort = controller.update(ArmState(stamp, still, still, none, none), state, wanted).effort
            assert (np.abs(effort) <= limit * (1.0 + 1e-9)).all()
            assert (controller.limited < 1.0) == (far != 0.0)


def test_a_reduced_demand_has_the_direction_of_the_whole_one():
    """To clip one effort alone would move the other joints as nobody asked for."""
    model = drawn(1)
    none, still, modes = np.zeros(0), np.zeros(2), np.zeros(len(model.modal))
    efforts, limited = [], 0.0
    for share in (0.0, 1e-6, 1.0):
        controller = FlexibleController(model, SERVO)
        state = FlexibleState(0, none, none, none, modes, modes, modes)
        wanted = JointReference(0, still, still, share * np.array([1e5, -2e3]))
        efforts.append(controller.update(ArmState(0, still, still, none, none), state, wanted).effort)
        limited = controller.limited
    weight, small, large = efforts
    assert 0.0 < limited < 0.5
    assert large - weight == pytest.approx(limited * (small - weight) / 1e-6, rel=1e-3)


def test_conditions_without_a_meaning_are_refused():
    margins = ({"stiffness_margin": 1.0}, {"mass_margin": np.nan}, {"velocity_noise": -1.0})
    for bad in ({"period": np.nan}, {"delay": -1.0}, *margins):
        with pytest.raises(ConfigError):
            LoopConditions(**bad)


def test_gains_are_refused_for_what_they_do_to_the_arm_though_velocities_are_quiet():
    """Without noise nothing but the stability of the sampled loop, with every error of the model, refuses them."""
    quiet = replace(SERVO, conditions=replace(SERVO.conditions, velocity_noise=0.0))
    exact = replace(quiet, conditions=replace(quiet.conditions, stiffness_margin=0.0, mass_margin=0.0))
    model, largest = drawn(1), []
    for config in (quiet, exact):
        with pytest.raises(ConfigError, match="do not hold") as refused:
            FlexibleController(model, replace(config, motion=VibrationDampingConfig(1e6, 2e3)))
        largest.append(float(str(refused.value).split("the largest that do are ")[1].split(" and ")[1].split(";")[0]))
    assert 0.0 < largest[0] <= largest[1]
