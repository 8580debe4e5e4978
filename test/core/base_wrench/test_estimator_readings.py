"""Readings that fail, drift or hold a contact, and what the estimator makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
import robots
from sensed_case import EXACT, STEP, Case
from sensed_robots import SENSOR

from flexarm_core.base_wrench.bias_tracking import BiasTrackingConfig
from flexarm_core.base_wrench.contact_detection import ContactDetectionConfig, nearest_point
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import BaseWrenchSample
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.mujoco.backend import MujocoBackend

NO_CONTACT = ContactDetectionConfig(force=0.0, torque=0.0)


@pytest.fixture(scope="module")
def slider() -> Case:
    return Case("slider_arm")


def test_after_a_gap_a_delayed_wrench_meets_no_motion_from_before_it(slider):
    estimator = slider.estimator(replace(EXACT, wrench_delay=0.004))
    for k in range(10):
        estimator.update(slider.sample(slider.rest(), k * STEP))
    truth = slider.rest(2.0)
    estimate = estimator.update(slider.sample(truth, 1_000_000_000))
    assert np.abs(estimate.friction).max() < 1e-9


def test_after_a_reset_it_estimates_as_new(slider):
    config = replace(BaseWrenchEstimatorConfig(), bias=BiasTrackingConfig(time_constant=0.1, rest_time=0.0))
    used, push = slider.estimator(config), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(100):
        used.update(slider.sample(slider.rest(), k * STEP, wrench=slider.rest().wrench + push))
    assert used.bias.any()
    used.reset()
    new = slider.estimator(config)
    for k in range(5):
        truth = slider.rest(1.0 + 0.01 * k)
        ours, theirs = (part.update(slider.sample(truth, k * STEP)) for part in (used, new))
        for name in ("torque", "friction", "model_torque", "residual_wrench", "bias"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
        assert ours.contact == theirs.contact


@pytest.mark.parametrize(
    ("wrench", "said"),
    [(None, "missing"), (np.full(6, np.nan), "not finite"), (np.zeros(5), "not finite")],
)
def test_a_wrench_that_is_not_usable_leaves_the_rest_of_the_estimate(slider, wrench, said):
    estimator, truth = slider.estimator(), slider.rest()
    estimate = estimator.update(replace(slider.sample(truth), wrench=wrench))
    assert not estimate.valid
    assert estimate.left_out == (f"{SENSOR}: {said}",)
    for unknown in (estimate.torque, estimate.friction, estimate.wrench, estimate.residual_wrench):
        assert np.isnan(unknown).all()
    assert np.allclose(estimate.gravity, truth.gravity, atol=1e-9)
    assert np.allclose(estimate.gravity_wrench, truth.gravity_wrench, atol=1e-9)
    again = estimator.update(slider.sample(truth, STEP))
    assert again.valid
    assert np.allclose(again.friction, 0.0, atol=1e-9)


def test_without_efforts_torques_are_known_and_friction_is_not(slider):
    truth = slider.rest()
    estimate = slider.estimator().update(replace(slider.sample(truth), effort=None))
    assert estimate.valid
    assert np.isnan(estimate.friction).all()
    assert np.allclose(estimate.torque + estimate.gravity, truth.effort, atol=1e-9)


def test_a_sensor_that_repeats_itself_is_dead_only_where_the_efforts_change(slider):
    config, truth = replace(EXACT, frozen_samples=5), slider.rest()
    calm, busy, never = slider.estimator(config), slider.estimator(config), slider.estimator()
    valid = []
    for k in range(30):
        sample = slider.sample(truth, k * STEP)
        changing = replace(sample, effort=sample.effort + 0.1 * k)
        assert calm.update(sample).valid
        assert never.update(changing).valid
        valid.append(busy.update(changing).valid)
    assert valid == [k < 5 for k in range(30)]
    changed = replace(changing, stamp=30 * STEP, wrench=truth.wrench + 1e-6)
    assert busy.update(changed).valid  # a new reading: it lives


def test_samples_that_are_not_usable_are_refused_and_change_nothing(slider):
    estimator, twin = slider.estimator(), slider.estimator()
    good = slider.sample(slider.rest(), STEP)
    estimator.update(good), twin.update(good)
    later = replace(good, stamp=2 * STEP)
    for wrong, said in (
        (good, "no later than the last"),
        (replace(good, stamp=0), "no later than the last"),
        (replace(later, position=np.zeros(3)), "position"),
        (replace(later, velocity=np.full(4, np.inf)), "velocity"),
        (replace(later, effort=np.zeros(5)), "effort"),
        (replace(later, effort=np.full(4, np.nan)), "effort"),
        (replace(later, deflection=np.zeros(1)), "deflection"),
        (replace(later, deflection_rate=np.zeros(1)), "deflection_rate"),
        (replace(later, deflection_acceleration=np.zeros(1)), "deflection_acceleration"),
    ):
        with pytest.raises(InputError, match=said):
            estimator.update(wrong)
    moved = replace(later, position=good.position + 0.1)
    assert np.array_equal(estimator.update(moved).torque, twin.update(moved).torque)


@pytest.mark.parametrize("convention", ["robot_on_base", "base_on_robot"])
def test_a_drift_of_the_sensor_is_learned_at_rest_and_then_no_longer_seen(slider, convention):
    drift, given = np.array([0.6, -0.8, 0.5, 0.02, -0.1, 0.2]), np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    config = replace(
        EXACT,
        wrench_convention=convention,
        wrench_bias=tuple(given),
        bias=BiasTrackingConfig(time_constant=0.2, rest_time=0.5),
    )
    sign, truth, estimator = 1.0 if convention == "robot_on_base" else -1.0, slider.rest(), slider.estimator(config)
    for k in range(1000):
        estimate = estimator.update(slider.sample(truth, k * STEP, wrench=sign * truth.wrench + given + drift))
    assert np.allclose(estimate.bias, given + drift, rtol=1e-2)
    assert np.abs(estimate.residual_wrench).max() < 0.01
    assert np.abs(estimate.friction).max() < 0.01
    estimator.reset()
    assert np.array_equal(estimator.bias, given)


@pytest.mark.parametrize("why", ["moving", "base moving", "touching", "loaded", "interrupted", "gaps"])
def test_a_bias_is_not_learned_from(why):
    case = Case("raft")
    contact = ContactDetectionConfig(force=0.5) if why == "touching" else NO_CONTACT
    estimator = case.estimator(
        replace(EXACT, contact=contact, bias=BiasTrackingConfig(time_constant=0.2, rest_time=0.5))
    )
    added = np.array([0.0, 0.0, 3.0 if why == "loaded" else 1.0, 0.0, 0.0, 0.0])
    rest = case.rest()
    for k in range(500):
        stamp = k * STEP + (k // 100 * 200_000_000 if why == "gaps" else 0)
        sample = case.sample(rest, stamp, wrench=rest.wrench + added)
        if why == "moving":
            sample = replace(sample, velocity=np.array([0.0, 0.02, 0.0, 0.0]))
        if why == "base moving":
            sample = replace(sample, deflection_rate=np.array([0.02, 0.0]))
        if why == "interrupted" and k % 100 == 0:
            sample = replace(sample, wrench=None)
        estimate = estimator.update(sample)
    assert not estimate.bias.any()
    assert estimate.contact == (why == "touching")


def held_arm(link: str, wrench):
    """Arm held by its own friction while a wrench acts on a link: its model, and its plant's truth."""
    text = load_robot_description(robots.URDF / "arm_7r.urdf.xacro")
    model = ArmModel(text)
    plant = MujocoBackend(model.description, friction=JointFriction(coulomb=(500.0,)))
    position = np.array([0.3, 0.5, -0.4, -1.4, 0.6, 0.9, 0.2])
    plant.reset(position)
    plant.set_external_wrench(link, wrench)
    plant.step(np.zeros(7), 0.002)
    return text, model, plant.state()


