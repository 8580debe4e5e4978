"""Modes of a free response: those of systems that are known."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_core.response_modes import response_modes

PERIOD = 0.002  # [s]


def response(poles: list[complex], length: int, outputs: int = 9, noise: float = 1e-10) -> np.ndarray:
    """Outputs (N, p) of a system with these poles [1/s] and their conjugates, with rounding errors."""
    rng = np.random.default_rng(3)
    s = np.array([*poles, *np.conj(poles)])
    shapes = rng.normal(size=(len(s), outputs)) + 1j * rng.normal(size=(len(s), outputs))
    y = np.real(np.exp(np.outer(np.arange(length) * PERIOD, s)) @ shapes)
    return y + noise * np.abs(y).max() * rng.normal(size=y.shape)


@pytest.mark.parametrize("growth", [-0.8, -0.02, 0.3, 40.0])
def test_growth_and_frequency_of_the_least_stable_mode_are_found_among_others(growth):
    poles = [growth + 1j * 2.0 * np.pi * 61.0, -1.5 + 12.0j, -4.0 + 30.0j, -2.0 + 700.0j, -80.0 + 0.0j, -9.0 + 0.0j]
    worst = response_modes(response(poles, 900), PERIOD)[0]
    assert worst.growth == pytest.approx(growth, abs=2e-3) and worst.frequency == pytest.approx(61.0, abs=1e-3)


def test_a_motion_that_grows_without_oscillation_is_found():
    worst = response_modes(response([3.0 + 0.0j, -1.0 + 20.0j], 800), PERIOD)[0]
    assert worst.growth == pytest.approx(3.0, abs=1e-3) and worst.frequency == pytest.approx(0.0, abs=1e-3)


def test_two_modes_that_stride_alike_are_told_apart():
    """They differ by a whole number of turns in ten samples, which equidistant rows would not see."""
    low = 2.0 * np.pi * 5.0
    high = low + 2.0 * np.pi / (10.0 * PERIOD)
    modes = response_modes(response([-0.5 + 1j * low, -1.0 + 1j * high], 700), PERIOD)
    assert [mode.frequency for mode in modes[:2]] == pytest.approx([5.0, 55.0], abs=1e-3)


def test_noise_is_no_mode():
    """What is left of a response that has died away does not grow: here it is larger at its end."""
    died = response([-30.0 + 200.0j, -15.0 + 90.0j], 1500, noise=0.0)
    died += 1e-12 * np.random.default_rng(1).normal(size=died.shape) * np.exp(np.linspace(0.0, 3.0, 1500))[:, None]
    modes = response_modes(died, PERIOD)
    assert modes[0].growth == pytest.approx(-15.0, abs=0.1)


@pytest.mark.parametrize("rows", [np.zeros((5, 3)), np.full((50, 3), np.nan), np.zeros(50)])
def test_what_is_no_response_is_refused(rows):
    with pytest.raises(InputError, match="at least 12 rows"):
        response_modes(rows, PERIOD)


def test_nothing_that_moves_has_no_modes():
    assert response_modes(np.zeros((50, 3)), PERIOD) == ()
