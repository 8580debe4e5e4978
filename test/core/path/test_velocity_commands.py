"""References that follow velocities: within every limit, whatever is sent, and exact derivatives of each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.input_shaping import UNSHAPED, make_shaper
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.shaped_stream import ShapedStream
from flexarm_core.path.velocity_commands import (
    JointVelocityMotion,
    JointVelocityMotionConfig,
    TwistMotion,
    TwistMotionConfig,
)

MS = 1_000_000  # [ns]
HOME, UPRIGHT = np.array([0.4, 0.1, 0.3]), np.eye(3)
TWIST = np.array([0.2, 0.0, 0.1, 0.0, 0.0, 0.5])
ONE = np.ones(2)


def twists(**changes) -> TwistMotion:
    return TwistMotion(TwistMotionConfig(**({"frame": "base"} | changes)))


def joints(lower=-3.0 * ONE, upper=3.0 * ONE, limit=ONE, **changes) -> JointVelocityMotion:
    return JointVelocityMotion(JointVelocityMotionConfig(**({"velocity_scale": 1.0} | changes)), lower, upper, limit)


def follow(motion, ticks: int, given=None, start: int = 0, stuck: bool = False, every: int = 50) -> list:
    """References of some ticks of 1 ms; the arm follows exactly, or not at all."""
    found = []
    position, rotation = (HOME, UPRIGHT) if isinstance(motion, TwistMotion) else (np.zeros(2), None)
    for tick in range(start, start + ticks):
        if given is not None and tick % every == 0:
            motion.give(tick * MS, given(tick) if callable(given) else given)
        place = (position, rotation) if rotation is not None else (position,)
        found.append(motion.update(tick * MS, *place))
        if not stuck:
            position, rotation = found[-1].position, None if rotation is None else found[-1].rotation
    return found


def test_a_tool_comes_to_the_velocity_that_is_sent_and_rests_when_nothing_comes():
    motion = twists()
    led = follow(motion, 1000, TWIST)
    np.testing.assert_allclose(led[-1].velocity, TWIST, rtol=1e-12)
    np.testing.assert_allclose(led[0].position, HOME)
    angle = math.atan2(led[-1].rotation[1, 0], led[-1].rotation[0, 0])
    # at constant acceleration it loses half of the time that this takes: v / a
    for way, v, a in ((np.linalg.norm(led[-1].position - HOME), np.linalg.norm(TWIST[:3]), 1.0), (angle, 0.5, 4.0)):
        assert way == pytest.approx(v * (0.999 - 0.5 * v / a), rel=1e-5)
    position, rotation = led[-1].position, led[-1].rotation
    for tick in range(1000, 1600):
        last = motion.update(tick * MS, position, rotation)
        position, rotation = last.position, last.rotation
    assert not last.velocity.any() and not last.acceleration.any()


def test_velocity_and_acceleration_are_the_derivatives_and_stay_within_the_limits():
    rng = np.random.default_rng(1)
    motion = twists(limits=PathLimits(linear_velocity=0.3, linear_acceleration=0.8))
    led = follow(motion, 3000, lambda tick: rng.normal(size=6) * 5.0)
    velocity, acceleration = (np.array([getattr(one, name) for one in led]) for name in ("velocity", "acceleration"))
    position = np.array([one.position for one in led])
    np.testing.assert_allclose(np.diff(velocity, axis=0), acceleration[1:] * 1e-3, atol=1e-12)
    np.testing.assert_allclose(np.diff(position, axis=0), 0.5e-3 * (velocity[1:] + velocity[:-1])[:, :3], atol=1e-12)
    assert np.linalg.norm(velocity[:, :3], axis=1).max() <= 0.3 + 1e-12
    assert np.linalg.norm(acceleration[:, :3], axis=1).max() <= 0.8 + 1e-9
    assert np.linalg.norm(acceleration[:, 3:], axis=1).max() <= 4.0 + 1e-9
    turns = np.array([one.rotation for one in led])
    np.testing.assert_allclose(turns @ turns.transpose(0, 2, 1), np.broadcast_to(np.eye(3), turns.shape), atol=1e-9)
    assert np.abs(velocity).max() > 0.25


def test_axes_that_are_not_followed_do_not_move():
    motion = twists(axes=(True, True, False, False, False, False))
    last = follow(motion, 500, np.ones(6))[-1]
    assert last.velocity[:2].all() and not last.velocity[2:].any() and last.position[2] == HOME[2]
    assert last.axes.tolist() == [True, True, False, False, False, False]


def test_a_tool_that_is_held_is_left_behind_by_no_more_than_its_lag_and_led_on_when_it_is_free():
    motion = twists(max_lag=0.02, max_angular_lag=0.1)
    led = follow(motion, 4000, TWIST, stuck=True)
    way = np.array([np.linalg.norm(one.position - HOME) for one in led])
    assert 0.019 < way.max() < 0.0205 and np.linalg.norm(led[-1].velocity) < 1e-2
    angle = max(math.atan2(one.rotation[1, 0], one.rotation[0, 0]) for one in led)
    assert 0.09 < angle < 0.11
    back = follow(motion, 600, -TWIST, start=4000, stuck=True)
    assert np.linalg.norm(back[-1].position - HOME) < 0.0205 and (back[-1].position - HOME) @ TWIST[:3] < 0.0


def test_joints_follow_within_velocity_acceleration_lag_and_position_limits():
    most, limit = np.array([0.3, np.inf]), np.array([1.0, 2.0])
    motion = joints(lower=np.array([-0.4, -np.inf]), upper=most, limit=limit, max_acceleration=(3.0,))
    led = follow(motion, 9000, lambda tick: np.random.default_rng(tick // 900).choice([-9.0, 9.0], 2))
    position, velocity, acceleration = (
        np.array([getattr(one, name) for one in led]) for name in ("position", "velocity", "acceleration")
    )
    np.testing.assert_allclose(np.abs(velocity).max(axis=0), limit, rtol=0.1)
    assert (np.abs(velocity) <= limit).all()
    assert np.abs(acceleration).max() <= 3.0 + 1e-9
    np.testing.assert_allclose(np.diff(velocity, axis=0), acceleration[1:] * 1e-3, atol=1e-12)
    np.testing.assert_allclose(np.diff(position, axis=0), 0.5e-3 * (velocity[1:] + velocity[:-1]), atol=1e-12)
    assert position[:, 0].min() >= -0.4 and position[:, 0].max() <= 0.3
    assert np.ptp(position[:, 0]) > 0.68
    held = follow(joints(max_joint_lag=0.05), 3000, ONE, stuck=True)
    assert 0.048 < held[-1].position[0] < 0.051


def test_joints_rest_when_nothing_comes():
    motion = joints()
    moving = follow(motion, 300, 0.5 * ONE)
    assert moving[-1].velocity == pytest.approx(0.5 * ONE)
    assert follow(joints(velocity_scale=0.3), 300, 0.5 * ONE)[-1].velocity == pytest.approx(0.3 * ONE)
    position = moving[-1].position
    for tick in range(300, 900):
        last = motion.update(tick * MS, position)
        position = last.position
    assert not last.velocity.any()


def test_a_gap_between_samples_begins_anew_where_the_arm_is():
    motion = twists()
    follow(motion, 300, TWIST)
    after = motion.update(900 * MS, HOME + 0.3, UPRIGHT)
    np.testing.assert_array_equal(after.position, HOME + 0.3)
    assert not after.velocity.any()
    turned = joints()
    follow(turned, 300, ONE)
    after = turned.update(900 * MS, 2.0 * ONE)
    np.testing.assert_array_equal(after.position, 2.0 * ONE)
    assert not after.velocity.any()


@pytest.mark.parametrize("bad", [np.zeros(5), np.full(6, np.nan), np.full(6, np.inf), "fast", None])
def test_a_bad_twist_is_refused_and_the_one_before_stays(bad):
    motion = twists()
    motion.give(0, TWIST)
    with pytest.raises(InputError):
        motion.give(0, bad)
    with pytest.raises(InputError):
        joints().give(0, bad)
    assert follow(motion, 150)[-1].velocity[0] > 0.1


def test_settings_that_fit_no_arm_are_refused():
    with pytest.raises(ConfigError, match="velocity limit for every joint"):
        joints(limit=np.array([1.0, np.inf]))
    with pytest.raises(ConfigError, match="max_acceleration must be one number or 2, got 3"):
        joints(max_acceleration=(1.0, 2.0, 3.0))
    with pytest.raises(ConfigError, match="command_timeout"):
        twists(command_timeout=0.0)


def mode_at(frequency: float, path: np.ndarray) -> np.ndarray:
    """Position and velocity, in the form of an amplitude, of a mass on a spring whose foot moves along a path (ms)."""
    w, x, v = 2.0 * math.pi * frequency, 0.0, 0.0
    found = []
    for before, after in itertools.pairwise(path):  # exact for a foot that moves at constant speed
        u, c, s = (after - before) / 1e-3, math.cos(w * 1e-3), math.sin(w * 1e-3)
        a, b = x - before, (v - u) / w
        x, v = after + a * c + b * s, u + w * (b * c - a * s)
        found.append(math.hypot(x - after, (v - u) / w))
    return np.array(found)


@pytest.mark.parametrize("kind", ["zv", "zvd"])
def test_jogging_that_is_shaped_leaves_a_mode_at_rest_and_keeps_every_limit(kind):
    shaper = make_shaper(kind, [2.0])
    ways, late = {}, round(1e3 * shaper.delay)
    for name, shape in (("plain", UNSHAPED), ("shaped", shaper)):
        jogged = joints(lower=-0.35 * ONE, upper=0.35 * ONE, max_acceleration=(3.0,), shaper=shape)
        given = lambda tick: 0.8 * ONE * np.sign(np.sin(tick / 300)) * (tick < 2400)  # noqa: E731
        led = follow(jogged, 4000, given)
        position, velocity, acceleration = (
            np.array([getattr(one, key) for one in led]) for key in ("position", "velocity", "acceleration")
        )
        np.testing.assert_allclose(np.diff(velocity, axis=0), acceleration[1:] * 1e-3, atol=1e-12)
        np.testing.assert_allclose(
            np.diff(position, axis=0), 0.5e-3 * (velocity[1:] + velocity[:-1]), atol=3.0 * 1e-6 / 4.0
        )
        assert np.abs(position).max() <= 0.35 and np.abs(velocity).max() <= 0.8 + 1e-12
        assert np.abs(acceleration).max() <= 3.0 + 1e-9 and not velocity[-1].any()
        ways[name] = position[:, 0]
    plain, shaped = (mode_at(2.0, way)[-500:].max() for way in ways.values())
    assert plain > 0.05 and shaped < 1e-3 * plain
    assert abs(late - 125 * len(shaper.times) + 125) <= 1  # half of its length
    steady = follow(joints(shaper=shaper), 2000, 0.5 * ONE)
    raw = follow(joints(), 2000, 0.5 * ONE)
    np.testing.assert_allclose(steady[-1].position, raw[-1].position - 0.5 * shaper.delay, atol=1e-9)


def test_a_tool_led_by_shaped_twists_leaves_a_mode_at_rest_in_place_and_attitude():
    shaper = make_shaper("zv", [2.0])
    for shape, bound in ((UNSHAPED, None), (shaper, 2e-3)):
        led = follow(twists(shaper=shape), 3000, lambda tick: TWIST * (tick < 1400))
        angles = np.array([math.atan2(one.rotation[1, 0], one.rotation[0, 0]) for one in led])
        x = np.array([one.position[0] for one in led]) - HOME[0]
        swings = [mode_at(2.0, way)[-500:].max() for way in (x, angles)]
        if bound is None:
            plain = swings
        assert bound is None or all(swing < bound * other for swing, other in zip(swings, plain, strict=True))
        rates = np.array([one.velocity[5] for one in led])
        np.testing.assert_allclose(np.diff(angles), 0.5e-3 * (rates[1:] + rates[:-1]), atol=1e-6)
        assert not led[-1].velocity.any() and led[-1].position[0] > HOME[0] + 0.2
    assert min(plain) > 1e-3


def test_twists_in_axes_of_the_tool_turn_with_the_shaped_tool():
    motion = twists(shaper=make_shaper("zv", [2.0]))
    position, rotation = HOME, UPRIGHT
    for tick in range(3000):
        motion.give(tick * MS, np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.5]), in_tool=True)
        one = motion.update(tick * MS, position, rotation)
        position, rotation = one.position, one.rotation
    # late by the shaper, the velocity still points along the tool, which turns at 0.5 rad/s
    angle = math.atan2(one.velocity[1], one.velocity[0]) - math.atan2(rotation[1, 0], rotation[0, 0])
    assert abs(angle + 0.5 * 0.125) < 2e-3


def test_a_tool_or_joint_that_is_held_is_led_by_the_lag_and_the_way_within_the_shaper_at_most():
    shaper = make_shaper("zvd", [2.0])
    joint = follow(joints(max_joint_lag=0.05, shaper=shaper), 3000, ONE, stuck=True)
    assert 0.045 < joint[-1].position[0] < 0.05 + 1.0 * shaper.delay and np.abs(joint[-1].velocity).max() < 1e-2
    tool = follow(twists(max_lag=0.02, shaper=shaper), 4000, TWIST, stuck=True)
    way = np.linalg.norm(tool[-1].position - HOME)
    assert 0.019 < way < 0.02 + np.linalg.norm(TWIST[:3]) * shaper.delay and np.linalg.norm(tool[-1].velocity) < 1e-2
    begun = twists(shaper=shaper)
    follow(begun, 300, TWIST)
    anew = begun.update(900 * MS, HOME + 0.3, UPRIGHT)
    np.testing.assert_array_equal(anew.position, HOME + 0.3)
    assert not anew.velocity.any()


def test_uneven_samples_and_long_runs_are_shaped_as_the_exact_convolution():
    rng, shaper = np.random.default_rng(3), make_shaper("zvd", [1.0, 3.1], [0.01])
    stream, stamp, x, v = ShapedStream(shaper, 2), 0, np.zeros(2), np.zeros(2)
    stream.begin(0, x)
    pieces = [(0, x, v, v)]
    for _ in range(6000):
        dt = int(rng.integers(200_000, 3_000_000))
        a = rng.normal(size=2)
        pieces.append((stamp, x, v, a))
        x, v, stamp = x + (v + 0.5e-9 * a * dt) * dt * 1e-9, v + a * dt * 1e-9, stamp + dt
        found = stream.take(stamp, x, v)
        if rng.random() < 0.02:
            wanted = np.zeros((2, 2))
            for amplitude, late in zip(shaper.amplitudes, shaper.times, strict=True):
                at = stamp - round(1e9 * late)
                begun, x0, v0, a0 = next((one for one in reversed(pieces) if one[0] < at), pieces[0])
                t = 1e-9 * max(at - begun, 0)
                wanted += amplitude * np.array([x0 + v0 * t + 0.5 * a0 * t * t, v0 + a0 * t])
            np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_joint_does_not_pass_a_limit_of_position_however_irregular_the_samples(seed):
    rng = np.random.default_rng(seed)
    motion = joints(lower=-0.2 * ONE, upper=0.2 * ONE, command_timeout=1.0)
    stamp, position, found = 0, np.zeros(2), []
    for tick in range(2000):
        if tick % 50 == 0:
            motion.give(stamp, rng.choice([-1.0, 1.0], 2))
        found.append(motion.update(stamp, position))
        position = found[-1].position
        stamp += int(rng.choice([1, 2, 10, 30, 99])) * MS
    assert 0.15 < max(np.abs(one.position).max() for one in found) <= 0.2 + 1e-9
    assert max(np.abs(one.acceleration).max() for one in found) <= 4.0 + 1e-9


def test_a_twist_of_any_size_is_scaled_down():
    for size in (1e150, 1e200, 1e307):
        motion = twists()
        assert follow(motion, 1000, size * TWIST)[-1].velocity[0] == pytest.approx(0.25 * 0.2 / math.hypot(0.2, 0.1))
