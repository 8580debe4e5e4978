"""The time law of a path: every limit held, as fast as closed forms say, at rest at corners, stopped within limits."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.joint_path import JointPath
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.path_timing import PathTiming, time_path, timing_grid
from flexarm_core.path.pose_path import PosePath

LIMITS = PathLimits(0.5, 2.0, 1.0, 5.0)
EXACTLY = 1.0 + 1e-9


def _line(length: float = 1.0) -> PosePath:
    return PosePath([0.0, 0.0, 0.0], np.eye(3)).line([length, 0.0, 0.0])


def _random_path(generator: np.random.Generator, size: float) -> PosePath:
    """One to three pieces of any kind."""
    path = PosePath(
        generator.normal(size=3), Rotation.random(random_state=int(generator.integers(1 << 30))).as_matrix()
    )
    for _ in range(generator.integers(1, 4)):
        here, R = path.end
        points = here + size * generator.normal(size=(4, 3))
        turns = [
            (Rotation.from_rotvec(v) * Rotation.from_matrix(R)).as_matrix() for v in generator.normal(0, 0.5, (4, 3))
        ]
        kind = generator.integers(5)
        if kind == 0:
            path = path.line(points[0], turns[0])
        elif kind == 1:
            path = path.arc(points[0], points[1], turns[1])
        elif kind == 2:
            path = path.circle(
                points[0], generator.normal(size=3), 4.0 * generator.normal(), bool(generator.integers(2))
            )
        elif kind == 3:
            path = path.turn(generator.normal(size=3))
        else:
            path = path.spline(points, turns)
    return path


def _joints(path: PosePath, generator: np.random.Generator) -> tuple[JointPath, np.ndarray, np.ndarray]:
    """Joints that depend on the position of the tool linearly, with limits of many sizes."""
    grid, M = timing_grid(path, 150), generator.normal(size=(7, 3))
    positions, (first, second) = path.poses(grid)[0], path.motions(grid)
    joints = JointPath(grid, positions @ M.T, first[:, :3] @ M.T, second[:, :3] @ M.T)
    velocity, acceleration = 10.0 ** generator.uniform(-1.0, 1.0, size=(2, 7))
    return joints, velocity, acceleration


def _ratio(timing: PathTiming, limits: PathLimits, times: np.ndarray, joint_limits=None) -> float:
    """Largest ratio of a rate or acceleration to its limit at times."""
    ratios = [0.0]
    for time in times:
        _, _, twist, acceleration = timing.tool(time)
        ratios.append(np.linalg.norm(twist[:3]) / limits.linear_velocity)
        ratios.append(np.linalg.norm(twist[3:]) / limits.angular_velocity)
        ratios.append(np.linalg.norm(acceleration[:3]) / limits.linear_acceleration)
        ratios.append(np.linalg.norm(acceleration[3:]) / limits.angular_acceleration)
        if joint_limits is not None:
            _, rate, acceleration = timing.joints(time)
            ratios += [(np.abs(rate) / joint_limits[0]).max(), (np.abs(acceleration) / joint_limits[1]).max()]
    return max(ratios)


@given(st.integers(0, 100_000), st.floats(-2.0, 0.5), st.booleans())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_every_limit_is_held_exactly_and_one_is_met(seed, size, with_joints):
    generator = np.random.default_rng(seed)
    path = _random_path(generator, 10.0**size)
    limits = PathLimits(*10.0 ** generator.uniform(-1.5, 1.0, size=4))
    joints, *joint_limits = _joints(path, generator) if with_joints else (None, None, None)
    timing = time_path(path, limits, None, joints, *joint_limits)
    times = np.concatenate((generator.uniform(0.0, timing.duration, 200), [0.0, timing.duration]))
    reached = _ratio(timing, limits, times, joint_limits if with_joints else None)
    assert 0.2 < reached <= EXACTLY


@given(st.integers(0, 100_000), st.booleans())
@settings(max_examples=16, deadline=None, derandomize=True)
def test_a_stop_holds_every_limit_and_stays_on_the_path(seed, with_joints):
    generator = np.random.default_rng(seed)
    path = _random_path(generator, 0.3)
    joints, *joint_limits = _joints(path, generator) if with_joints else (None, None, None)
    timing = time_path(path, LIMITS, None, joints, *joint_limits)
    for time in generator.uniform(0.0, timing.duration, 3):
        stopped = timing.stopped(time)
        assert time <= stopped.duration <= timing.duration + 1e-9 and stopped.end <= path.length
        for before in generator.uniform(0.0, time, 3):
            assert np.allclose(stopped.at(before), timing.at(before), rtol=1e-9, atol=1e-9)
        s, rate, _ = timing.at(time)
        assert np.allclose(stopped.at(time)[:2], (s, rate), rtol=1e-6, atol=1e-9)
        times = generator.uniform(time, stopped.duration, 40)
        assert _ratio(stopped, LIMITS, times, joint_limits if with_joints else None) <= EXACTLY
        assert stopped.at(stopped.duration) == (stopped.end, 0.0, 0.0)
        rates = [stopped.at(t)[1] for t in np.linspace(time, stopped.duration, 30)]
        assert np.abs(np.diff(rates)).max() < 0.5 * max(rates) + 1e-9  # no jump to rest


def test_a_straight_line_takes_the_time_of_the_trapezoid():
    for length, v, a in ((1.0, 0.5, 2.0), (1.0, 10.0, 2.0), (1e-3, 0.5, 2.0), (30.0, 0.2, 0.01), (0.5, 1e-3, 1e-2)):
        best = length / v + v / a if length > v**2 / a else 2.0 * np.sqrt(length / a)
        duration = time_path(_line(length), PathLimits(v, a, 1.0, 1.0)).duration
        assert best * (1.0 - 1e-9) <= duration < 1.01 * best


def test_a_circle_takes_the_time_that_its_centripetal_acceleration_allows():
    path = PosePath([0.5, 0.0, 0.0], np.eye(3)).circle([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], 8.0 * np.pi)
    duration = time_path(path, PathLimits(5.0, 2.0, 1.0, 1.0)).duration
    best = path.length / np.sqrt(2.0 * 0.5)
    assert best < duration < 1.05 * best  # it also begins and ends at rest


def test_a_turn_on_the_spot_takes_the_time_of_the_trapezoid():
    timing = time_path(PosePath([0.0, 0.0, 0.0], np.eye(3)).turn([0.0, 0.0, 4.0]), LIMITS)
    assert 4.2 * (1.0 - 1e-9) <= timing.duration < 1.01 * 4.2


def test_joint_limits_alone_make_a_time_law():
    grid = np.linspace(0.0, 2.0, 101)
    joints = JointPath(grid, np.column_stack((grid, -3.0 * grid)), np.tile((1.0, -3.0), (101, 1)), np.zeros((101, 2)))
    timing = time_path(None, None, None, joints, np.array([1.0, np.inf]), np.array([10.0, 6.0]))
    assert np.isclose(timing.duration, 2.0 / 1.0 + 1.0 / 2.0, rtol=5e-3)
    position, rate, acceleration = timing.joints(0.1)
    assert np.allclose((position, rate, acceleration), np.outer((0.5 * 2.0 * 0.1**2, 0.2, 2.0), (1.0, -3.0)), rtol=1e-3)
    with pytest.raises(InputError, match="no tool path"):
        timing.tool(0.1)


def test_rates_and_accelerations_are_the_derivatives_of_the_coordinate():
    timing = time_path(_random_path(np.random.default_rng(3), 0.3), LIMITS)
    h = 1e-7
    for time in np.random.default_rng(0).uniform(0.01, timing.duration - 0.01, 300):
        (s0, v0, u0), (s1, v1, u1) = timing.at(time - h), timing.at(time + h)
        _, v, u = timing.at(time)
        assert np.isclose((s1 - s0) / (2.0 * h), v, rtol=1e-5, atol=1e-6)
        if u0 == u1:  # within one stage
            assert np.isclose((v1 - v0) / (2.0 * h), u, rtol=1e-4, atol=1e-5)


def test_twist_and_acceleration_are_the_derivatives_of_the_pose():
    path = PosePath([0.4, 0.0, 0.3], np.eye(3)).circle([0.2, 0.0, 0.3], [0.1, 0.0, 1.0], 5.0, follow=True)
    timing, h = time_path(path, LIMITS), 1e-5
    for time in (0.1, 0.5, 0.5 * timing.duration):
        (p0, R0, v0, _), (p1, R1, v1, _), (_, _, v, a) = (timing.tool(time + shift) for shift in (-h, h, 0.0))
        turned = Rotation.from_matrix(R1 @ R0.T).as_rotvec()
        assert np.allclose(np.concatenate((p1 - p0, turned)) / (2.0 * h), v, atol=1e-6)
        assert np.allclose((v1 - v0) / (2.0 * h), a, atol=1e-4)


def test_the_tool_rests_at_the_ends_and_at_corners_and_runs_through_smooth_joints():
    path = _line().line([1.0, 1.0, 0.0]).circle([0.5, 1.0, 0.0], [0.0, 0.0, 1.0], np.pi)
    timing = time_path(path, LIMITS)
    times = np.linspace(0.0, timing.duration, 20_001)
    s, rate, _ = np.array([timing.at(t) for t in times]).T
    assert timing.at(-1.0) == (0.0, 0.0, 0.0) and timing.at(timing.duration + 1.0) == (path.length, 0.0, 0.0)
    assert rate[0] == 0.0 and rate[-1] == 0.0 and (np.diff(s) >= 0.0).all()
    assert np.array_equal(path.corners, [1.0])
    assert rate[np.abs(s - 1.0) < 1e-6].max() < 3e-3  # v^2 = 2 a d
    assert rate[np.abs(s - 2.0) < 1e-3].min() > 0.3


def test_joints_rest_where_their_own_tangent_jumps():
    grid = np.sort(np.append(np.linspace(0.0, 1.0, 41), 0.5))
    behind = np.arange(42) > 20
    slope = np.where(behind, -1.0, 1.0)
    position = np.where(behind, 1.0 - grid, grid)
    joints = JointPath(grid, position[:, None], slope[:, None], 0.0 * slope[:, None])
    timing = time_path(None, None, None, joints, np.array([10.0]), np.array([4.0]))
    assert np.isclose(timing.duration, 2.0 * 2.0 * np.sqrt(0.5 / 4.0), rtol=1e-2)
    assert timing.at(0.5 * timing.duration)[1] < 1e-6


def test_a_stop_on_a_line_takes_no_longer_than_the_limit_demands():
    timing = time_path(_line(), LIMITS)
    for time in (0.1, 1.0, 1.5, timing.duration - 0.1):
        rate = timing.at(time)[1]
        stopped = timing.stopped(time)
        assert np.isclose(stopped.duration - time, rate / LIMITS.linear_acceleration, rtol=1e-2)
        assert np.isclose(stopped.end, timing.at(time)[0] + 0.5 * rate**2 / LIMITS.linear_acceleration, rtol=1e-3)


def test_stops_before_the_begin_after_the_end_and_twice():
    timing = time_path(_line(), LIMITS)
    assert timing.stopped(timing.duration) is timing and timing.stopped(99.0) is timing
    for time in (0.0, -1.0):
        still = timing.stopped(time)
        assert still.duration == 0.0 and still.at(0.3) == (0.0, 0.0, 0.0) and np.allclose(still.tool(0.0)[0], 0.0)
    once = timing.stopped(1.0)
    twice = once.stopped(1.1)
    assert np.isclose(twice.end, once.end, rtol=1e-6) and np.isclose(twice.duration, once.duration, rtol=1e-3)


def test_a_joint_path_is_exact_for_quintics_and_continuous():
    grid = np.array([0.0, 0.3, 0.7, 1.5])
    polynomial = np.polynomial.Polynomial([0.3, -1.0, 0.5, 2.0, -0.7, 0.4])
    rows = [polynomial.deriv(order)(grid)[:, None] if order else polynomial(grid)[:, None] for order in range(3)]
    s = np.linspace(0.0, 1.5, 50)
    sampled = JointPath(grid, *rows).sample(s)
    for order, values in enumerate(sampled):
        expected = polynomial.deriv(order)(s) if order else polynomial(s)
        assert np.allclose(values[:, 0], expected, atol=1e-11)


def test_a_finer_grid_changes_the_duration_little():
    path = _random_path(np.random.default_rng(11), 0.3)
    coarse, fine = (time_path(path, LIMITS, timing_grid(path, stages)).duration for stages in (150, 1500))
    assert fine <= coarse * 1.001 and coarse < 1.03 * fine


def test_the_solver_is_loaded_late_and_says_nothing():
    code = (
        "import sys, logging; from flexarm_core.path import path_timing as p;"
        "assert 'toppra' not in sys.modules and 'matplotlib' not in sys.modules;"
        "before = list(logging.root.handlers); p.load_solver(); assert 'toppra' in sys.modules;"
        "assert logging.root.handlers == before"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "" and done.stderr == ""


GRID = np.linspace(0.0, 1.0, 5)
ROWS = np.zeros((5, 2))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PathLimits(0.0, 1.0, 1.0, 1.0), r"linear_velocity must lie in \[1e-06, inf\]"),
        (lambda: PathLimits(1.0, 1.0, 1.0, np.inf), "angular_acceleration must be finite"),
        (lambda: PathLimits(1.0, 1.0, np.nan, 1.0), "angular_velocity must be finite"),
    ],
)
def test_limits_without_meaning_are_refused(make, said):
    with pytest.raises(ConfigError, match=said):
        make()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: time_path(None, LIMITS), "give a path of the tool, a joint path, or both"),
        (lambda: time_path(_line(), None), "needs path limits"),
        (lambda: time_path(PosePath([0.0, 0.0, 0.0], np.eye(3)), LIMITS), "the path has no length"),
        (lambda: time_path(_line(), LIMITS, np.array([0.0, np.nan])), "the grid needs at least two finite"),
        (lambda: time_path(_line(), LIMITS, np.array([0.0, 1.0, 0.5])), "that do not fall"),
        (lambda: JointPath(GRID, ROWS, ROWS[1:], ROWS), "first must have one row for each of 5 coordinates"),
        (lambda: JointPath(GRID, ROWS, ROWS + np.nan, ROWS), "first is not finite at s = 0 m"),
        (lambda: JointPath(-GRID, ROWS, ROWS, ROWS), "not falling"),
        (lambda: JointPath(np.array([0.0, 0.5, 0.5, 0.5, 1.0]), ROWS, ROWS, ROWS), "at most twice"),
        (
            lambda: time_path(_line(), LIMITS, None, JointPath(GRID, ROWS, ROWS, ROWS), np.ones(3), np.ones(2)),
            "joint_velocity must be 2 limits > 0",
        ),
        (
            lambda: time_path(_line(2.0), LIMITS, None, JointPath(GRID, ROWS, ROWS, ROWS), np.ones(2), np.ones(2)),
            "the joint path covers",
        ),
        (
            lambda: time_path(
                _line(0.5).line([0.5, 0.5, 0.0]),
                LIMITS,
                None,
                JointPath(GRID, ROWS, ROWS, ROWS),
                np.ones(2),
                np.ones(2),
            ),
            "corner at s = 0.5 m, which must stand in the joint path's grid twice",
        ),
        (
            lambda: time_path(None, None, None, JointPath(GRID, ROWS, ROWS, ROWS), np.ones(2), np.ones(2)),
            "nothing limits the speed along the path, or nothing moves",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_reason(make, said):
    with pytest.raises(InputError, match=said):
        make()
