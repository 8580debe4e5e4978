"""Acceleration bounds keep position and velocity limits for ever, whatever is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.limits import JointLimits, acceleration_bounds, hardest_braking, is_allowed


def limits(n: int = 1, **changes) -> JointLimits:
    """Plain limits for n joints."""
    values = {
        "lower": np.full(n, -1.0),
        "upper": np.full(n, 1.0),
        "velocity": np.full(n, 2.0),
        "acceleration": np.full(n, 10.0),
        "effort": np.full(n, 100.0),
        "effort_rate": np.full(n, np.inf),
    }
    return JointLimits(**{**values, **changes})


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.001, 0.004, 0.02]))
@settings(deadline=None, max_examples=30)
def test_a_joint_that_obeys_the_bounds_never_leaves_its_range(seed, dt):
    rng = np.random.default_rng(seed)
    bound = limits()
    position, velocity = np.zeros(1), np.zeros(1)
    for _ in range(int(4.0 / dt)):
        lowest, highest = acceleration_bounds(bound, position, velocity, dt)
        assert np.all(lowest <= highest)
        wanted = rng.choice([-50.0, 50.0]) if rng.random() < 0.9 else rng.normal() * 5.0
        acceleration = np.clip(wanted, lowest, highest)
        assert np.all(np.abs(acceleration) <= 10.0 + 1e-9)
        position = position + velocity * dt + 0.5 * acceleration * dt**2
        velocity = velocity + acceleration * dt
        assert np.all(np.abs(position) <= 1.0 + 1e-9)
        assert np.all(np.abs(velocity) <= 2.0 + 1e-9)


@pytest.mark.parametrize("deceleration", [1.0, 3.0, 10.0, 40.0])
def test_a_position_limit_is_approached_with_the_deceleration_that_a_joint_surely_reaches(deceleration):
    """As fast as is allowed, ``v^2 = 2 D d`` at ``d`` before the limit; the cheap test agrees."""
    bound, dt, position, velocity = limits(deceleration=np.array([deceleration])), 0.001, -np.ones(1), np.zeros(1)
    reached, least = min(deceleration, 10.0), np.inf
    for _ in range(3000):
        highest = acceleration_bounds(bound, position, velocity, dt)[1]
        if is_allowed(bound, position, velocity, np.full(1, 9.9), dt):
            assert highest[0] >= 9.9
        position = position + velocity * dt + 0.5 * highest * dt**2
        velocity = velocity + highest * dt
        assert velocity[0] ** 2 <= 2.0 * reached * (1.0 - position[0]) + 1e-6
        least = min(least, highest[0])
    assert position[0] == pytest.approx(1.0, abs=1e-3) and -1.1 * reached <= least <= -0.9 * reached


@given(st.floats(-1.2, 1.2), st.floats(-2.5, 2.5), st.floats(-12.0, 12.0), st.sampled_from([0.001, 0.02]))
def test_what_the_cheap_test_allows_lies_within_the_bounds(position, velocity, acceleration, dt):
    state = np.array([position]), np.array([velocity])
    if is_allowed(limits(), *state, np.array([acceleration]), dt):
        lowest, highest = acceleration_bounds(limits(), *state, dt)
        assert lowest[0] - 1e-6 <= acceleration <= highest[0] + 1e-6


def test_the_cheap_test_decides_ordinary_samples():
    assert is_allowed(limits(), np.zeros(1), np.ones(1), np.ones(1), 0.001)


def test_far_from_every_limit_only_the_acceleration_limit_binds():
    lowest, highest = acceleration_bounds(limits(), np.zeros(1), np.zeros(1), 0.001)
    assert (lowest[0], highest[0]) == (-10.0, 10.0)


def test_a_joint_without_position_limits_is_bounded_by_velocity_alone():
    free = limits(lower=np.array([-np.inf]), upper=np.array([np.inf]))
    lowest, highest = acceleration_bounds(free, np.array([1e3]), np.array([2.0]), 0.001)
    assert highest[0] == 0.0 and lowest[0] == -10.0


def test_a_joint_that_is_too_fast_is_braked_harder():
    some = limits(4)
    braking = hardest_braking(some, np.array([1.0, -1.8, -1.9, 5.0]))
    assert np.allclose(braking, [10.0, 10.0, 17.5, 25.0])
    lowest, highest = acceleration_bounds(some, np.zeros(4), np.full(4, 2.5), 0.001, braking)
    assert np.allclose(highest, -braking) and np.all(lowest <= highest)


def test_a_joint_outside_its_range_is_braked_and_brought_back():
    for deceleration in (10.0, 2.0):  # too late for a deceleration that it surely reaches: as hard as it may
        bound = limits(deceleration=np.array([deceleration]))
        for position in (1.2, 0.99):
            _, highest = acceleration_bounds(bound, np.array([position]), np.array([0.5]), 0.001)
            assert highest[0] == -10.0


@pytest.mark.parametrize("name", ["velocity", "acceleration", "effort", "effort_rate"])
def test_a_limit_of_zero_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name} limits must be > 0"):
        limits(**{name: np.zeros(1)})


def test_an_infinite_deceleration_and_crossed_positions_are_refused():
    with pytest.raises(ConfigError, match="must be finite"):
        limits(acceleration=np.array([np.inf]))
    with pytest.raises(ConfigError, match="lower position limits"):
        limits(lower=np.array([2.0]))
