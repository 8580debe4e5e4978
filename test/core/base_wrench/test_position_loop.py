"""Computed torque: error dynamics by the articulated-body algorithm, and the integral."""

from __future__ import annotations

import numpy as np
import pytest
import robots
import sensed_robots

from flexarm_core.base_wrench.position_loop import LONGEST_GAP, PositionLoop, PositionLoopConfig
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, JointReference
from flexarm_sim.mujoco.backend import MujocoBackend

STEP = 2_000_000  # [ns]


@pytest.fixture(scope="module")
def slider() -> ArmModel:
    return ArmModel(sensed_robots.slider_arm())


def still(model: ArmModel, stamp: int = 0) -> ArmState:
    return ArmState(stamp, np.zeros(model.n), np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))


def test_errors_obey_the_chosen_dynamics_on_a_frictionless_arm(slider):
    model, rng = slider, np.random.default_rng(1)
    loop = PositionLoop(model, PositionLoopConfig(900.0, 60.0))
    for k in range(100):
        state = ArmState(k, *rng.standard_normal((2, model.n)), *0.05 * rng.standard_normal((2, model.m)))
        reference = JointReference(k, *rng.standard_normal((3, model.n)))
        expected = (
            reference.acceleration
            + 900.0 * (reference.position - state.position)
            + 60.0 * (reference.velocity - state.velocity)
        )
        found = model.forward_dynamics(state, loop.update(state, reference))
        assert np.allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_what_the_springs_under_the_base_do_is_not_fed_back(trep_text):
    model, rng = ArmModel(trep_text), np.random.default_rng(1)
    loop, (q, v) = PositionLoop(model, PositionLoopConfig(900.0, 60.0)), rng.standard_normal((2, model.n))
    reference, efforts = rng.standard_normal((3, model.n)), []
    for x_b in (np.zeros(model.m), 0.05 * np.ones(model.m)):
        state = ArmState(0, q, v, x_b, np.zeros(model.m))
        efforts.append(loop.update(state, JointReference(0, *reference)))
    assert np.allclose(*efforts, rtol=0.0, atol=1e-12)  # the base slides: the arm's own dynamics do not depend on where


def tracking_error(period: int) -> float:
    """Largest error [rad] of a fast swing in MuJoCo, with efforts held over a period [ns]."""
    model = ArmModel(robots.find("arm_7r")[0])
    plant, loop = MujocoBackend(model.description), PositionLoop(model, PositionLoopConfig())
    start, size = np.array([0.2, 0.3, -0.2, -1.5, 0.3, 0.8, 0.1]), np.array([0.3, -0.2, 0.3, 0.3, -0.4, 0.2, 0.5])
    plant.reset(start)
    worst, w = 0.0, 8.0
    for k in range(round(0.3e9 / period)):
        t, truth = k * period * 1e-9, plant.state()
        wanted = (start + size * (1 - np.cos(w * t)), size * w * np.sin(w * t), size * w * w * np.cos(w * t))
        state = ArmState(k * period, truth.position, truth.velocity, np.zeros(0), np.zeros(0))
        plant.step(loop.update(state, JointReference(state.stamp, *wanted)), period * 1e-9)
        worst = max(worst, float(np.abs(truth.position - wanted[0]).max()))
    return worst


def test_an_arm_without_friction_follows_in_mujoco_but_for_what_the_sampling_costs():
    """Swings of up to 0.9 rad and 32 rad/s^2; held efforts lag by half a period, and so does the error they leave."""
    coarse, fine = tracking_error(1_000_000), tracking_error(500_000)
    assert coarse < 1e-3
    assert fine == pytest.approx(0.5 * coarse, rel=0.1)


def test_the_integral_grows_with_the_error_up_to_its_bound_and_pauses_over_gaps(slider):
    config = PositionLoopConfig(900.0, 60.0, integral_gain=500.0, max_integral=4.0)
    loop, error = PositionLoop(slider, config), np.array([0.5, -0.1, 0.0, 0.02])
    stamp = 0

    def asked() -> np.ndarray:
        state = still(slider, stamp)
        efforts = loop.update(state, JointReference(stamp, error))
        return slider.forward_dynamics(state, efforts) - 900.0 * error

    assert np.allclose(asked(), 0.0, atol=1e-9)  # a first sample has no past
    for k in range(1, 101):
        stamp += STEP
        assert np.allclose(asked(), np.clip(500.0 * error * k * 0.002, -4.0, 4.0), atol=1e-9)
    before = asked()
    stamp += round(1.01e9 * LONGEST_GAP)
    assert np.allclose(asked(), before, atol=1e-9)
    loop.reset()
    assert np.allclose(asked(), 0.0, atol=1e-9)


def test_the_integral_of_a_motor_at_its_limit_waits_in_that_direction_only(slider):
    loop = PositionLoop(slider, PositionLoopConfig(900.0, 60.0, integral_gain=500.0, max_integral=100.0))
    loop.update(still(slider), JointReference(0, np.zeros(4)))
    effort = np.array([150.0, -150.0, 150.0, 99.0])  # limits are 100
    assert loop.saturated(effort) is effort
    error = np.array([0.1, 0.1, -0.1, 0.1])
    state = still(slider, STEP)
    found = slider.forward_dynamics(state, loop.update(state, JointReference(STEP, error))) - 900.0 * error
    assert np.allclose(found, 500.0 * 0.002 * error * [0.0, 1.0, 1.0, 1.0], atol=1e-9)


def test_velocity_and_acceleration_count_as_zero_where_they_are_not_given(slider):
    loop, state = PositionLoop(slider, PositionLoopConfig()), still(slider)
    position = np.full(4, 0.1)
    full = loop.update(state, JointReference(0, position, np.zeros(4), np.zeros(4)))
    assert np.array_equal(loop.update(state, JointReference(0, position)), full)


def test_references_that_cannot_be_followed_are_refused_and_change_nothing(slider):
    loop = PositionLoop(slider, PositionLoopConfig(900.0, 60.0, integral_gain=500.0))
    good = JointReference(0, np.ones(4))
    loop.update(still(slider), good)
    for wrong, said in (
        (JointReference(0), "neither effort nor position"),
        (JointReference(0, np.zeros(3)), "position"),
        (JointReference(0, np.zeros(4), np.full(4, np.nan)), "velocity"),
        (JointReference(0, np.zeros(4), None, np.full(4, np.inf)), "acceleration"),
    ):
        with pytest.raises(InputError, match=said):
            loop.update(still(slider, STEP), wrong)
    twin = PositionLoop(slider, loop.config)
    twin.update(still(slider), good)
    later = still(slider, STEP)
    assert np.array_equal(loop.update(later, good), twin.update(later, good))


@pytest.mark.parametrize("name", ["position_gain", "velocity_gain", "integral_gain", "max_integral"])
def test_gains_without_meaning_are_refused_by_name(name):
    for value in (-1.0, np.nan, np.inf):
        with pytest.raises(ConfigError, match=name):
            PositionLoopConfig(**{name: value})


def test_an_integral_gain_beyond_the_stability_bound_is_refused():
    """s^3 + k_d s^2 + k_p s + k_i is stable for k_i < k_p k_d."""
    for share, stable in ((0.99, True), (1.01, False)):
        roots = np.roots([1.0, 60.0, 900.0, share * 54000.0])
        assert (roots.real.max() < 0.0) == stable
    PositionLoopConfig(900.0, 60.0, 0.99 * 54000.0)
    with pytest.raises(ConfigError, match="unstable"):
        PositionLoopConfig(900.0, 60.0, 1.01 * 54000.0)
