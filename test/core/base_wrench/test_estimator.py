"""Estimates of single samples and of series: exactness, conventions, delays, gravity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import robots
import sensed_robots
from sensed_case import EXACT, STEP, Case
from sensed_robots import Reference, on_sensor

from flexarm_core.base_wrench.estimator import BaseWrenchEstimator
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import BaseWrenchSample


@pytest.fixture(scope="module")
def slider() -> Case:
    return Case("slider_arm")


@pytest.mark.parametrize("convention", ["robot_on_base", "base_on_robot"])
@pytest.mark.parametrize("name", ["slider_arm", "two_arms", "raft", "sensor_above_the_first_joint"])
def test_exact_readings_give_exact_torques_in_both_conventions(name, convention):
    case = Case(name)
    bias, friction = case.rng.standard_normal(6), case.rng.standard_normal(case.n)
    config = replace(EXACT, wrench_convention=convention, wrench_bias=tuple(bias))
    sign = 1.0 if convention == "robot_on_base" else -1.0
    estimator = case.estimator(config)
    for _ in range(100):
        estimator.reset()
        truth = case.reference.random(case.rng, still=True)
        effort = truth.effort[: case.n]
        estimate = estimator.update(case.sample(truth, 5, effort + friction, sign * truth.wrench + bias))
        known = case.sensed
        assert estimate.valid
        assert estimate.stamp == 5
        assert np.allclose((estimate.torque + estimate.gravity)[known], effort[known], atol=1e-9)
        assert np.allclose(estimate.friction[known], friction[known], atol=1e-9)
        assert np.allclose(estimate.wrench, truth.wrench, atol=1e-9)
        assert np.allclose(estimate.gravity_wrench, truth.gravity_wrench, atol=1e-9)
        assert np.allclose(estimate.residual_wrench, 0.0, atol=1e-9)
        assert np.allclose(estimate.bias, bias)
        for unknown in (estimate.torque, estimate.friction, estimate.gravity, estimate.model_torque):
            assert np.array_equal(np.isnan(unknown), ~known)


def test_a_base_that_swings_needs_its_acceleration_in_the_sample():
    case = Case("raft")
    truth = case.reference.random(case.rng, still=True)
    sample = case.sample(truth)
    with_it = case.estimator().update(sample)
    without = case.estimator().update(replace(sample, deflection_acceleration=np.zeros(2)))
    known = case.sensed
    assert np.abs(with_it.friction[known]).max() < 1e-9
    assert np.abs(without.friction[known]).max() > 1.0


def test_joint_accelerations_come_from_the_velocities():
    """Even acceleration of all joints at once: after the filter has settled the estimate is exact."""
    case = Case("slider_arm")
    estimator = case.estimator(replace(EXACT, joint_acceleration="derivative", acceleration_bandwidth=200.0))
    coarse = case.estimator()
    acceleration = np.array([1.0, -2.0, 1.5, 3.0])
    for k in range(150):
        t = k * STEP * 1e-9
        truth = case.reference.at(0.5 * acceleration * t * t, acceleration * t, acceleration)
        estimate, left_out = (part.update(case.sample(truth, k * STEP)) for part in (estimator, coarse))
    assert np.allclose(estimator.acceleration, acceleration, atol=1e-9)
    assert np.abs(estimate.friction).max() < 1e-8
    assert np.abs(left_out.friction).max() > 0.1
    assert abs(left_out.friction[0]) < 1e-9  # nothing is inboard of the first joint


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_a_delayed_wrench_is_compared_with_the_motion_and_the_effort_of_its_time(slider, delay):
    """Joints at constant speeds, so that nothing else than the delay could be wrong; efforts change all the time."""
    case, truths, frictions = slider, [], []
    told = case.estimator(replace(EXACT, wrench_delay=delay * STEP * 1e-9))
    speed = np.array([0.4, -1.5, 0.6, 2.0])
    for k in range(100):
        truths.append(case.reference.at(0.3 + speed * k * 0.002, speed, np.zeros(4)))
        frictions.append(np.array([5.0, 4.0, 3.0, 2.0]) * np.sin(0.1 * k))
        then = max(0, k - delay)
        sample = case.sample(truths[k], k * STEP, truths[k].effort + frictions[k], truths[then].wrench)
        estimate = told.update(sample)
        assert np.allclose(estimate.friction, frictions[then], atol=1e-9)
        assert np.allclose(estimate.torque + estimate.gravity, truths[then].effort, atol=1e-9)
    untold = case.estimator().update(sample)
    assert (np.abs(untold.friction - frictions[-1]).max() > 1e-3) == (delay > 0)


def test_stamps_that_are_off_by_nanoseconds_do_not_shift_a_delayed_wrench_by_a_sample(slider):
    estimator, truths, speed = slider.estimator(replace(EXACT, wrench_delay=0.003)), [], np.array([0.4, -1.5, 0.6, 2.0])
    for k in range(60):
        truths.append(slider.reference.at(0.3 + speed * k / 3000.0, speed, np.zeros(4)))
        sample = slider.sample(truths[k], k * 1_000_000 // 3 + k % 2, wrench=truths[max(0, k - 9)].wrench)
        estimate = estimator.update(sample)
        assert np.abs(estimate.friction).max() < 1e-9


def test_the_inertia_of_rotors_is_not_taken_for_friction():
    text = load_robot_description(robots.URDF / "arm_7r.urdf.xacro", {"armature": "true"})
    model, reference = ArmModel(text), Reference(text)
    assert model.armature.min() > 0.0
    config = replace(EXACT, joint_acceleration="derivative", acceleration_bandwidth=200.0)
    estimator = BaseWrenchEstimator(model, SensorDynamics(build_sensed_bodies(model.description)), config)
    acceleration = np.array([1.0, -1.0, 2.0, 1.5, -2.0, 1.0, 3.0])
    for k in range(150):
        t = k * STEP * 1e-9
        truth = reference.at(0.5 * acceleration * t * t, acceleration * t, acceleration)
        effort = truth.effort + model.armature * acceleration
        estimate = estimator.update(BaseWrenchSample(k * STEP, truth.position, truth.velocity, effort, truth.wrench))
    assert np.abs(estimate.friction).max() < 1e-7


def test_calibrated_gravity_takes_the_place_of_the_described_one():
    text = on_sensor(robots.find("arm_7r")[0], rpy="0.2 0 0")
    heavy = sensed_robots.with_masses(text, ("forearm", "wrist"), 1.4)
    model, reference = ArmModel(text), Reference(heavy)
    calibrated = build_sensed_bodies(model.description).with_gravity_parameters(
        build_sensed_bodies(reference.description).gravity_parameters()
    )
    estimator = BaseWrenchEstimator(model, SensorDynamics(calibrated), EXACT)
    still, position = np.zeros(7), np.array([0.3, 0.5, -0.4, -1.4, 0.6, 0.9, 0.2])
    truth, plain = reference.at(position, still, still), Reference(text).at(position, still, still)
    estimate = estimator.update(BaseWrenchSample(0, position, still, truth.effort, truth.wrench))
    assert np.allclose(estimate.gravity, truth.gravity, atol=1e-9)
    assert np.allclose(estimate.residual_wrench, 0.0, atol=1e-9)
    assert np.abs(estimator.gravity_change).max() > 1.0
    assert np.allclose(estimator.gravity_change, truth.gravity - plain.gravity, atol=1e-9)
    described = BaseWrenchEstimator(model, SensorDynamics(build_sensed_bodies(model.description)), EXACT)
    described.update(BaseWrenchSample(0, position, still, truth.effort, truth.wrench))
    assert not described.gravity_change.any()


def test_a_gravity_table_stands_in_for_the_model_and_is_refused_where_the_base_swings(slider):
    table = GravityTable.from_model(SensorDynamics(slider.bodies))
    estimator = slider.estimator(table=table)
    for k in range(20):
        truth = slider.reference.random(slider.rng, still=True)
        estimate = estimator.update(slider.sample(truth, k * STEP))
        assert np.allclose(estimate.gravity_wrench, truth.gravity_wrench, atol=1e-9)
        assert np.allclose(estimate.friction, 0.0, atol=1e-9)
    raft = Case("raft")
    with pytest.raises(ConfigError, match="swings on raft_joint, deck_joint"):
        raft.estimator(table=table)
