"""VelocityDelay: late velocities are found by how much they are late, and those that are not late never."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.velocities.velocity_delay import VelocityDelay
from flexarm_core.types import ArmState

WAVES = 6


def limits(n: int) -> JointLimits:
    every = np.ones(n)
    return JointLimits(-3.0 * every, 3.0 * every, 2.0 * every, 20.0 * every, 50.0 * every, 1e4 * every)


def motion(rng: np.random.Generator, n: int):
    """Positions and velocities (n,) over time [s]: a sum of waves up to 12 Hz, as of a bending arm."""
    w, phase = 2.0 * np.pi * rng.uniform(0.2, 12.0, (WAVES, n)), rng.uniform(0.0, 6.0, (WAVES, n))
    size = rng.uniform(0.1, 1.0, (WAVES, n)) / np.sqrt(WAVES)  # [rad/s]
    return (
        lambda t: (size / w * np.sin(w * t + phase)).sum(axis=0),
        lambda t: (size * np.cos(w * t + phase)).sum(axis=0),
    )


def watched(seed: int, late: float, rate: float = 1000.0, noise: float = 0.003, step: float = 2e-5):
    """Estimator after 2 s of a random motion, and the largest delay that it told; encoder steps [rad]."""
    rng, n = np.random.default_rng(seed), 3
    position, velocity = motion(rng, n)
    found, most = VelocityDelay(limits(n)), 0.0
    for k in range(round(2.0 * rate)):
        t = k / rate
        p, v = np.round(position(t) / step) * step, velocity(t - late) + noise * rng.standard_normal(n)
        state = ArmState(round(t * 1e9), p, v, np.zeros(0), np.zeros(0))
        mended = found.mended(state)
        found.on_state(state)
        most = max(most, found.measured)
    return found, most, mended, velocity(t)


@pytest.mark.parametrize("rate", (250.0, 500.0, 1000.0, 4000.0))
@pytest.mark.parametrize("late", (0.002, 0.004, 0.008))
def test_a_delay_is_found_and_better_velocities_stand_for_late_ones(late, rate):
    for seed in range(5):
        found, most, mended, truth = watched(seed, late, rate)
        assert 0.6 * late < found.measured and most < 1.3 * late
        assert found.delay <= max(0.0011, 0.5 / rate + 1e-9) or found.delay == found.measured
        assert np.abs(mended.velocity - truth).max() < 0.15


@pytest.mark.parametrize("rate", (100.0, 250.0, 1000.0, 4000.0))
def test_velocities_in_time_are_left_as_they_are_whatever_the_noise(rate):
    for seed in range(15):
        noise, step = 0.02 * np.random.default_rng(seed).random(2) ** 2 * (1.0, 0.1)
        assert watched(100 + seed, 0.0, rate, noise, step + 1e-6)[1] == 0.0, seed


def test_a_delay_is_told_if_it_is_not_small_beside_the_time_between_states():
    """A position drive at 250 Hz that settles in each period seems to be late by 0.6 ms; differences are by 2 ms."""
    for late, told in ((0.0008, False), (0.002, True), (0.004, True)):
        found = watched(3, late, 250.0, noise=1e-4, step=1e-6)[0]
        assert found.measured == pytest.approx(late, rel=0.2) and found.matters == told
    assert watched(3, 0.0008, 1000.0, noise=1e-4, step=1e-6)[0].matters
    found.reset()
    assert not found.matters


@pytest.mark.parametrize("seed", range(10))
def test_a_drive_that_moves_in_another_way_between_samples_is_not_late(seed):
    """A simulated position drive at 250 Hz whose share of the way within a period changes, as one with weak motors."""
    rng, step = np.random.default_rng(seed), 0.004
    change, begin, told = rng.uniform(0.02, 0.03), rng.uniform(0.4, 0.7), 0
    found, p, before = VelocityDelay(limits(1)), np.zeros(1), np.zeros(1)
    for k in range(400):
        t = k * step
        v = 0.3 * np.sin(np.pi * np.clip(t - 0.2, 0.0, 1.0)) ** 2 * np.ones(1)
        share = 0.064 - change * np.clip((t - begin) / 0.2, 0.0, 1.0)
        p, before = p + 0.5 * (before + v) * step * (1.0 + share) + 6e-4 * (v - before), v
        found.on_state(ArmState(k * 4_000_000, p, v, np.zeros(0), np.zeros(0)))
        told += found.matters
    assert told == 0


def test_motions_below_every_encoder_say_nothing():
    """A joint that rests in a simulation moves by its rounding errors, which are those of the other joints' motion."""
    rng, found = np.random.default_rng(0), VelocityDelay(limits(1))
    position, velocity = motion(rng, 1)
    for k in range(500):
        t = 0.004 * k
        p, v = 1e-9 * position(t), 1e-9 * velocity(t - 0.006)
        found.on_state(ArmState(k * 4_000_000, p, v, np.zeros(0), np.zeros(0)))
        assert found.measured == 0.0


def test_differences_of_positions_over_a_sample_are_late_by_half_of_it():
    found, step = VelocityDelay(limits(1)), 0.004
    position, _ = motion(np.random.default_rng(1), 1)
    for k in range(1, 500):
        p, before = position(k * step), position((k - 1) * step)
        found.on_state(ArmState(k * 4_000_000, p, (p - before) / step, np.zeros(0), np.zeros(0)))
    assert found.measured == pytest.approx(0.5 * step, rel=0.05)


@pytest.mark.parametrize("scale", (0.0, 0.5, 1.5))
@pytest.mark.parametrize("seed", range(10))
def test_a_wrong_scale_is_no_delay_and_neither_is_a_position_that_stands_still(scale, seed):
    """Constant accelerations, where the change of velocity and its integral grow together."""
    rng = np.random.default_rng(seed)
    stands, time, p, v, a, most = seed % 2, 0.0, *np.zeros((3, 2)), 0.0
    found = VelocityDelay(limits(2))
    for k in range(1500):
        a = rng.uniform(-10.0, 10.0, 2) if k % 150 == 0 else a
        p, v, time = p + 1e-3 * v + 5e-7 * a, v + 1e-3 * a, time + 1e-3
        shown = 0.0 * p if stands else p
        velocity = v if stands else scale * v
        found.on_state(ArmState(round(time * 1e9), shown, velocity + 1e-3 * rng.standard_normal(2), *np.zeros((2, 0))))
        most = max(most, found.measured)
    assert most == 0.0


def test_a_silence_and_a_clock_set_back_are_no_motion():
    found, rng = VelocityDelay(limits(2)), np.random.default_rng(2)
    for k in range(200):
        stamp = k * 1_000_000 + 500_000_000 * (k // 50)
        found.on_state(ArmState(stamp, rng.uniform(-1.0, 1.0, 2) * (k // 50), np.zeros(2), np.zeros(0), np.zeros(0)))
    found.reset()
    state = ArmState(5, np.ones(2), np.ones(2), np.zeros(0), np.zeros(0))
    assert found.mended(state) is state
