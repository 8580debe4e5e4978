"""Pushes deliver their impulse exactly, on any grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from flexarm_core.errors import ConfigError
from flexarm_sim.pushes import Push

FORCE, TORQUE = (3.0, -2.0, 1.0), (0.1, 0.2, -0.3)
PEAK = np.array([*FORCE, *TORQUE])
IMPULSE = {"rectangle": 1.0, "half_sine": 2.0 / np.pi}


def total(push: Push, tick: int, end: int) -> Any:
    return sum(push.mean_wrench(begin, begin + tick) * tick * 1e-9 for begin in range(0, end, tick))


@pytest.mark.parametrize("shape", IMPULSE)
@given(start=st.integers(0, 50), duration=st.integers(1, 50), tick=st.sampled_from([250_000, 1_000_000]))
def test_impulse_on_the_grid_is_exact(shape: str, start: int, duration: int, tick: int) -> None:
    push = Push("link", start * 0.001, duration * 0.001, FORCE, TORQUE, shape)
    assert total(push, tick, 100_000_000) == pytest.approx(IMPULSE[shape] * duration * 0.001 * PEAK, rel=1e-12)


@pytest.mark.parametrize("shape", IMPULSE)
@given(start=st.floats(0.0, 0.05), duration=st.floats(1e-5, 0.04), tick=st.integers(100_000, 7_000_000))
def test_impulse_off_the_grid_is_exact_too(shape: str, start: float, duration: float, tick: int) -> None:
    push = Push("link", start, duration, FORCE, TORQUE, shape)
    expected = IMPULSE[shape] * duration * PEAK
    assert total(push, tick, 100_000_000) == pytest.approx(expected, rel=1e-4)  # times are whole nanoseconds
    assert total(push, tick, 100_000_000) == pytest.approx(expected, abs=2e-9 * np.abs(PEAK).max() + 1e-15)


@pytest.mark.parametrize("shape", IMPULSE)
def test_mean_over_an_interval_is_the_mean_of_the_instants(shape: str) -> None:
    push = Push("link", 0.01, 0.02, FORCE, TORQUE, shape)
    for begin, end in ((0.008, 0.015), (0.012, 0.02), (0.025, 0.04)):
        mean = quad(lambda time: push.wrench(time)[0], begin, end, points=[0.01, 0.03])[0] / (end - begin)
        assert push.mean_wrench(round(begin * 1e9), round(end * 1e9))[0] == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("shape", IMPULSE)
def test_a_push_is_exactly_zero_outside_its_time(shape: str) -> None:
    push = Push("link", 0.3, 0.1, FORCE, TORQUE, shape)
    assert not push.mean_wrench(0, 300_000_000).any()
    assert not push.mean_wrench(400_000_000, 500_000_000).any()
    assert not push.wrench(0.2999).any()
    assert not push.wrench(0.4).any()


def test_a_half_sine_peaks_in_the_middle() -> None:
    assert np.allclose(Push("link", 1.0, 0.2, FORCE, TORQUE, "half_sine").wrench(1.1), PEAK)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": float("nan")}, "start is nan"),
        ({"duration": 0.0}, "duration is 0.0"),
        ({"duration": float("inf")}, "duration is inf"),
        ({"force": (1.0, 2.0)}, "force is"),
        ({"torque": (1.0, 2.0, float("inf"))}, "torque is"),
        ({"shape": "triangle"}, "shape 'triangle' is unknown; shapes: rectangle, half_sine"),
    ],
)
def test_impossible_pushes_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"push on 'link': {message}"):
        Push(**{"link": "link", "start": 0.0, "duration": 1.0, **arguments})
