"""Velocities and accelerations from encoders, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.base_wrench.motion_filter import LONGEST_GAP, MotionFilter

STEP = 2_000_000  # [ns]
DT = STEP * 1e-9


def run(filtered: MotionFilter, position, velocity, samples: int, step: int = STEP):
    """Velocities and accelerations (samples,) of one joint that moves as two functions of time say."""
    found = []
    for k in range(samples):
        t = k * step * 1e-9
        found.append(np.concatenate(filtered.update(k * step, np.array([position(t)]), np.array([velocity(t)]))))
    return np.array(found).T


@pytest.mark.parametrize("dt", [0.0005, 0.002, 0.01])
def test_an_even_acceleration_is_found_exactly_at_any_sample_time(dt):
    filtered = MotionFilter([False], 0.0, 100.0)
    _, acceleration = run(filtered, lambda t: t**2, lambda t: 2.0 * t, round(0.5 / dt), round(dt * 1e9))
    assert abs(acceleration[-1] - 2.0) < 1e-9
    filtered = MotionFilter([False], 400.0, 100.0)
    velocity, acceleration = run(filtered, lambda t: t**2, lambda t: 0.0, round(0.5 / dt), round(dt * 1e9))
    assert abs(acceleration[-1] - 2.0) < 1e-9
    lag = 0.5 * dt + dt * np.exp(-400.0 * dt) / (1.0 - np.exp(-400.0 * dt))  # of the difference and of the low-pass
    end = dt * (round(0.5 / dt) - 1)
    assert abs(velocity[-1] - 2.0 * (end - lag)) < 1e-9


def test_acceleration_of_a_swing_is_that_of_two_first_order_filters():
    w, band, step = 20.0, 100.0, 100_000
    filtered = MotionFilter([False], 0.0, band)
    _, acceleration = run(filtered, lambda t: 0.0, lambda t: np.sin(w * t), 20_000, step)
    times = np.arange(20_000) * step * 1e-9
    late = times > 1.0
    response = 1j * w / (1.0 + 1j * w / band) ** 2
    expected = np.imag(response * np.exp(1j * w * times))
    assert np.abs(acceleration - expected)[late].max() < 0.01 * abs(response)


def test_a_joint_that_creeps_below_one_count_a_sample_has_the_right_mean_velocity():
    count, speed = 2.0 * np.pi / 2**20, 1e-3  # a third of a count in each sample
    filtered = MotionFilter([False], 400.0, 0.0)
    found, _ = run(filtered, lambda t: count * np.round(speed * t / count), lambda t: 0.0, 5000)
    assert abs(np.mean(found[500:]) - speed) < 0.01 * speed


def test_a_joint_without_end_may_jump_by_a_turn_and_another_may_not():
    filtered = MotionFilter([True, False], 400.0, 100.0)
    for k in range(200):
        angle = 3.0 * k * DT
        wrapped = (angle + np.pi) % (2.0 * np.pi) - np.pi
        velocity, _ = filtered.update(k * STEP, np.array([wrapped, angle]), np.full(2, 3.0))
        assert np.allclose(velocity, 3.0, atol=1e-9)
    straight = MotionFilter([False], 400.0, 0.0)
    straight.update(0, np.array([3.14]), np.zeros(1))
    assert straight.update(STEP, np.array([-3.14]), np.zeros(1))[0] < -1000.0


@pytest.mark.parametrize("later", [-STEP, 0, round(1.01e9 * LONGEST_GAP)])
def test_after_a_gap_or_a_step_back_the_filter_begins_anew_with_the_measured_velocity(later):
    filtered = MotionFilter([False], 400.0, 100.0)
    run(filtered, lambda t: t**2, lambda t: 2.0 * t, 50)
    velocity, acceleration = filtered.update(49 * STEP + later, np.array([5.0]), np.array([0.25]))
    assert velocity == [0.25]
    assert acceleration == [0.0]


def test_what_was_handed_out_or_in_may_change_afterwards():
    filtered, position, given = MotionFilter([False], 0.0, 100.0), np.zeros(1), np.zeros(1)
    velocity, acceleration = filtered.update(0, position, given)
    velocity[0] = acceleration[0] = given[0] = position[0] = 1e3
    velocity, acceleration = filtered.update(STEP, np.zeros(1), np.zeros(1))
    assert velocity[0] == acceleration[0] == 0.0


def test_without_bandwidths_velocities_are_the_measured_ones_and_there_is_no_acceleration():
    filtered = MotionFilter([False], 0.0, 0.0)
    velocity, acceleration = run(filtered, lambda t: 7.0, lambda t: t, 10)
    assert np.array_equal(velocity, np.arange(10) * STEP * 1e-9)
    assert not acceleration.any()
