"""The linear prediction of the velocity law, against polynomials and against its own loop written out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from elastic_base_arms import elastic_base_model
from scipy.integrate import solve_ivp

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLaw, VelocityLawConfig
from flexarm_core.reaction_null_space.stability.velocity_law_poles import largest_stable_gain, velocity_law_poles
from flexarm_core.types import ArmState

M, D, K = 1.225, 0.05, 77.9218  # of TREP
START = np.array([0.5 * np.pi, 0.0])
POSTURE = np.array([0.3, 0.9, -0.9, 1.1])


@pytest.mark.parametrize(("gain", "momentum_gain"), [(24.0, 20.0), (24.0, 50.0), (24.0, 5.0), (3.0, 1.0)])
def test_fast_sampling_of_fast_drives_gives_the_continuous_loop(trep, gain, momentum_gain):
    """M s^2 + D s + K + M g_b s^2 / (s + g_m) = 0, whatever the posture."""
    cubic = np.polyadd(np.polymul([M, D, K], [1.0, momentum_gain]), [M * gain, 0.0, 0.0])
    roots = np.roots(cubic)
    expected = roots[(roots.imag > 0.0)][0]
    config = VelocityLawConfig(gain, momentum_gain)
    for posture in (START, np.array([0.7, 1.9])):
        _, waves = velocity_law_poles(trep, posture, config, drive_bandwidth=1e5, period=1e-5)
        slow = waves[waves[:, 0] < 1e3][0]
        assert slow[0] == pytest.approx(abs(expected), rel=1e-3)
        assert slow[1] == pytest.approx(-expected.real / abs(expected), rel=1e-2)


def test_without_feedback_the_base_swings_as_it_does(trep):
    magnitudes, waves = velocity_law_poles(trep, START, VelocityLawConfig(0.0, 20.0), period=0.004, delay=3)
    assert magnitudes[0] < 1.0
    assert waves[0] == pytest.approx([np.sqrt(K / M), 0.5 * D / np.sqrt(K * M)], rel=1e-9)


def growth(gain, selection, delay, w=80.0, period=0.01):
    """By how much the motion grows in 2 s: the law itself at every sample, the linear base by an independent method."""
    model = elastic_base_model(("x", "y", "rz"), 4)
    still = np.zeros(3)
    blocks = model.blocks(ArmState(0, POSTURE, np.zeros(4), still, still))

    def rate(_, y, v):
        x, xd, qd = y[:3], y[3:6], y[10:]
        qdd = w * (v - qd)
        return np.concatenate(
            (xd, -np.linalg.solve(blocks.H_b, model.D_b @ xd + model.K_b @ x + blocks.H_bm @ qdd), qd, qdd)
        )

    law = VelocityLaw(model, VelocityLawConfig(gain, 4.0, 6.0, selection=selection))
    law.hold(POSTURE)
    y, waiting, sizes = 1e-7 * np.array([1.0, -2.0, 1.5, *np.zeros(11)]), [np.zeros(4)] * delay, []
    for _ in range(400):
        waiting.append(law.update(ArmState(0, POSTURE + y[6:10], y[10:], y[:3], y[3:6])).velocity)
        y = solve_ivp(rate, (0.0, period), y, args=(waiting.pop(0),), rtol=1e-5, atol=1e-14).y[:, -1]
        sizes.append(np.linalg.norm(y[10:]))
    return max(sizes[300:]) / max(sizes[100:200])


@pytest.mark.parametrize("delay", [0, 3])
def test_the_largest_stable_gain_parts_growth_from_decay_in_the_loop_written_out(delay):
    model, config = elastic_base_model(("x", "y", "rz"), 4), VelocityLawConfig(1.0, 4.0, 6.0)
    limit = largest_stable_gain(model, POSTURE, config, drive_bandwidth=80.0, period=0.01, delay=delay)
    assert 10.0 < limit < 1000.0
    assert growth(1.15 * limit, ("all",), delay) > 1.0 > growth(0.85 * limit, ("all",), delay)


def test_soft_directions_that_are_not_selected_are_found_to_be_excited():
    """Spillover: with all three selected the gain is stable, with x alone the others swing up, as predicted."""
    model, gain = elastic_base_model(("x", "y", "rz"), 4), 10.0
    for selection, stable in ((("all",), True), (("base_x",), False)):
        config = VelocityLawConfig(gain, 4.0, 6.0, selection=selection)
        largest = velocity_law_poles(model, POSTURE, config, drive_bandwidth=80.0, period=0.01, delay=1)[0][0]
        assert (largest < 1.0) == stable
        assert (growth(gain, selection, 1) < 1.0) == stable


def test_the_feedback_that_is_analyzed_is_that_of_the_law():
    model, rng = elastic_base_model(("x", "y", "rz"), 4), np.random.default_rng(0)
    law = VelocityLaw(model, VelocityLawConfig(9.0, 3.0, 20.0))
    law.hold(POSTURE)
    x, q, still = 1e-6 * rng.normal(size=3), 1e-6 * rng.normal(size=4), np.zeros(3)
    on_base, on_joints = law.feedback(model.blocks(ArmState(0, POSTURE, np.zeros(4), still, still)))
    velocity = law.update(ArmState(0, POSTURE + q, np.zeros(4), x, still)).velocity
    assert np.allclose(velocity, on_base @ x + on_joints @ q, rtol=1e-4, atol=1e-9)


def test_delay_and_slow_sampling_lower_the_largest_gain(trep):
    config = VelocityLawConfig(momentum_gain=5.0)
    by_delay = [largest_stable_gain(trep, START, config, delay=delay) for delay in (0, 1, 2, 4, 8)]
    assert all(a > b for a, b in pairwise(by_delay))
    assert largest_stable_gain(trep, START, config, period=0.004) < by_delay[0]


def test_a_momentum_gain_that_is_unstable_by_itself_leaves_no_gain(trep):
    assert largest_stable_gain(trep, START, VelocityLawConfig(momentum_gain=500.0), period=0.01) == 0.0


@pytest.mark.parametrize("change", [{"period": 0.0}, {"drive_bandwidth": -1.0}, {"delay": -1}])
def test_what_has_no_meaning_is_refused(trep, change):
    for function in (velocity_law_poles, largest_stable_gain):
        with pytest.raises((ConfigError, InputError), match="must be positive|in \\[0, 1000\\]"):
            function(trep, START, VelocityLawConfig(), **change)
