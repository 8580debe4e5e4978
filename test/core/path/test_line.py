"""The line: rest at both ends, exact derivatives, both ways, shaped and not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexarm_core.errors import ConfigError
from flexarm_core.path.input_shaping import make_shaper
from flexarm_core.path.line import LinePath, LinePathConfig, fifth_order


@given(st.floats(0.1, 10.0))
def test_time_law_begins_and_ends_at_rest(duration):
    for time, s in ((-1.0, 0.0), (0.0, 0.0), (duration, 1.0), (duration + 1.0, 1.0)):
        assert fifth_order(time, duration) == (s, 0.0, 0.0)


@given(st.floats(0.05, 0.95), st.floats(0.5, 5.0))
def test_rate_and_acceleration_are_the_derivatives(r, duration):
    h, time = 1e-5 * duration, r * duration
    below, here, above = (fifth_order(time + shift, duration) for shift in (-h, 0.0, h))
    assert np.isclose((above[0] - below[0]) / (2 * h), here[1], rtol=1e-6, atol=1e-8)
    assert np.isclose((above[1] - below[1]) / (2 * h), here[2], rtol=1e-6, atol=1e-6)


def _line(**changes) -> LinePath:
    path = LinePath(LinePathConfig(frame="world", displacement=(-0.3, 0.0, 0.1), duration=2.0, **changes))
    path.begin(5_000_000_000, np.array([1.0, 2.0, 3.0]), np.eye(3))
    return path


def test_line_goes_from_the_first_pose_by_the_displacement():
    path = _line(start=0.5)
    assert np.array_equal(path.update(5_400_000_000).position, [1.0, 2.0, 3.0])
    assert np.allclose(path.update(6_500_000_000).position, [0.85, 2.0, 3.05])
    assert np.allclose(path.update(9_000_000_000).position, [0.7, 2.0, 3.1])


def test_line_that_returns_is_smooth_at_its_turns():
    path = _line(returns=True)
    assert np.allclose(path.update(9_000_000_000).position, [1.0, 2.0, 3.0])
    before, after = path.update(6_999_000_000), path.update(7_001_000_000)
    assert np.allclose(before.position, after.position, atol=1e-6)
    assert np.allclose(before.velocity, -after.velocity, atol=1e-9)
    assert np.allclose(before.acceleration, after.acceleration, atol=1e-9)


@pytest.mark.parametrize("kind", ["zv", "zvd"])
def test_a_shaped_line_takes_the_same_time_and_leaves_what_it_carries_at_rest(kind):
    frequencies = (1.0, 2.5)
    plain, shaped = _line(start=0.5), _line(start=0.5, shaper=make_shaper(kind, frequencies))
    for time in (0.3, 0.5, 2.5, 4.0):
        for field in ("position", "velocity", "acceleration"):
            ours, theirs = (getattr(path.update(5_000_000_000 + round(time * 1e9)), field) for path in (shaped, plain))
            assert np.allclose(ours, theirs, atol=1e-12), (field, time)
    # what is left of an undamped oscillator that stands on the tool: the Fourier integral of the acceleration
    times = np.linspace(0.0, 3.0, 3001)
    for frequency in frequencies:
        left = []
        for path in (plain, shaped):
            along = [path.update(5_000_000_000 + round(time * 1e9)).acceleration[0] for time in times]
            left.append(abs(np.trapezoid(along * np.exp(2j * np.pi * frequency * times), times)))
        assert left[0] > 1e-3 and left[1] < 1e-4 * left[0]


def test_velocity_and_acceleration_of_a_shaped_line_are_the_derivatives_of_its_position():
    path, step = _line(shaper=make_shaper("zvd", [2.0, 3.0])), 100_000
    for time in np.linspace(0.11, 1.91, 19):
        stamp = 5_000_000_000 + round(time * 1e9)
        before, at, after = (path.update(stamp + shift) for shift in (-step, 0, step))
        assert np.allclose((after.position - before.position) / 2e-4, at.velocity[:3], atol=1e-6)
        assert np.allclose((after.velocity - before.velocity) / 2e-4, at.acceleration, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"duration": 0.0}, r"duration must lie in \[1e-09, inf\]"),
        ({"displacement": (1.0, float("nan"), 0.0)}, "displacement must be three finite"),
        ({"start": -1.0}, r"start must lie in \[0.0, inf\]"),
        ({"axes": (True,)}, "axes needs 6 values"),
        ({"duration": 0.5, "shaper": make_shaper("zv", [1.0])}, "the shaper alone takes 0.5 s"),
    ],
)
def test_settings_without_meaning_are_refused(change, said):
    with pytest.raises(ConfigError, match=said):
        LinePathConfig(**{"frame": "world", "displacement": (0.1, 0.0, 0.0), **change})
