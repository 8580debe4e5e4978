"""Input shapers against the exact response of the oscillator that they are made for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from flexarm_core.errors import ConfigError
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper, make_shaper
from flexarm_core.path.line import fifth_order


def remaining(shaper: InputShaper, frequency: float, zeta: float) -> float:
    """Amplitude that the train leaves in an oscillator, as a part of that of one impulse at the end of the train."""
    omega = 2.0 * math.pi * frequency
    swinging = omega * math.sqrt(1.0 - zeta**2)
    left = [(a, shaper.length - t) for a, t in zip(shaper.amplitudes, shaper.times, strict=True)]
    return abs(sum(a * np.exp((-zeta * omega + 1j * swinging) * t) for a, t in left))


@given(st.sampled_from(["zv", "zvd"]), st.floats(0.1, 50.0), st.floats(0.0, 0.9))
def test_the_mode_that_a_shaper_is_made_for_is_left_at_rest(kind, frequency, zeta):
    shaper = make_shaper(kind, [frequency], [zeta])
    assert math.isclose(sum(shaper.amplitudes), 1.0, rel_tol=1e-14)
    assert shaper.times[0] == 0.0 and min(shaper.amplitudes) > 0.0
    assert remaining(shaper, frequency, zeta) < 1e-13


def test_an_undamped_mode_takes_two_equal_impulses_half_a_period_apart():
    shaper = make_shaper("zv", [2.0])
    assert shaper.amplitudes == (0.5, 0.5) and shaper.times == (0.0, 0.25)
    assert make_shaper("zvd", [2.0]).amplitudes == (0.25, 0.5, 0.25)


def test_zvd_forgives_a_wrong_frequency_where_zv_does_not():
    # undamped, off by a part e: ZV leaves sin(pi e / 2), ZVD its square
    for error in (-0.1, 0.05, 0.2):
        left = math.sin(math.pi * abs(error) / 2.0)
        assert math.isclose(remaining(make_shaper("zv", [1.0]), 1.0 + error, 0.0), left, rel_tol=1e-9)
        assert math.isclose(remaining(make_shaper("zvd", [1.0]), 1.0 + error, 0.0), left**2, rel_tol=1e-9)


@pytest.mark.parametrize("zeta", [0.0, 0.05])
def test_a_shaped_motion_leaves_the_oscillator_that_it_carries_at_rest(zeta):
    frequency, duration = 0.8, 1.2
    omega = 2.0 * math.pi * frequency

    def left_after(shaper: InputShaper) -> float:
        span = duration - shaper.length

        def rate(time, state):  # deflection of a mass on a spring whose foot moves as the law says
            _, _, acceleration = shaper.shape(lambda t: fifth_order(t, span), time)
            return state[1], -acceleration - 2.0 * zeta * omega * state[1] - omega**2 * state[0]

        end = solve_ivp(rate, (0.0, duration), (0.0, 0.0), method="DOP853", rtol=1e-10, atol=1e-12, max_step=0.01)
        return float(np.hypot(end.y[0, -1], end.y[1, -1] / omega))

    plain = left_after(UNSHAPED)
    assert plain > 0.05
    assert left_after(make_shaper("zv", [frequency], [zeta])) < 1e-8 * plain + 1e-9


@pytest.mark.parametrize(
    ("kind", "frequencies", "zetas", "said"),
    [
        ("zvdd", [1.0], [0.0], "shaper 'zvdd' does not exist; valid: none, zv, zvd"),
        ("zv", [], [0.0], "needs the frequency of the mode > 0 Hz"),
        ("zv", [2.0, 0.0], [0.0], "needs the frequency of the mode > 0 Hz"),
        ("zv", [math.nan], [0.0], "needs the frequency"),
        ("zvd", [1.0], [1.0], r"must lie in \[0, 1\)"),
        ("zvd", [1.0, 2.0], [0.0, -0.1], r"must lie in \[0, 1\)"),
        ("zvd", [1.0, 2.0, 3.0], [0.0, 0.1], "needs 1 damping ratio or 3"),
        ("zv", [1.0], [], "needs 1 damping ratio or 1"),
    ],
)
def test_settings_without_meaning_are_refused(kind, frequencies, zetas, said):
    with pytest.raises(ConfigError, match=said):
        make_shaper(kind, frequencies, zetas)


@pytest.mark.parametrize("kind", ["zv", "zvd"])
def test_every_one_of_several_modes_is_left_at_rest(kind):
    modes = [(2.0, 0.01), (2.4, 0.0), (6.5, 0.2)]
    frequencies, zetas = zip(*modes, strict=True)
    shaper = make_shaper(kind, frequencies, zetas)
    assert len(shaper.times) == {"zv": 2, "zvd": 3}[kind] ** 3
    assert list(shaper.times) == sorted(shaper.times) and shaper.times[0] == 0.0
    assert math.isclose(sum(shaper.amplitudes), 1.0, rel_tol=1e-14)
    for frequency, zeta in modes:
        assert remaining(shaper, frequency, zeta) < 1e-13
        assert remaining(make_shaper(kind, [1.5 * frequency], [zeta]), frequency, zeta) > 0.1
    one_after_the_other = [make_shaper(kind, [frequency], [zeta]) for frequency, zeta in modes]
    assert math.isclose(shaper.length, sum(each.length for each in one_after_the_other), rel_tol=1e-12)


def test_one_damping_ratio_serves_all_modes():
    assert make_shaper("zvd", [1.0, 3.0], [0.02]) == make_shaper("zvd", [1.0, 3.0], [0.02, 0.02])


def test_a_shaper_of_its_own_length_leaves_no_time_for_the_motion():
    shaper = make_shaper("zv", [2.0, 5.0])
    assert shaper.unshaped_duration(1.0) == pytest.approx(1.0 - 0.25 - 0.1)
    with pytest.raises(ConfigError, match="duration 0.35 s leaves no time for the move: the shaper alone takes 0.35 s"):
        shaper.unshaped_duration(0.35)


def test_no_shaper_needs_no_frequency():
    assert make_shaper("none") is UNSHAPED
    assert UNSHAPED.shape(lambda t: (t, 2.0 * t, 3.0 * t), 0.5) == (0.5, 1.0, 1.5)
