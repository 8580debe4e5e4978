"""Joint limits: the effort away from the ends of the ranges."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from behaviors import READY, Driven, arm_of, asked, assert_within_limits, made, sample_at

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.limits import MotionLimits

SETTINGS = {"range": 0.4, "margin": 0.05, "effort": 8.0, "damping": 6.0}


def narrow(n=7, half=1.0):
    """An arm whose joints go from -half to half; the last has no ends."""
    lower, upper = np.full(n, -half), np.full(n, half)
    lower[-1], upper[-1] = -np.inf, np.inf
    arm = arm_of("panda")
    return dataclasses.replace(arm, limits=MotionLimits(lower, upper, arm.limits.velocity, arm.limits.acceleration))


def efforts(distance, side, velocity=0.0, **settings):
    """Effort and stiffness of joint 2, at a distance from one end; the other joints are in the middle."""
    arm, q, v = narrow(), np.zeros(7), np.zeros(7)
    q[2], v[2] = side * (1.0 - distance), velocity
    out = asked(arm, made(arm, "joint_limits", **{**SETTINGS, **settings}), sample_at(arm, q, velocity=v))
    others = np.delete(np.arange(7), 2)
    assert not out.effort[others].any() and not out.yielding[others].any()
    return out


@pytest.mark.parametrize("side", (1.0, -1.0))
def test_nothing_acts_outside_the_range_and_from_its_edge_on_the_effort_begins_without_a_step(side):
    for distance in (1.0, 0.7, 0.4):
        out = efforts(distance, side, side * 0.5)
        assert not out.effort.any() and not out.effort_stiffness.any()
    for into in (1e-3, 1e-5):
        out = efforts(0.4 - into, side, side * 0.5)
        assert 0.0 < -side * out.effort[2] < 50.0 * into
        assert 0.0 < out.effort_stiffness[2, 2] < 1e3 * into


@pytest.mark.parametrize("side", (1.0, -1.0))
def test_it_pushes_away_from_the_end_the_harder_the_nearer_and_is_the_given_effort_half_way(side):
    distances = np.linspace(0.399, -0.1, 60)
    pushes = np.array([-side * efforts(distance, side).effort[2] for distance in distances])
    assert (pushes > 0.0).all() and (np.diff(pushes) >= 0.0).all()
    assert -side * efforts(0.225, side).effort[2] == pytest.approx(8.0)


@pytest.mark.parametrize("side", (1.0, -1.0))
def test_the_stiffness_is_the_derivative_of_the_effort(side):
    h = 1e-6
    for distance in (0.39, 0.3, 0.2, 0.1, 0.07):
        ahead, behind = efforts(distance + h, side).effort[2], efforts(distance - h, side).effort[2]
        derivative = side * (ahead - behind) / (2.0 * h)
        assert efforts(distance, side).effort_stiffness[2, 2] == pytest.approx(derivative, rel=1e-5)


@pytest.mark.parametrize("side", (1.0, -1.0))
def test_damping_acts_while_a_joint_approaches_and_not_while_it_leaves(side):
    still = efforts(0.2, side).effort[2]
    assert efforts(0.2, side, -side * 0.5).effort[2] == still
    assert side * (efforts(0.2, side, side * 0.5).effort[2] - still) < -1.0


def test_joints_without_ends_never_count():
    arm, q = narrow(), np.zeros(7)
    q[6] = 1e6
    out = asked(arm, made(arm, "joint_limits", **SETTINGS), sample_at(arm, q))
    assert not out.effort.any() and np.isfinite(out.row).all()
    assert out.measure[0] == pytest.approx(1.0)


def test_where_no_joint_has_ends_the_measure_still_is_a_number():
    arm = arm_of("panda")
    free = MotionLimits(np.full(7, -np.inf), np.full(7, np.inf), arm.limits.velocity, arm.limits.acceleration)
    arm = dataclasses.replace(arm, limits=free)
    behavior = made(arm, "joint_limits", tool_range=0.2)
    out = asked(arm, behavior, sample_at(arm, READY["panda"]))
    assert np.isfinite(out.row).all() and not out.effort.any() and behavior.note() == "nothing near"


def test_the_tool_yields_from_a_range_of_its_own_and_only_where_it_is_asked_to():
    assert not efforts(0.1, 1.0).yielding.any()
    assert not efforts(0.21, 1.0, tool_range=0.2).yielding.any()
    out = efforts(0.1, 1.0, tool_range=0.2)
    assert out.yielding[2] < 0.0 < out.yielding_stiffness[2, 2]
    assert out.measure[0] == pytest.approx(0.1)


def test_the_nearest_joint_is_named():
    arm, q = narrow(), np.zeros(7)
    q[1], q[4] = 0.7, -0.75
    behavior = made(arm, "joint_limits", **SETTINGS)
    out = asked(arm, behavior, sample_at(arm, q))
    assert out.measure[0] == pytest.approx(0.25)
    assert behavior.note() == f"{arm.chain.joint_names[4]} is 0.250 from its limit"


@pytest.mark.parametrize(
    "settings", ({"margin": 0.3}, {"margin": 0.2, "tool_range": 0.2}, {"margin": 0.1, "range": 0.05})
)
def test_a_margin_beyond_a_range_is_refused(settings):
    with pytest.raises(ConfigError, match="margin .* must lie below"):
        made(arm_of("panda"), "joint_limits", **settings)


def test_on_a_redundant_arm_the_joint_leaves_its_end_while_the_tool_stays():
    lower, upper = arm_of("panda").chain.lower.copy(), arm_of("panda").chain.upper.copy()
    upper[2] = READY["panda"][2] + 0.05
    arm = arm_of("panda")
    arm = dataclasses.replace(arm, limits=MotionLimits(lower, upper, arm.limits.velocity, arm.limits.acceleration))
    driven = Driven("panda", arm=arm)
    start = driven.controller.output.position
    driven.ask(BehaviorSpec("l", "joint_limits", {"range": 0.3, "margin": 0.02, "effort": 2.0}))
    run = driven.run(3000)
    assert upper[2] - driven.joints[2] > 0.2
    assert np.abs(run.of("position") - start).max() < 1e-9
    assert_within_limits(arm, np.array(READY["panda"]), run.joints, 2e-3)


def test_where_the_tool_yields_a_pushed_tool_stops_short_of_the_joint_s_end():
    driven = Driven("arm_6r", stiffness=(200.0,) * 3 + (20.0,) * 3)
    spec = BehaviorSpec("l", "joint_limits", {"range": 0.4, "tool_range": 0.4, "margin": 0.05, "effort": 20.0})
    driven.ask(spec, BehaviorSpec("p", "path", {"positions": [0.4, 0.0, -0.3], "relative": True}))
    run = driven.run(6000)
    ends = np.array((driven.arm.limits.lower, driven.arm.limits.upper))
    nearest = np.minimum(run.joints - ends[0], ends[1] - run.joints).min()
    assert nearest > 0.0
    assert_within_limits(driven.arm, np.array(READY["arm_6r"]), run.joints, 2e-3)
