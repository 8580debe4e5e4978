"""Shapers of a given length: modes in ranges of frequencies come to rest, within the limits of the motion."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.path.input_shaping import UNSHAPED, InputShaper, make_shaper
from flexarm_core.path.robust_shaper import robust_shaper


def residual(shaper: InputShaper, w: float, zeta: float = 0.0) -> float:
    """Vibration that the impulses leave, as a share of that of one impulse."""
    t = np.array(shaper.times)
    phases = np.exp((zeta * w + 1j * w * np.sqrt(1.0 - zeta**2)) * (t - t[-1]))
    return float(abs(np.array(shaper.amplitudes) @ phases))


def test_modes_rest_over_their_ranges_where_the_length_is_enough():
    lower, upper = np.array([12.0, 15.0, 40.0]), np.array([13.0, 15.5, 42.0])
    for length, most in ((0.6, 0.08), (1.2, 0.005)):
        shaper = robust_shaper(lower, upper, np.zeros(3), length)
        assert sum(shaper.amplitudes) == pytest.approx(1.0) and min(shaper.amplitudes) > 0.0
        assert shaper.times[0] == 0.0 and shaper.length <= length + 1e-12
        worst = max(residual(shaper, w) for a, b in zip(lower, upper, strict=True) for w in np.linspace(a, b, 20))
        assert worst < most


def test_it_is_zero_vibration_for_one_known_mode_and_as_good_as_possible_with_less_length():
    w = 2.0 * np.pi * 2.0
    damped = robust_shaper(np.array([w]), np.array([w]), np.array([0.05]), 0.26)
    assert residual(damped, w, 0.05) < 1e-3
    zv = make_shaper("zv", [2.0])
    found = robust_shaper(np.array([w]), np.array([w]), np.zeros(1), zv.length)
    assert np.allclose(found.amplitudes, zv.amplitudes, atol=1e-3) and np.allclose(found.times, zv.times, atol=1e-6)
    left = [residual(robust_shaper(np.array([w]), np.array([w]), np.zeros(1), t), w) for t in (0.05, 0.1, 0.2)]
    assert left == sorted(left, reverse=True) and left[0] == pytest.approx(np.cos(w * 0.05 / 2.0), rel=0.01)


def test_without_length_nothing_is_shaped():
    assert robust_shaper(np.array([10.0]), np.array([10.0]), np.zeros(1), 0.0) == UNSHAPED
