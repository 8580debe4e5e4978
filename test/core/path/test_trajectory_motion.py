"""A trajectory that is played: at rest before it begins, the same way back, and only for an arm that stands there."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.path.line import fifth_order
from flexarm_core.path.trajectory_motion import TrajectoryMotion, TrajectoryMotionConfig
from flexarm_core.turns import TURN, Turns

BEGIN = 5_000_000_000  # [ns]
FIRST, BY, DURATION = np.array([0.3, -0.7]), np.array([0.8, -0.4]), 2.0


def motion(**changes) -> TrajectoryMotion:
    times = np.linspace(0.0, DURATION, 41)
    s, rate, acceleration = np.array([fifth_order(time, DURATION) for time in times]).T[:, :, None]
    trajectory = JointTrajectory(FIRST, times.tolist(), FIRST + s * BY, rate * BY, acceleration * BY)
    made = TrajectoryMotion(trajectory, Turns([False, True]), ("first", "second"), TrajectoryMotionConfig(**changes))
    made.begin(BEGIN, FIRST)
    return made


def at(path: TrajectoryMotion, time: float):
    return path.update(BEGIN + round(time * 1e9))


def test_the_trajectory_is_played_after_the_start_and_held_after_its_end():
    path = motion(start=0.5)
    for time in (0.0, 0.3, 0.5, 1.1, 1.5, 2.2, 2.5, 7.0):
        s, rate, acceleration = fifth_order(time - 0.5, DURATION)
        reference = at(path, time)
        assert np.allclose(reference.position, FIRST + s * BY, atol=1e-9)
        assert np.allclose(reference.velocity, rate * BY, atol=1e-8)
        assert np.allclose(reference.acceleration, acceleration * BY, atol=1e-6)


def test_a_trajectory_that_begins_with_an_acceleration_asks_for_none_before():
    rows = (np.zeros((2, 1)) + [[0.0], [1.0]], np.zeros((2, 1)), np.ones((2, 1)))
    trajectory = JointTrajectory(np.zeros(1), [0.0, 1.0], *rows)
    path = TrajectoryMotion(trajectory, Turns([False]), ("only",), TrajectoryMotionConfig(0.5))
    path.begin(BEGIN, np.zeros(1))
    assert at(path, 0.2).acceleration == 0.0
    assert at(path, 0.5 + 1e-9).acceleration > 0.9


def test_the_way_back_is_the_way_there_backwards_in_time():
    path = motion(start=0.5, returns=True)
    for time in (0.3, 0.8, 1.7):
        there, back, again = (at(path, 0.5 + moment) for moment in (time, 4.0 - time, 4.0 + time))
        assert np.allclose(there.position, back.position, atol=1e-9)
        assert np.allclose(there.velocity, -back.velocity, atol=1e-8)
        assert np.allclose(there.acceleration, back.acceleration, atol=1e-6)
        assert np.allclose(there.velocity, again.velocity, atol=1e-8)


def test_the_motion_does_not_follow_an_arm_that_stands_a_little_off():
    path = motion(start_tolerance=0.1)
    path.reset()
    path.begin(BEGIN, FIRST + [0.0, 0.09])
    assert np.array_equal(at(path, 0.0).position, FIRST)
    assert np.array_equal(at(path, 9.0).position, FIRST + BY)


@pytest.mark.parametrize("first", [FIRST + [0.0, 0.11], FIRST - [0.0, 0.11], [0.3, np.nan]])
def test_an_arm_that_stands_elsewhere_is_not_led(first):
    path = motion(start_tolerance=0.1)
    path.reset()
    with pytest.raises(InputError, match="joint 'second' is .* from where the trajectory begins.*at most 0.1"):
        path.begin(BEGIN, np.array(first))
    assert not path.begun
    with pytest.raises(ConfigError, match="has not begun"):
        path.update(BEGIN)


def test_settings_without_meaning_are_refused():
    for change, said in (
        ({"start": -1.0}, r"start must lie in \[0.0, inf\]"),
        ({"start": np.inf}, "start must be finite"),
        ({"start_tolerance": 0.0}, r"start_tolerance must lie in \[1e-09, inf\]"),
    ):
        with pytest.raises(ConfigError, match=said):
            TrajectoryMotionConfig(**change)
    with pytest.raises(ConfigError, match="is one of 2 joints"):
        motion().begin(BEGIN, np.zeros(3))


@pytest.mark.parametrize("turns", [-2, 1, 7])
def test_an_endless_joint_is_led_in_the_turn_in_which_it_stands(turns):
    path, shifted = motion(start=0.5, returns=True), motion(start=0.5, returns=True)
    shifted.reset()
    shifted.begin(BEGIN, FIRST + [0.0, turns * TURN])
    for time in (0.0, 0.7, 1.6, 3.1, 6.0):
        plain, turned = at(path, time), at(shifted, time)
        assert np.allclose(turned.position - plain.position, [0.0, turns * TURN], atol=1e-12)
        assert np.array_equal(turned.velocity, plain.velocity)
    with pytest.raises(InputError, match="first"):
        path.reset()
        path.begin(BEGIN, FIRST + [TURN, 0.0])  # this joint has limits