def test_a_push_on_a_link_is_a_contact_and_its_line_of_action_passes_through_the_link():
    force = np.array([12.0, -20.0, 9.0])
    text, model, truth = held_arm("forearm", [*force, 0.0, 0.0, 0.0])
    estimator = BaseWrenchEstimator(model, SensorDynamics(build_sensed_bodies(model.description)), EXACT)
    for k in range(100):
        still = np.zeros(7)
        sample = BaseWrenchSample(k * STEP, truth.position, still, truth.effort, truth.wrenches[SENSOR])
        estimate = estimator.update(sample)
    assert estimate.contact
    assert estimator.touching
    assert np.allclose(estimate.residual_wrench[:3], force, atol=1e-6)
    theirs = pinocchio.buildModelFromXML(text)
    data = theirs.createData()
    pinocchio.framesForwardKinematics(theirs, data, truth.position)
    base, link = (data.oMf[theirs.getFrameId(name)] for name in ("base_link", "forearm"))
    origin = base.actInv(link).translation
    near = nearest_point(estimate.residual_wrench)
    assert np.allclose(np.cross(origin - near, force), 0.0, atol=1e-5)
    assert np.linalg.norm(np.cross(near, force)) > 1.0  # far from the sensor: the test could fail
    # joints that carry the push know their friction; those outboard of it take it for an inboard link's
    assert np.allclose(estimate.friction[:4], truth.friction[:4], atol=1e-6)
    assert np.abs(estimate.friction - truth.friction)[5:].min() > 1.0
    free = held_arm("forearm", np.zeros(6))[2]
    for k in range(100, 300):
        sample = BaseWrenchSample(k * STEP, free.position, still, free.effort, free.wrenches[SENSOR])
        estimate = estimator.update(sample)
    assert not estimate.contact


@pytest.mark.parametrize(
    "wrong",
    [
        {"wrench_convention": "both"},
        {"joint_acceleration": "guess"},
        {"wrench_bias": (0.0,) * 5},
        {"wrench_bias": (np.nan,) * 6},
        {"wrench_delay": -0.001},
        {"frozen_samples": -1},
        {"velocity_bandwidth": np.inf},
        {"acceleration_bandwidth": -1.0},
        {"acceleration_bandwidth": 0.0},
    ],
)
def test_settings_without_meaning_are_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        BaseWrenchEstimatorConfig(**wrong)
