"""Joint trajectories: interpolation, rules, tolerances, preemption, stops as joint_trajectory_controller has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import BPoly

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.joint_trajectory.follower import (
    FOLLOWING,
    HOLDING,
    End,
    TrajectoryFollower,
    TrajectoryFollowerConfig,
)
from flexarm_core.joint_trajectory.points import MOST_POINTS, Points
from flexarm_core.joint_trajectory.tolerances import Tolerances, violated
from flexarm_core.path.input_shaping import make_shaper
from flexarm_core.turns import Turns

NAMES = ("a", "b", "c")
NAN = np.full(3, np.nan)
STEP = 2_000_000  # [ns]


def points(times, *given, names=NAMES, stamp=0) -> Points:
    """Points with positions, and velocities and accelerations where they are given (None: not)."""
    count, joints = len(times), len(names)
    rows = [given[i] if i < len(given) else [None] * count for i in range(3)]
    sizes = [[0 if row[p] is None else len(row[p]) for row in rows] + [0] for p in range(count)]
    none = [np.nan] * joints
    numbers = tuple(np.array([none if one is None else one for one in row], dtype=float) for row in rows)
    return Points(names, stamp, np.round(np.array(times) * 1e9).astype(np.int64), np.array(sizes), numbers)


class Arm:
    """An arm that is where the reference was, plus ``off``."""

    def __init__(self, position=(0.0, 0.0, 0.0), endless=(False,) * 3, limit=10.0, shaper=None, **settings) -> None:
        most = np.where(endless, np.inf, limit)
        self.turns = Turns(endless)
        config = TrajectoryFollowerConfig(**settings)
        more = {} if shaper is None else {"shaper_for": lambda spline: shaper}
        self.follower = TrajectoryFollower(NAMES, self.turns, -most, most, np.full(3, limit), config, **more)
        self.position, self.velocity, self.off = np.array(position, dtype=float), np.zeros(3), np.zeros(3)
        self.stamp, self.ends, self.motion = 0, [], []
        self.run(1)

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.stamp += STEP
            reference = self.follower.update(self.stamp, self.position + self.off, self.velocity)
            self.position, self.velocity = reference.position, reference.velocity
            self.motion.append((reference.position, reference.velocity, reference.acceleration))

    def ask(self, given: Points, canceled=lambda: False, **tolerances) -> list[tuple[End, str]]:
        ends: list[tuple[End, str]] = []
        goal, self.remark = self.follower.goal(given, lambda code, why: ends.append((code, why)), **tolerances)
        self.follower.follow(replace(goal, canceled=canceled))
        return ends

    def until(self, ends, most: int = 20_000) -> End:
        while not ends and most:
            self.run(1)
            most -= 1
        return ends[0][0]

    def check_smooth(self, acceleration: float) -> None:
        """Position and velocity are those of a motion with at most this acceleration."""
        q, v, _ = (np.array(one) for one in zip(*self.motion, strict=True))
        dt = STEP * 1e-9
        assert np.abs(np.diff(v, axis=0)).max() <= acceleration * dt * 1.01
        assert np.abs(np.diff(q, axis=0) - 0.5 * dt * (v[1:] + v[:-1])).max() <= acceleration * dt**2


def test_an_arm_that_stays_where_it_was_is_spoken_of_though_no_tolerance_is_set():
    arm = Arm()
    ends = arm.ask(points([1.0], [[0.0, -0.3, 0.2]]))
    reached, arm.off[:] = arm.until(ends), 0.0
    assert reached is End.SUCCESSFUL and "reached" in ends[0][1] and not arm.follower.remark
    ends = arm.ask(points([1.0], [[0.0, 0.3, 0.0]]))
    while not ends:
        arm.off[:] = np.array([0.0, -0.3, 0.2]) - arm.position
        arm.run(1)
    assert ends[0][0] is End.SUCCESSFUL and "joint 'b' is 0.6 from its goal" in ends[0][1] == arm.follower.remark
    ends = arm.ask(points([1.0], [[0.0, 0.0, 0.0]]), goal=[("a", 0.5, 0.0, 0.0)])
    arm.off[:] = 0.3, 0.0, 0.0
    assert arm.until(ends) is End.SUCCESSFUL and "reached" in ends[0][1]  # within the tolerance that somebody set


def test_segments_are_cubic_with_velocities_and_quintic_with_accelerations():
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(0.1, 1.0, 6))
    q, v, a = (0.3 * rng.normal(size=(6, 3)) for _ in range(3))
    v[-1] = a[-1] = 0.0
    for given in ((q, v), (q, v, a)):
        arm = Arm()
        spline = arm.follower.goal(points(times, *given), lambda code, why: None)[0].spline
        wanted = BPoly.from_derivatives(times, np.stack(given, axis=1))
        for time in rng.uniform(times[0], times[-1], 50):
            found = spline.sample(round(time * 1e9))
            for order, one in enumerate(found):
                assert np.allclose(one, wanted(round(time * 1e9) * 1e-9, order), atol=1e-6)


def test_a_segment_uses_what_both_of_its_points_have():
    q, still = [[0.0] * 3, [0.2] * 3, [0.4] * 3], [0.0] * 3
    spline = (
        Arm()
        .follower.goal(
            points([0.0, 1.0, 2.0], q, [still, [0.3] * 3, still], [None, [1.0] * 3, still]), lambda code, why: None
        )[0]
        .spline
    )
    assert np.allclose(spline.sample(1_000_000_000 - 1)[1], 0.3) and np.allclose(spline.sample(1_000_000_000)[1], 0.3)
    assert not np.allclose(spline.sample(1_000_000_000 - 1)[2], 1.0)  # cubic: the first point has no acceleration
    assert np.allclose(spline.sample(1_000_000_000)[2], 1.0)  # quintic


def test_points_without_velocities_are_passed_without_overshoot_or_along_lines():
    rng = np.random.default_rng(2)
    q = np.cumsum(rng.choice([-0.3, 0.0, 0.4], (8, 3)), axis=0)
    times = np.arange(1.0, 9.0)
    arm = Arm()
    assert arm.until(arm.ask(points(times, q))) is End.SUCCESSFUL
    moved = np.array([one[0] for one in arm.motion])[2:]
    for i, at in enumerate(times):
        assert np.allclose(moved[round(at * 1e9 / STEP) - 1], q[i], atol=2e-3)
    for low, high, first, last in zip(q[:-1], q[1:], times[:-1], times[1:], strict=True):
        part = moved[round(first * 1e9 / STEP) : round(last * 1e9 / STEP) - 1]
        assert (part >= np.minimum(low, high) - 2e-3).all() and (part <= np.maximum(low, high) + 2e-3).all()
    arm.check_smooth(4.0)
    lines = Arm(interpolation="linear")
    spline = lines.follower.goal(points(times, q), lambda code, why: None)[0].spline
    assert np.allclose(spline.sample(2_250_000_000)[0], 0.75 * q[1] + 0.25 * q[2])


RULES = [
    (points([1.0], [[0.1] * 2], names=("a", "b")), "names 2 joints, the arm has 3"),
    (points([1.0], [[0.1] * 3], names=("a", "b", "x")), "joint 'x' is none of the arm's"),
    (points([1.0], [[0.1] * 3], names=("a", "b", "b")), "'b' is named twice"),
    (points([1.0], [[]], names=()), "names no joints"),
    (points([], []), "no points"),
    (points([1.0], [[0.1] * 2]), "point 0 has 2 positions for 3 joints"),
    (points([1.0], [None], [[0.0] * 3]), "point 0 has 0 positions"),
    (points([1.0], [[0.1] * 3], [[0.0] * 2]), "point 0 has 2 velocities"),
    (points([1.0], [[0.1] * 3], [None], [[0.0]]), "point 0 has 1 accelerations"),
    (points([1.0], [[0.1] * 3], [[0.0, 0.01, 0.0]]), "joint 'b' 0.01"),
    (points([1.0, 1.0], [[0.1] * 3] * 2), "points 0 and 1 do not increase"),
    (points([0.5, 1.0, 0.9], [[0.1] * 3] * 3), "points 1 and 2 do not increase"),
    (points([1.0], [[0.1, np.nan, 0.0]]), "positions of point 0: joint 'b' is nan"),
    (points([1.0], [[0.1, np.inf, 0.0]]), "is inf"),
    (points([1.0, 2.0], [[0.1] * 3] * 2, [[np.nan] * 3, [0.0] * 3]), "velocities of point 0"),
    (points([1.0], [[0.1] * 3], stamp=1_000_000_000), "ended 8.0"),
    (points([1.0], [[11.0, 0.0, 0.0]]), "its limits are -10 and 10"),
    (points([0.0, 0.1], [[0.0] * 3, [5.0, 0.0, 0.0]]), "its velocity limit is 10"),
    (points([1.0, 2.0, 3.0], [[0.0] * 3] * 3, [[0.0] * 3, [0.0, 12.0, 0.0], [0.0] * 3]), "'b' moves at 12 between"),
    (points(np.arange(MOST_POINTS + 1.0), [[0.0] * 3] * (MOST_POINTS + 1)), "at most 5000 are accepted"),
]


@pytest.mark.parametrize(("given", "reason"), RULES, ids=[reason for _, reason in RULES])
def test_what_is_rejected(given, reason):
    arm = Arm()
    arm.stamp = 10_000_000_000 - STEP
    arm.follower.reset()
    arm.run(1)
    with pytest.raises(InputError, match=reason):
        arm.ask(given)
    arm.run(5)
    assert not arm.position.any() and arm.follower.activity == HOLDING


def test_efforts_are_rejected_and_no_goal_is_taken_before_a_state():
    arm, given = Arm(), points([1.0], [[0.1] * 3])
    given.sizes[0, 3] = 3
    with pytest.raises(InputError, match="efforts"):
        arm.ask(given)
    arm.follower.reset()
    with pytest.raises(InputError, match="no joint state"):
        arm.ask(points([1.0], [[0.1] * 3]))
    with pytest.raises(ConfigError, match="path_tolerance needs 1 or 3 numbers"):
        Arm(path_tolerance=(0.1, 0.2))


def test_tolerances_of_a_goal():
    usual = Tolerances(np.array([[0.1] * 3, [0.0] * 3]), np.array([[0.2] * 3, [0.01] * 3]), 1.0)
    found, remark = usual.of_goal(NAMES, [("b", 0.3, -1.0, 0.0), ("a", -1.0, 0.5, 9.0)], [("c", 0.0, -1.0, 0.0)], 0.0)
    assert not remark and found.goal_time == 1.0
    assert found.path.tolist() == [[0.0, 0.3, 0.1], [0.5, 0.0, 0.0]]
    assert found.goal.tolist() == [[0.2, 0.2, 0.2], [0.01, 0.01, 0.0]]
    assert usual.of_goal(NAMES, [], [], 2.5)[0].goal_time == 2.5
    assert usual.of_goal(NAMES, [], [], -1.0)[0].goal_time == 0.0
    for path, goal, time in (
        ([("x", 0.3, 0.0, 0.0)], [], 0.0),
        ([("a", 0.3, 0.0, 0.0)], [("a", -2.0, 0.0, 0.0)], 0.0),
        ([("a", 0.3, 0.0, -0.5)], [], 0.0),
        ([("a", 0.3, 0.0, 0.0)], [], -2.0),
    ):
        found, remark = usual.of_goal(NAMES, path, goal, time)
        assert found is usual and "the default tolerances hold" in remark
    error = np.array([[0.05, -0.15, 0.0], [9.0, 9.0, 9.0]])
    assert violated(usual.path, error, NAMES).startswith("joint 'b': position error 0.15, tolerance 0.1")
    assert violated(usual.goal, 0.0 * error + 0.02, NAMES).startswith("joint 'a': velocity")
    assert violated(0.0 * error, np.full((2, 3), np.inf), NAMES) == ""
    assert violated(usual.path, np.full((2, 3), np.nan), NAMES)


def test_default_tolerances_hold_and_a_goal_changes_its_own_only():
    arm = Arm(path_tolerance=(0.1,), goal_tolerance=(0.05,), goal_time=0.1)
    ends = arm.ask(points([1.0], [[0.5] * 3]))
    arm.run(100)
    arm.off[0] = 0.2
    assert arm.until(ends) is End.PATH_TOLERANCE_VIOLATED and "joint 'a'" in ends[0][1]
    assert "joint 'a'" in arm.follower.remark
    arm.check_smooth(8.0)
    arm.motion.clear()  # now the reference is where the arm is
    arm.off[:] = 0.0
    arm.run(500)
    ends = arm.ask(points([1.0], [[0.5] * 3]), path=[(name, -1.0, 0.0, 0.0) for name in NAMES])
    arm.off[0] = 0.2
    assert arm.until(ends) is End.GOAL_TOLERANCE_VIOLATED
    assert arm.stamp * 1e-9 > 1.1
    arm.off[:] = 0.0
    arm.run(500)
    ends = arm.ask(points([1.0], [[0.0] * 3]))
    arm.off[0] = 0.04
    assert arm.until(ends) is End.SUCCESSFUL
    arm.check_smooth(8.0)


@pytest.mark.parametrize("speed", [0.0, np.nan])
def test_an_arm_that_something_else_stopped_stays_there_when_the_goal_is_given_up(speed):
    """A gate that stops leaves the arm standing; the reference, ahead at full speed, used to take it along and back."""
    arm = Arm(path_tolerance=(0.3,))
    ends = arm.ask(points([1.0], [[2.0] * 3]))
    arm.run(150)
    stands, ahead = arm.position, []
    while arm.follower.activity != HOLDING:
        arm.stamp += STEP
        reference = arm.follower.update(arm.stamp, stands, np.full(3, speed))
        ahead.append(np.abs(reference.position - stands).max() if ends else 0.0)
    assert ends[0][0] is End.PATH_TOLERANCE_VIOLATED
    assert max(ahead) <= 0.31  # the sample that exceeded the tolerance; after it the joints rest where they are
    assert sum(one > 0.0 for one in ahead) <= 1


def test_an_arm_that_lags_brakes_from_where_it_is_when_the_goal_is_given_up():
    """Joints that move by themselves: braked by the limit, from the measured position and velocity."""
    arm = Arm(path_tolerance=(0.3,), max_acceleration=(5.0,))
    ends = arm.ask(points([1.0], [[2.0] * 3]))
    arm.run(250)
    position, speed = arm.position, 0.4 * arm.velocity
    while not ends:
        arm.stamp += STEP
        position = position + speed * STEP * 1e-9
        arm.follower.update(arm.stamp, position, speed)
    arm.motion.clear()
    arm.position, arm.velocity = position, speed
    arm.run(600)
    arm.check_smooth(5.0)
    gone = arm.position - position
    assert arm.follower.activity == HOLDING
    np.testing.assert_allclose(gone, 1.5 * speed**2 / 10.0, rtol=0.02)  # braking begins and ends softly


def test_the_goal_is_reached_at_rest_only():
    arm = Arm()
    ends = arm.ask(points([0.1], [[0.0] * 3]))
    arm.follower.update(arm.stamp + STEP, arm.position, np.zeros(3))
    arm.stamp += STEP
    for _ in range(200):
        arm.stamp += STEP
        arm.follower.update(arm.stamp, arm.position, np.array([0.0, 0.02, 0.0]))  # above stopped_velocity_tolerance
    assert not ends and arm.follower.activity == FOLLOWING
    arm.velocity = np.zeros(3)
    assert arm.until(ends) is End.SUCCESSFUL


@pytest.mark.parametrize("ahead", [-0.25, 0.3])
def test_a_trajectory_keeps_the_times_of_its_stamp_whenever_it_comes(ahead):
    """One that has begun is caught up with, which takes a while; one of the future is waited for."""
    arm = Arm()
    arm.run(200)
    start = arm.stamp + round(ahead * 1e9)
    ends = arm.ask(points([0.0, 1.0], [[0.0] * 3, [0.5] * 3], [[0.0] * 3] * 2, stamp=start))
    begun = arm.stamp
    assert arm.until(ends) is End.SUCCESSFUL
    end = start + 1_000_000_000
    assert end - STEP <= arm.stamp <= (end + STEP if ahead > 0.0 else begun + 1_000_000_000 - 10 * STEP)
    moved = [bool(np.any(velocity)) for _, velocity, _ in arm.motion[201:]]
    assert moved.index(True) == pytest.approx(max(start - begun, 0) / STEP, abs=2)
    assert np.allclose(arm.position, 0.5) and not arm.velocity.any()
    arm.check_smooth(8.0)


def test_preemption_and_cancellation_do_not_jump_at_any_moment():
    for ticks in (1, 3, 100, 250, 400, 510):
        for second in (points([0.0, 1.0], [[1.0] * 3, [0.0] * 3]), points([0.8], [[0.4] * 3]), None):
            arm, stop = Arm(), []
            first = arm.ask(points([1.0], [[1.0, -0.5, 0.2]], [[0.0] * 3]), lambda stop=stop: bool(stop))
            arm.run(ticks)
            if second is None:
                stop.append(True)
                assert arm.until(first) is (End.CANCELED if ticks < 502 else End.SUCCESSFUL)
            else:
                before = len(first)
                ends = arm.ask(second)
                assert before or first == [(End.INVALID_GOAL, "Current goal preempted by new incoming action.")]
                assert arm.until(ends) is End.SUCCESSFUL
                assert np.allclose(arm.position, second.numbers[0][-1])
            assert not arm.velocity.any()
            arm.check_smooth(14.0)


def test_a_canceled_motion_brakes_and_rests_before_the_goal_ends():
    arm, stop = Arm(max_acceleration=(2.0,)), []
    ends = arm.ask(points([2.0], [[2.0] * 3], [[0.0] * 3]), lambda: bool(stop))
    arm.run(500)
    speed, place = arm.velocity.copy(), arm.position.copy()
    stop.append(True)
    arm.run(1)
    assert not ends
    assert arm.until(ends) is End.CANCELED and not arm.velocity.any()
    taken = arm.position - place
    assert (taken > 0.3 * speed**2 / 2.0).all() and (taken < 1.5 * speed**2 / 2.0).all()  # not where it was, at once


def test_a_shaped_trajectory_ends_later_and_a_mode_rests():
    frequency = 2.0
    shaper = make_shaper("zvd", [frequency])
    ends_at, rests = {}, {}
    for kind in (None, shaper):
        arm = Arm(shaper=kind)
        ends = arm.ask(points([1.0], [[1.0] * 3], [[0.0] * 3]))
        assert arm.until(ends) is End.SUCCESSFUL
        ends_at[kind] = arm.stamp
        again, old = arm.ask(points([1.0], [[0.0] * 3], [[0.0] * 3])), arm.stamp
        assert arm.until(again) is End.SUCCESSFUL and arm.stamp > old
        arm.check_smooth(14.0)
        drive = np.array([one[2][0] for one in arm.motion])
        state, w, dt = np.zeros(2), 2.0 * np.pi * frequency, STEP * 1e-9
        turn = np.array([[np.cos(w * dt), np.sin(w * dt) / w], [-w * np.sin(w * dt), np.cos(w * dt)]])
        for force in drive:
            state = turn @ (state + [0.0, -0.5 * dt * force]) + [0.0, -0.5 * dt * force]
        rests[kind] = np.hypot(state[0] * w, state[1])
    assert ends_at[shaper] - ends_at[None] == pytest.approx(shaper.length * 1e9, abs=2 * STEP)
    assert rests[shaper] < 0.02 * rests[None]


@pytest.mark.parametrize("rate", [10, 30, 125])
def test_a_stream_of_short_chunks_arrives_calm_and_late_by_the_shaper(rate):
    """As of a learned policy: eight positions a chunk, the next one after four, and no two chunks agree."""
    frequency, dt = 2.0, STEP * 1e-9
    wanted = lambda t: 0.4 * np.sin(0.6 * t) * np.array([1.0, -0.5, 0.2])  # noqa: E731
    swings, errors = {}, {}
    for shaper in (None, make_shaper("zvd", [frequency])):
        rng, arm, sent, end = np.random.default_rng(7), Arm(shaper=shaper, max_acceleration=(3.0,)), 0, 6.0
        while arm.stamp < (end + 4.0) * 1e9:
            now = arm.stamp * 1e-9
            if now < end and now >= sent * 4.0 / rate:
                times = np.arange(8) / rate
                offset = rng.normal(scale=2e-3, size=3)
                arm.ask(points(times, [wanted(min(now + t, end)) + offset for t in times]))
                sent += 1
            arm.run(1)
        drive = np.array([one[2][0] for one in arm.motion])
        state, w, rows = np.zeros(2), 2.0 * np.pi * frequency, []
        turn = np.array([[np.cos(w * dt), np.sin(w * dt) / w], [-w * np.sin(w * dt), np.cos(w * dt)]])
        for force in drive:
            state = turn @ (state + [0.0, -0.5 * dt * force]) + [0.0, -0.5 * dt * force]
            rows.append(np.hypot(state[0] * w, state[1]))
        swings[shaper is None] = max(rows[-500:])
        q = np.array([one[0] for one in arm.motion])
        lag = 0.0 if shaper is None else 0.5 * shaper.length
        late = [np.abs(q[i] - wanted(i * dt - lag)).max() for i in range(1000, 2800)]
        errors[shaper is None] = max(late)
        assert np.abs(np.diff(q, axis=0)).max() <= 1.0 * dt  # no jumps, though the chunks have some
    assert swings[False] < 1e-3 * swings[True]  # at rest when the stream is over
    assert errors[False] < max(0.01, 1.2 * errors[True])  # and late by half the shaper, no more


def test_endless_joints_take_the_short_way_and_keep_their_turn():
    arm = Arm((6.1, 0.0, 0.0), endless=(True, False, False))
    ends = arm.ask(points([0.5, 1.0], [[0.2, 0.0, 0.0], [0.4, 0.0, 0.0]]), path=[("a", 0.05, 0.0, 0.0)])
    arm.off[0] = -2.0 * np.pi  # an encoder that reports modulo a turn
    assert arm.until(ends) is End.SUCCESSFUL
    assert arm.position[0] == pytest.approx(0.4 + 2.0 * np.pi) and len(arm.motion) < 520


def test_some_joints_and_a_last_point_that_moves():
    arm = Arm((0.1, 0.2, 0.3), allow_partial_joints_goal=True, allow_nonzero_velocity_at_trajectory_end=True)
    ends = arm.ask(points([0.5], [[0.5]], [[0.4]], names=("b",)))
    assert arm.until(ends) is End.SUCCESSFUL
    assert arm.position[[0, 2]].tolist() == [0.1, 0.3] and 0.5 < arm.position[1] < 0.55 and not arm.velocity.any()
    arm.check_smooth(10.0)


def test_joints_may_come_in_any_order():
    arm = Arm()
    way = points([0.5], [[0.3, 0.1, 0.2]], [[0.0] * 3], [[0.0] * 3], names=("c", "a", "b"))
    assert arm.until(arm.ask(way)) is End.SUCCESSFUL
    assert np.allclose(arm.position, [0.1, 0.2, 0.3])


def test_a_gap_of_states_ends_the_goal():
    arm = Arm()
    ends = arm.ask(points([1.0], [[1.0] * 3]))
    arm.run(100)
    arm.stamp += 200_000_000
    arm.run(1)
    assert ends[0][0] is End.INVALID_GOAL and "no joint state for 0.2" in ends[0][1]
    rest = arm.position.copy()
    arm.run(20)
    assert np.array_equal(arm.position, rest)


@pytest.mark.parametrize("first", [[0.03], [0.0, 0.03], [0.0, 0.03, -0.06], [-0.06]])
@pytest.mark.parametrize("seed", range(3))
def test_chunks_that_agree_are_followed_however_they_begin_and_come(first, seed):
    """Their first points are now, a step later or some already past, and they come each 60 to 160 ms.

    What the joints are behind a chunk fades in a way that goes on as before when the next one comes.
    """
    arm, rng, due, wanted = Arm(limit=3.0), np.random.default_rng(seed), 0, []
    way = np.array([0.3, -0.15, 0.2])
    begin = arm.stamp

    def at(time):
        return np.sin(0.8 * np.pi * time) * way

    for _ in range(3000):
        arm.run(1)
        time = (arm.stamp - begin) * 1e-9
        wanted.append(at(time))
        if arm.stamp >= due:
            due = arm.stamp + int(rng.integers(60, 160)) * 1_000_000
            since = float(rng.choice(first))
            stamp = arm.stamp + round(1e9 * min(since, 0.0)) if since < 0.0 else 0
            after = max(since, 0.0) + 0.03 * np.arange(8)
            arm.ask(points(after, [at(time + min(since, 0.0) + late) for late in after], stamp=stamp))
    position, velocity, _ = map(np.array, zip(*arm.motion[1:], strict=True))
    assert np.abs(velocity).max() < 1.5 and np.abs(position - wanted).max() < 0.6
    away = np.abs(np.diff(position, axis=0) / (1e-9 * STEP) - 0.5 * (velocity[1:] + velocity[:-1]))
    assert away.max() < 0.3  # one motion, without a jump


@pytest.mark.parametrize("seed", range(4))
def test_whatever_chunks_come_the_reference_stays_within_positions_and_speeds(seed):
    """Near a limit, late, early, of points of 8 ms to 0.3 s, moving at their ends, of some joints, and canceled."""
    rng = np.random.default_rng(seed)
    arm = Arm(position=(0.7, 0.8, -0.7), limit=1.0, shaper=make_shaper("zvd", [3.0], [0.0]) if seed % 2 else None,
              allow_partial_joints_goal=True, allow_nonzero_velocity_at_trajectory_end=True)  # fmt: skip
    accepted = 0
    for _ in range(400):
        count, joints = rng.integers(1, 5), rng.permutation(3)[: rng.integers(1, 4)]
        times = np.cumsum(rng.choice([0.008, 0.03, 0.1, 0.3], count)) - (0.008 if rng.random() < 0.5 else 0.0)
        where = arm.position + rng.normal(0.0, rng.choice([0.001, 0.02, 0.2]), (count, 3)).cumsum(axis=0)
        where, speed = np.clip(where, -1.0, 1.0)[:, joints], rng.normal(0.0, 0.5, (count, len(joints)))
        moves, gone = rng.random() < 0.4, rng.random() < 0.1
        given = (where, speed) if moves else (where,)
        stamp = arm.stamp + int(rng.choice([-arm.stamp, -20, 50, 500])) * 1_000_000
        try:
            arm.ask(points(times, *given, names=tuple(NAMES[i] for i in joints), stamp=max(stamp, 0)), lambda g=gone: g)
            accepted += 1
        except InputError:
            pass
        arm.run(int(rng.choice([5, 5, 20, 60])))
    arm.run(1500)
    position, velocity, _ = (np.array(one) for one in zip(*arm.motion, strict=True))
    assert np.abs(position).max() < 1.002 and np.abs(velocity).max() < 1.06
    assert np.abs(np.diff(position, axis=0)).max() < 1.06 * STEP * 1e-9 * 1.01 and not arm.velocity.any()
    assert accepted > 100
