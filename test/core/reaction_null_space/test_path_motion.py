"""Motions along reactionless paths: smooth, where they should be, and at the paper's speed."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.reactionless.path_motion import PathMotion, PathMotionConfig
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.robot.arm_model import ArmModel

FIRST, SECOND = 0.310 * 0.096 + 0.120 * 0.1, 0.120 * 0.090  # [kg*m] of TREP, tables I and II
START = np.array([0.5 * np.pi, 0.0])
UBAR = 30.0
STEP = 1e-5  # [s] of the differences


@pytest.fixture(scope="module")
def closed(trep_text):
    """The paper's path: closed, joint 2 turns once."""
    return trace(ArmModel(trep_text, gravity=(0.0, 0.0, 0.0)), START)


@pytest.fixture(scope="module")
def short(closed):
    """A piece of it that is open."""
    return trace(closed.field.model, START, length=1.0)


MOTIONS = {
    "fifth_order": PathMotionConfig(span=(0.5, -0.9), start=0.3, duration=1.2),
    "back_and_forth": PathMotionConfig(span=(-0.5, 0.9), duration=0.7, returns=True),
    "constant_rate": PathMotionConfig("constant_rate", span=(0.2, 0.9), speed=0.7, blend_time=0.2),
    "constant_ubar": PathMotionConfig("constant_ubar", span=(0.9, -0.9), speed=UBAR, blend_time=0.3),
    "ubar_back_and_forth": PathMotionConfig("constant_ubar", span=(0.9, 0.1), speed=UBAR, blend_time=0.2, returns=True),
    "round_and_round": PathMotionConfig("constant_ubar", speed=UBAR, cyclic=True),
    "round_the_other_way": PathMotionConfig("constant_rate", speed=-2.0, blend_time=0.4, cyclic=True),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_rate_and_acceleration_are_the_derivatives_and_the_motion_begins_at_rest(closed, short, name):
    config = MOTIONS[name]
    motion = PathMotion(closed if config.cyclic else short, config)
    first = motion.at(0.0)
    assert (first.s, first.rate) == pytest.approx((motion.begin, 0.0), abs=1e-9)
    for time in np.linspace(0.05, 5.0, 60):
        before, now, after = (motion.at(time + shift) for shift in (-STEP, 0.0, STEP))
        assert (after.s - before.s) / (2.0 * STEP) == pytest.approx(now.rate, abs=1e-6)
        assert (after.rate - before.rate) / (2.0 * STEP) == pytest.approx(now.acceleration, abs=2e-3)


@pytest.mark.parametrize("name", [name for name, config in MOTIONS.items() if not (config.cyclic or config.returns)])
def test_a_motion_of_one_way_ends_at_the_end_of_its_span_and_rests_there(short, name):
    config = MOTIONS[name]
    motion = PathMotion(short, config)
    for time in (config.start + motion.duration, 100.0):
        last = motion.at(time)
        assert (last.s, last.rate, last.acceleration) == pytest.approx((config.span[1], 0.0, 0.0), abs=1e-9)
        assert motion.finished(time + 1e-9)
    assert not motion.finished(config.start + 0.5 * motion.duration)


def test_back_and_forth_is_the_same_way_backwards_without_end(short):
    motion = PathMotion(short, MOTIONS["ubar_back_and_forth"])
    there, later = motion.at(0.3 * motion.duration), motion.at(101.7 * motion.duration)
    assert later.s == pytest.approx(there.s, abs=1e-9)
    assert later.rate == pytest.approx(-there.rate, abs=1e-9)
    assert not motion.finished(1000.0)


def test_at_constant_ubar_the_joints_move_as_the_papers_null_vector_says(closed):
    """qd = n ubar with n = (h2, -h1) in closed form, equation (27), after the smooth start."""
    motion = PathMotion(closed, MOTIONS["round_and_round"])
    for time in np.linspace(1.0, 12.0, 40):
        along = motion.at(time)
        moved = closed.read(along.s, along.rate, along.acceleration)
        q1, q12 = moved.position[0], moved.position.sum()
        h2 = -SECOND * np.sin(q12)
        h1 = -FIRST * np.sin(q1) + h2
        sign = np.sign(moved.velocity[1])
        assert moved.velocity == pytest.approx(sign * UBAR * np.array([-h2, h1]) * np.sign(h1), rel=1e-5, abs=1e-7)


def test_round_and_round_passes_its_start_again_after_each_round_in_equal_times(closed):
    motion = PathMotion(closed, MOTIONS["round_and_round"])
    times = np.linspace(2.0, 20.0, 20001)
    rounds = np.floor(np.array([motion.at(time).s for time in times]) / closed.length)
    passed = times[1:][np.diff(rounds) > 0.0]
    assert len(passed) >= 3
    assert np.ptp(np.diff(passed)) < 2e-3
    assert motion.end is None and motion.duration == np.inf


def test_without_a_span_it_goes_from_the_nearest_point_to_the_end_or_once_round(closed, short):
    assert PathMotion(short, PathMotionConfig(), nearest=0.25).begin == 0.25
    assert PathMotion(short, PathMotionConfig(), nearest=0.25).end == short.end
    once = PathMotion(closed, PathMotionConfig(), nearest=0.25)
    assert once.end - once.begin == pytest.approx(closed.length)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"speed_law": "sine"}, "one of fifth_order, constant_rate, constant_ubar; got 'sine'"),
        ({"duration": 0.0}, r"duration must lie in \[0.001, inf\]"),
        ({"speed": 0.0}, "other than 0"),
        ({"start": -1.0}, r"start must lie in \[0.0, inf\]"),
        ({"cyclic": True}, "constant rate or ubar"),
        ({"cyclic": True, "speed_law": "constant_rate", "returns": True}, "does not return"),
        ({"cyclic": True, "speed_law": "constant_rate"}, "needs a closed path; this one ends by length"),
        ({"span": (0.0, 2.0)}, "is beyond the path"),
        ({"span": (0.5, 0.5)}, "has no length"),
        ({"span": (0.5, np.nan)}, "two finite path coordinates"),
        ({"speed_law": "constant_rate", "span": (0.0, 0.1)}, "two blends of 1 s do not fit into a way of 0.1 s"),
    ],
)
def test_a_motion_that_makes_no_sense_is_refused(short, settings, said):
    with pytest.raises(ConfigError, match=said):
        PathMotion(short, PathMotionConfig(**settings))
