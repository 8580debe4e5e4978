"""Teleoperation: twists within limits of velocity and acceleration, a stream that stops, a tool that is held back."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import MILLISECOND, READY, Driven, arm_of, asked, assert_within_limits, made, sample_at
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.errors import InputError

ARM = "panda"
TWIST = np.array([0.1, -0.05, 0.08, 0.3, 0.2, -0.4])


def drive(behavior, samples, dt=2e-3, begin=0, twist=None, frame=None, **changes):
    """Asks sample by sample, a twist given at each if there is one; offsets, twists, accelerations (k, 6)."""
    arm, rows = arm_of(ARM), []
    at = sample_at(arm, READY[ARM], dt=dt, **changes)
    for k in range(1, samples + 1):
        at.stamp = begin + round(k * dt * 1e9)
        if twist is not None:
            behavior.give(at.stamp, twist)
        out = asked(arm, behavior, at)
        rows.append((out.offset.copy(), out.twist.copy(), out.acceleration.copy()))
    return tuple(np.array(part) for part in zip(*rows, strict=True))


def test_it_reaches_the_twist_within_its_acceleration_and_stays_at_it():
    behavior = made(arm_of(ARM), "teleoperation")
    x, v, a = drive(behavior, 500, twist=TWIST)
    assert v[-1] == pytest.approx(TWIST) and not a[-1].any()
    assert np.linalg.norm(a[:, :3], axis=1).max() <= 1.0 + 1e-9 and np.linalg.norm(a[:, 3:], axis=1).max() <= 4.0 + 1e-9
    first = round(np.linalg.norm(TWIST[:3]) / 1.0 / 2e-3)
    assert v[first - 2 : first + 2, :3].std(axis=0).max() < 2e-3 and np.abs(v[first // 2, :3]).max() < 0.08
    assert x[-1, 0] > 0.0
    assert behavior.note() == "following"


def test_offset_twist_and_acceleration_are_each_other_s_derivatives():
    behavior, dt, rng = made(arm_of(ARM), "teleoperation", timeout=10.0), 1e-3, np.random.default_rng(1)
    x, v, a = [], [], []
    for k in range(8):
        behavior.give(k * 200 * MILLISECOND, rng.uniform(-0.3, 0.3, 6))
        for part, rows in zip((x, v, a), drive(behavior, 200, dt, k * 200 * MILLISECOND), strict=True):
            part.extend(rows)
    x, v, a = np.array(x), np.array(v), np.array(a)
    assert np.diff(v, axis=0) / dt == pytest.approx(a[1:], abs=1e-9)
    assert np.diff(x[:, :3], axis=0) / dt == pytest.approx(0.5 * (v[1:, :3] + v[:-1, :3]), abs=1e-9)
    turns = Rotation.from_rotvec(x[:, 3:])
    rates = (turns[1:] * turns[:-1].inv()).as_rotvec() / dt
    assert rates == pytest.approx(0.5 * (v[1:, 3:] + v[:-1, 3:]), abs=1e-9)


def test_twists_beyond_the_limits_are_shortened_not_bent():
    behavior = made(arm_of(ARM), "teleoperation", max_linear_velocity=0.06, max_angular_velocity=0.1)
    _, v, _ = drive(behavior, 1000, twist=10.0 * TWIST)
    assert v[-1, :3] == pytest.approx(0.06 * TWIST[:3] / np.linalg.norm(TWIST[:3]))
    assert v[-1, 3:] == pytest.approx(0.1 * TWIST[3:] / np.linalg.norm(TWIST[3:]))


def test_a_stream_that_stops_brings_the_tool_to_rest_after_its_time_out():
    behavior = made(arm_of(ARM), "teleoperation", timeout=0.1)
    drive(behavior, 500, twist=TWIST)
    x, v, a = drive(behavior, 400, begin=1_000_000_000)
    assert v[48] == pytest.approx(TWIST) and behavior.note() == "no twists"
    assert np.linalg.norm(v[60, :3]) < np.linalg.norm(TWIST[:3])
    assert not v[-1].any() and not a[-1].any() and (x[-1] == x[-2]).all()
    assert np.linalg.norm(a[:, :3], axis=1).max() <= 1.0 + 1e-9


def test_a_stamp_from_the_future_does_not_keep_an_old_twist_alive():
    behavior = made(arm_of(ARM), "teleoperation", timeout=0.1)
    behavior.give(10**12, TWIST)
    _, v, _ = drive(behavior, 100)
    assert not v.any() and behavior.note() == "no twists"


def test_nobody_has_sent_anything_and_nothing_moves():
    x, v, a = drive(made(arm_of(ARM), "teleoperation"), 20)
    assert not x.any() and not v.any() and not a.any()


@pytest.mark.parametrize(
    "twist", ([np.nan] + [0.0] * 5, [np.inf] * 6, [0.0] * 5, [[0.0] * 6], 0.0, None, "faster", [None] * 6)
)
def test_a_twist_that_is_none_is_refused_and_the_one_before_stands(twist):
    behavior = made(arm_of(ARM), "teleoperation", timeout=10.0)
    behavior.give(0, TWIST)
    with pytest.raises(InputError, match="six finite numbers"):
        behavior.give(1, twist)
    assert drive(behavior, 300)[1][-1] == pytest.approx(TWIST)


def test_axes_that_are_not_followed_stay():
    axes = [True, False, True, False, True, False]
    _, v, _ = drive(made(arm_of(ARM), "teleoperation", axes=axes), 500, twist=TWIST)
    assert v[-1] == pytest.approx(TWIST * axes)


@pytest.mark.parametrize("frame", ("base", "tool"))
def test_twists_are_in_the_axes_of_the_frame(frame):
    rpy = [0.4, -0.7, 1.1]
    behavior = made(arm_of(ARM), "teleoperation", frame=frame, rpy=rpy)
    _, v, _ = drive(behavior, 500, twist=TWIST)
    R = Rotation.from_euler("xyz", rpy).as_matrix()
    R = sample_at(arm_of(ARM), READY[ARM]).tool_rotation @ R if frame == "tool" else R
    assert v[-1] == pytest.approx(np.kron(np.eye(2), R) @ TWIST)


def test_with_other_settings_it_goes_on_without_a_step_and_within_its_new_limits():
    arm = arm_of(ARM)
    old = made(arm, "teleoperation", timeout=10.0)
    old.give(0, 2.0 * TWIST)
    x, v, _ = drive(old, 500)
    new = made(arm, "teleoperation", max_linear_velocity=0.05, max_angular_velocity=0.2, timeout=10.0)
    new.take_over(old)
    y, w, a = drive(new, 500, begin=1_000_000_000)
    assert np.abs(y[0] - x[-1]).max() < 2e-3 and np.abs(w[0] - v[-1]).max() < 0.01
    assert np.linalg.norm(w[-1, :3]) == pytest.approx(0.05) and np.linalg.norm(w[-1, 3:]) == pytest.approx(0.2)
    assert np.linalg.norm(a[:, :3], axis=1).max() <= 1.0 + 1e-9


def test_more_than_a_whole_turn_can_be_made():
    behavior = made(arm_of(ARM), "teleoperation", max_angular_velocity=2.0)
    x, *_ = drive(behavior, 2500, twist=np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0]))
    turned = 2.0 * 5.0 - 0.5 * 2.0 * 0.5  # 5 s at 2 rad/s, reached within 0.5 s
    assert Rotation.from_rotvec(x[-1, 3:]).as_matrix() == pytest.approx(
        Rotation.from_rotvec([0.0, 0.0, turned]).as_matrix(), abs=2e-3
    )


def test_a_tool_that_is_held_back_is_not_left_behind_by_more_than_the_lag():
    """The tool stands at its place, whatever is sent: the set-point stops, and comes back at once."""
    behavior = made(arm_of(ARM), "teleoperation", max_lag=0.05, max_linear_velocity=0.25)
    arm, offset, furthest = arm_of(ARM), np.zeros(6), 0.0
    at = sample_at(arm, READY[ARM])
    for k in range(1, 1500):
        at.stamp, at.error = 2 * k * MILLISECOND, -offset
        behavior.give(at.stamp, np.array([0.25, 0.0, 0.0, 0.0, 0.0, 0.0]))
        offset = asked(arm, behavior, at).offset.copy()
        furthest = max(furthest, np.linalg.norm(offset[:3]))
    assert 0.045 < furthest <= 0.0505
    for k in range(1500, 1800):
        at.stamp, at.error = 2 * k * MILLISECOND, -offset
        behavior.give(at.stamp, np.array([-0.25, 0.0, 0.0, 0.0, 0.0, 0.0]))
        offset = asked(arm, behavior, at).offset.copy()
    assert offset[0] < 0.0  # it came back without first making up for a long way


def test_a_tool_that_cannot_turn_is_not_left_behind_so_far_that_the_shortest_way_is_the_other_one():
    behavior = made(arm_of(ARM), "teleoperation", max_angular_lag=0.5)
    arm, offset, furthest = arm_of(ARM), np.zeros(6), 0.0
    at = sample_at(arm, READY[ARM])
    for k in range(1, 3000):
        at.stamp, at.error = 2 * k * MILLISECOND, -offset
        behavior.give(at.stamp, np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
        offset = asked(arm, behavior, at).offset.copy()
        furthest = max(furthest, np.linalg.norm(offset[3:]))
    assert 0.45 < furthest <= 0.505


def test_a_lagging_tool_can_be_led_sideways():
    behavior = made(arm_of(ARM), "teleoperation", max_lag=0.01)
    error = np.array([-0.02, 0.0, 0.0, 0.0, 0.0, 0.0])
    _, v, _ = drive(behavior, 500, twist=np.array([0.1, 0.1, 0.0, 0.0, 0.0, 0.0]), error=error)
    assert v[-1, :3] == pytest.approx([0.0, 0.1, 0.0], abs=1e-9)


def test_the_tool_follows_and_stays_where_it_was_led_when_the_behavior_goes():
    driven = Driven(ARM)
    start = driven.controller.output.position
    driven.ask(BehaviorSpec("t", "teleoperation"))
    joints = []
    for _ in range(1000):
        driven.behavior("t").give(driven.stamp, np.array([0.05, 0.0, 0.0, 0.0, 0.0, 0.0]))
        driven.step()
        joints.append(driven.joints)
    assert driven.controller.output.twist == pytest.approx([0.05, 0.0, 0.0, 0.0, 0.0, 0.0], abs=1e-4)
    there = driven.controller.output.position
    assert there[0] == pytest.approx(start[0] + 0.05 * 2.0, abs=2e-3)
    driven.ask()
    joints.extend(driven.run(1500).joints)
    assert np.abs(driven.controller.output.position - there).max() < 2e-3
    assert_within_limits(driven.arm, np.array(READY[ARM]), np.array(joints), 2e-3)
