"""The fifth-order line: rest at both ends, exact derivatives, both ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexarm_core.errors import ConfigError
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"duration": 0.0}, "duration must be > 0"),
        ({"displacement": (1.0, float("nan"), 0.0)}, "displacement must be three finite"),
        ({"start": -1.0}, "start must be >= 0"),
        ({"axes": (True,)}, "axes must be six"),
    ],
)
def test_settings_without_meaning_are_refused(change, said):
    with pytest.raises(ConfigError, match=said):
        LinePathConfig(**{"frame": "world", "displacement": (0.1, 0.0, 0.0), **change})
