"""The move of the joints: rest at both ends, exact derivatives, the same duration with and without a shaper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexarm_core.errors import ConfigError
from flexarm_core.path.input_shaping import make_shaper
from flexarm_core.path.joint_move import JointMove, JointMoveConfig

BEGIN = 5_000_000_000  # [ns]
FIRST, BY = np.array([0.3, -0.7]), np.array([0.8, -0.4])
SHAPED = [make_shaper(kind, [1.5, 4.0], [0.02]) for kind in ("none", "zv", "zvd")]


def move(**changes) -> JointMove:
    made = JointMove(JointMoveConfig(**{"displacement": tuple(BY), "duration": 2.0, **changes}))
    made.begin(BEGIN, FIRST)
    return made


def at(path: JointMove, time: float):
    return path.update(BEGIN + round(time * 1e9))


@pytest.mark.parametrize("shaper", SHAPED)
def test_a_move_begins_and_ends_at_rest_at_the_same_times_whatever_the_shaper(shaper):
    path = move(start=0.5, shaper=shaper)
    for time, expected in ((0.0, FIRST), (0.5, FIRST), (2.5, FIRST + BY), (9.0, FIRST + BY)):
        reference = at(path, time)
        assert np.allclose(reference.position, expected, atol=1e-12)
        assert np.allclose(reference.velocity, 0.0, atol=1e-12)
        assert np.allclose(reference.acceleration, 0.0, atol=1e-9)
    assert np.linalg.norm(at(path, 2.5 - 2e-2).position - FIRST - BY) > 1e-8  # it does not end sooner


@given(st.floats(0.01, 3.9), st.sampled_from(SHAPED))
def test_velocity_and_acceleration_are_the_derivatives(time, shaper):
    path, step = move(returns=True, shaper=shaper), 1e-5
    below, here, above = (at(path, time + shift) for shift in (-step, 0.0, step))
    assert np.allclose((above.position - below.position) / (2 * step), here.velocity, atol=1e-6)
    assert np.allclose((above.velocity - below.velocity) / (2 * step), here.acceleration, atol=2e-3)


def test_the_joints_move_together_along_the_straight_line_in_joint_space():
    path = move(shaper=SHAPED[1])
    for time in np.linspace(0.0, 2.0, 9):
        done = (at(path, time).position - FIRST) / BY
        assert np.isclose(done[0], done[1]) and -1e-12 <= done[0] <= 1.0 + 1e-12
    assert np.allclose(at(move(), 1.0).position, FIRST + BY / 2.0)


@pytest.mark.parametrize("shaper", SHAPED)
def test_a_move_that_returns_is_smooth_at_its_turns_and_comes_home(shaper):
    path = move(returns=True, shaper=shaper)
    assert np.allclose(at(path, 4.0).position, FIRST)
    before, after = at(path, 2.0 - 1e-4), at(path, 2.0 + 1e-4)
    assert np.allclose(before.position, after.position, atol=1e-9)
    assert np.allclose(before.velocity, after.velocity, atol=1e-5)
    back = at(path, 2.7)  # on the way back the course over time is the same
    assert np.allclose(back.position - FIRST, BY - (at(path, 0.7).position - FIRST))


@given(st.floats(0.001, 1.999), st.sampled_from([0.05, 0.4, 0.99]), st.sampled_from(SHAPED))
def test_at_constant_speed_velocity_and_acceleration_are_the_derivatives(time, blend, shaper):
    path, step = move(time_law="constant_speed", duration=2.0 + shaper.length, blend_time=blend, shaper=shaper), 1e-6
    below, here, above = (at(path, time + shift) for shift in (-step, 0.0, step))
    assert np.allclose((above.position - below.position) / (2 * step), here.velocity, atol=1e-6)
    assert np.allclose((above.velocity - below.velocity) / (2 * step), here.acceleration, atol=2e-3)


def test_at_constant_speed_the_way_between_the_blends_is_straight_and_the_ends_are_at_rest():
    path = move(time_law="constant_speed", duration=2.1, blend_time=0.1)
    for time in (0.1, 0.7, 2.0):
        assert np.allclose(at(path, time).velocity, BY / 2.0) and np.allclose(at(path, time).acceleration, 0.0)
    assert np.allclose(at(path, 1.05).position, FIRST + BY / 2.0)
    for time, expected in ((0.0, FIRST), (2.1, FIRST + BY)):
        assert np.allclose(at(path, time).position, expected) and not at(path, time).velocity.any()
    assert np.allclose(at(path, 0.05).velocity, BY / 4.0)  # half of the speed after half of the blend
    jump = move(time_law="constant_speed", blend_time=0.0)
    assert np.allclose(at(jump, 1e-6).velocity, BY / 2.0)


@pytest.mark.parametrize("law", ["fifth_order", "constant_speed"])
def test_a_move_that_returns_rests_at_home_after_its_repetitions(law):
    path, endless = (move(returns=True, repetitions=many, time_law=law, start=0.5) for many in (2, 0))
    for time in (0.2, 1.7, 3.1, 5.0, 6.6, 8.4):
        for field in ("position", "velocity", "acceleration"):
            assert np.array_equal(getattr(at(path, time), field), getattr(at(endless, time), field))
    for time in (8.5, 9.3, 50.0):
        home = at(path, time)
        assert np.allclose(home.position, FIRST, atol=1e-12) and not home.velocity.any() and not home.acceleration.any()
    assert at(endless, 9.3).velocity.any()


def test_a_move_begins_anew_after_a_reset():
    path = move()
    path.reset()
    assert not path.begun
    with pytest.raises(ConfigError, match="the move has not begun"):
        path.update(BEGIN)
    path.begin(2 * BEGIN, FIRST + 1.0)
    assert np.array_equal(path.update(2 * BEGIN).position, FIRST + 1.0)


def test_a_position_of_another_number_of_joints_is_refused():
    with pytest.raises(ConfigError, match=r"one of 2 joints, the position has shape \(3,\)"):
        JointMove(JointMoveConfig(tuple(BY))).begin(BEGIN, np.zeros(3))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"duration": 0.0}, r"duration must lie in \[0.001, inf\]"),
        ({"displacement": ()}, "displacement must be finite numbers"),
        ({"displacement": (1.0, float("nan"))}, "displacement must be finite numbers"),
        ({"start": -1.0}, r"start must lie in \[0.0, inf\]"),
        ({"repetitions": -1}, r"repetitions must lie in \[0, inf\]"),
        ({"blend_time": -0.1}, r"blend_time must lie in \[0.0, inf\]"),
        ({"time_law": "constant_speed", "duration": 0.5, "blend_time": 0.3}, "two blends of 0.3 s do not fit into 0.5"),
        ({"time_law": "cubic"}, "time_law must be one of fifth_order, seventh_order, constant_speed; got 'cubic'"),
        ({"duration": 0.5, "shaper": make_shaper("zvd", [2.0])}, "the shaper alone takes 0.5 s"),
    ],
)
def test_settings_without_meaning_are_refused(change, said):
    with pytest.raises(ConfigError, match=said):
        JointMoveConfig(**{"displacement": (0.1, 0.2), **change})
