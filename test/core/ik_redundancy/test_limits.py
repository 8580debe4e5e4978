"""Intervals of one tick against those of the hardware gate, and the step within them against quadprog and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.limits import JointLimits, acceleration_bounds
from flexarm_core.ik_redundancy.limits import MotionLimits, displacement_bounds, limited_step
from flexarm_core.ik_redundancy.plan import make_plan
from flexarm_core.ik_redundancy.step import RedundancyStep, Task

LEVELS = [[0, 1, 2], [3, 4, 5]]


def bounds_of(limits, q, v, dt):
    bounds = np.empty((2, len(q)))
    displacement_bounds(limits.table(), np.array(q, dtype=float), np.array(v, dtype=float), dt, bounds)
    return bounds


def limited(J, t, offset, weights, lo, hi, levels=LEVELS, gain=1.0, **way):
    """Displacement and shares (2, 6)."""
    share, out = np.empty((2, 6)), np.empty(J.shape[1])
    limited_step(Task(J, t, offset), gain, make_plan(weights, levels, **way), np.array((lo, hi)), share, out)
    return out, share


def well_conditioned(rng, n, m=6):
    U, V = (np.linalg.qr(rng.normal(size=(size, size)))[0] for size in (m, n))
    return (U * rng.uniform(0.3, 2.0, m)) @ V[:m]


def random_problem(rng, n):
    """Jacobian (6, n), offset, weights and an interval that the step without limits mostly leaves."""
    J, offset, weights = well_conditioned(rng, n), 0.2 * rng.normal(size=n), 10.0 ** rng.uniform(-1.0, 1.0, n)
    return J, offset, weights, -rng.uniform(0.0, 0.3, n), rng.uniform(0.0, 0.3, n)


# --- the interval of one tick ---


def random_motion_limits(rng, n):
    return MotionLimits(
        lower=np.where(rng.random(n) < 0.2, -np.inf, -rng.uniform(0.1, 3.0, n)),
        upper=np.where(rng.random(n) < 0.2, np.inf, rng.uniform(0.1, 3.0, n)),
        velocity=np.where(rng.random(n) < 0.1, np.inf, rng.uniform(0.2, 3.0, n)),
        acceleration=rng.uniform(1.0, 20.0, n),
    )


def accelerations(rng, dt, trials=400, n=8):
    """Lowest and highest of the interval and of the gate, relative to the acceleration limit, at random states."""
    for _ in range(trials):
        limits = random_motion_limits(rng, n)
        q = rng.uniform(np.maximum(limits.lower, -4.0) - 0.01, np.minimum(limits.upper, 4.0) + 0.01)
        v = rng.uniform(-1.1, 1.1, n) * np.minimum(limits.velocity, 3.0)
        gate = JointLimits(
            limits.lower, limits.upper, limits.velocity, limits.acceleration, np.full(n, 1.0), np.full(n, 1.0)
        )
        ours = ((bound / dt - v) / dt / limits.acceleration for bound in bounds_of(limits, q, v, dt))
        yield (*ours, *(bound / limits.acceleration for bound in acceleration_bounds(gate, q, v, dt)))


@pytest.mark.parametrize("dt", (1e-3, 4e-3, 0.02))
def test_the_interval_is_that_of_the_hardware_gate_and_no_wider(dt):
    for lowest, highest, gate_lowest, gate_highest in accelerations(np.random.default_rng(0), dt):
        assert np.allclose(lowest, gate_lowest, rtol=0.0, atol=1e-6)
        assert np.allclose(highest, gate_highest, rtol=0.0, atol=1e-6)
        room = (
            gate_highest - gate_lowest > 1e-6
        )  # where there is no choice, braking may be weaker by what rounding eats
        assert np.all((lowest >= gate_lowest - 1e-11)[room]) and np.all((highest <= gate_highest + 1e-11)[room])


def drive(limits, choose, dt, ticks):
    """Positions (ticks, n) of joints that start at rest at zero and take ``choose(tick, lo, hi)``."""
    n = len(limits.lower)
    q, v, positions = np.zeros(n), np.zeros(n), [np.zeros(n), np.zeros(n)]
    for tick in range(ticks):
        lo, hi = bounds_of(limits, q, v, dt)
        assert np.all(lo <= hi)
        step = choose(tick, lo, hi)
        q, v = q + step, step / dt
        positions.append(q)
    return np.array(positions)


def ways_to_choose():
    rng = np.random.default_rng(1)
    return {
        "highest": lambda tick, lo, hi: hi,
        "lowest": lambda tick, lo, hi: lo,
        "to and fro": lambda tick, lo, hi: hi if tick // 150 % 2 else lo,
        "one or the other at random": lambda tick, lo, hi: np.where(rng.random(len(lo)) < 0.5, lo, hi),
        "at random": lambda tick, lo, hi: rng.uniform(lo, hi),
    }


@pytest.mark.parametrize("way", ways_to_choose())
@pytest.mark.parametrize("dt", (1e-3, 0.01))
def test_joints_driven_at_their_intervals_respect_every_limit_when_differenced(way, dt):
    limits = MotionLimits(
        np.array([-0.3, -1.0, -0.02, -np.inf]),
        np.array([0.2, 1.0, 0.02, np.inf]),
        np.array([1.0, 0.4, np.inf, 2.0]),
        np.array([5.0, 2.0, 12.0, 8.0]),
    )
    q = drive(limits, ways_to_choose()[way], dt, 1500)
    v = np.diff(q, axis=0) / dt
    a = np.diff(v, axis=0) / dt
    assert np.all(q <= limits.upper) and np.all(q >= limits.lower)
    assert np.all(abs(v) <= limits.velocity) and np.all(abs(a) <= limits.acceleration)


def test_joints_driven_at_their_intervals_come_up_to_their_limits():
    limits = MotionLimits(np.array([-0.3]), np.array([0.2]), np.array([1.0]), np.array([5.0]))
    q = drive(limits, lambda tick, lo, hi: hi, 1e-3, 2000)
    assert q[-1] == pytest.approx(0.2, abs=1e-6)
    assert (np.diff(q, axis=0) / 1e-3).max() == pytest.approx(
        0.5 * (0.2 * 5.0 * 4.0) ** 0.5, rel=0.01
    )  # half way up, down


@pytest.mark.parametrize("side", (-1.0, 1.0))
def test_a_joint_beyond_its_limit_comes_back_and_stays(side):
    limits = MotionLimits(np.array([-0.3]), np.array([0.3]), np.array([1.0]), np.array([5.0]))
    q, v, dt = np.array([side * 0.4]), np.array([side * 0.5]), 1e-3
    for _ in range(1500):
        lo, hi = bounds_of(limits, q, v, dt)
        step = hi if side > 0.0 else lo  # outwards, as far as it may
        assert abs(step[0] / dt - v[0]) <= 5.0 * dt + 1e-12
        q, v = q + step, step / dt
    assert abs(q[0]) <= 0.3 + 1e-9


def test_without_acceleration_limits_the_interval_is_that_of_position_and_velocity():
    unlimited = np.full(3, np.inf)
    limits = MotionLimits(np.array([-1.0, -1.0, -np.inf]), np.array([1.0, 1.0, np.inf]), np.ones(3), unlimited)
    lo, hi = bounds_of(limits, [0.995, 0.0, 5.0], [0.3, -3.0, 0.0], 0.01)
    assert np.allclose(lo, [-0.01, -0.01, -0.01], rtol=1e-8) and np.allclose(hi, [0.005, 0.01, 0.01], rtol=1e-8)
    lo, hi = bounds_of(MotionLimits(-unlimited, unlimited, unlimited, unlimited), np.zeros(3), np.zeros(3), 0.01)
    assert np.all(lo == -np.inf) and np.all(hi == np.inf)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.floats(-5.0, 5.0), st.floats(-10.0, 10.0), st.floats(1e-4, 0.1), st.floats(0.1, 100.0), st.floats(0.01, 10.0))
def test_the_interval_is_never_empty_and_within_the_acceleration_limit(q, v, dt, strongest, fastest):
    limits = MotionLimits(np.array([-1.0]), np.array([1.0]), np.array([fastest]), np.array([strongest]))
    lo, hi = bounds_of(limits, [q], [v], dt)
    assert np.isfinite(lo[0]) and lo[0] <= hi[0]
    rounding = 1e-14 * (1.0 + abs(v)) / dt
    assert (
        abs(lo[0] / dt - v) <= strongest * dt + rounding * dt and abs(hi[0] / dt - v) <= strongest * dt + rounding * dt
    )


# --- the step within intervals that leave a solution ---


def test_within_intervals_the_step_is_the_solution_of_the_quadratic_program():
    quadprog = pytest.importorskip("quadprog")
    rng, worst, active = np.random.default_rng(2), 0.0, 0
    for trial in range(2000):
        n = int(rng.integers(7, 11))
        J, offset, weights, lo, hi = random_problem(rng, n)
        t = J @ rng.uniform(lo, hi)
        levels = ([[0, 1, 2, 3, 4, 5]], LEVELS, [[5, 0], [1, 2, 3], [4]])[trial % 3]
        got, share = limited(J, t, offset, weights, lo, hi, levels, length_scale=rng.uniform(0.1, 1.0))
        k = weights / weights.max()
        sides = np.hstack((J.T, np.eye(n), -np.eye(n)))
        wanted = quadprog.solve_qp(np.diag(k), -k * offset, sides, np.concatenate((t, lo, -hi)), 6)[0]
        worst = max(worst, abs(got - wanted).max())
        active += bool(np.any((got == lo) | (got == hi)))
        assert np.all(share == 1.0)
    assert worst < 1e-7
    assert active > 1000


def test_intervals_that_nothing_leaves_change_nothing():
    rng = np.random.default_rng(3)
    for _ in range(200):
        J, offset, weights, _, _ = random_problem(rng, 8)
        t = 0.1 * rng.normal(size=6)
        free = RedundancyStep(weights, LEVELS).solve(J, t, offset)
        got, share = limited(J, t, offset, weights, np.full(8, -np.inf), np.full(8, np.inf))
        assert np.array_equal(got, free) and np.all(share == 1.0)


def test_only_a_share_of_the_way_to_the_origin_is_gone_within_intervals():
    quadprog = pytest.importorskip("quadprog")
    rng = np.random.default_rng(4)
    for _ in range(100):
        J, offset, weights, lo, hi = random_problem(rng, 8)
        t = J @ rng.uniform(lo, hi)
        got, _ = limited(J, t, offset, weights, lo, hi, gain=0.3)
        k, sides = weights / weights.max(), np.hstack((J.T, np.eye(8), -np.eye(8)))
        wanted = quadprog.solve_qp(np.diag(k), -0.3 * k * offset, sides, np.concatenate((t, lo, -hi)), 6)[0]
        assert abs(got - wanted).max() < 1e-7


def test_costless_joints_do_what_they_can_within_intervals():
    quadprog = pytest.importorskip("quadprog")
    rng = np.random.default_rng(5)
    for _ in range(200):
        J, offset, weights, lo, hi = random_problem(rng, 9)
        t = J @ rng.uniform(lo, hi)
        weights[:2] = 0.0
        got, share = limited(J, t, offset, weights, lo, hi)
        k, sides = weights / weights.max(), np.hstack((J.T, np.eye(9), -np.eye(9)))
        wanted = quadprog.solve_qp(np.diag(np.maximum(k, 1e-9)), -k * offset, sides, np.concatenate((t, lo, -hi)), 6)[0]
        cost, least = (float(np.sum(k * (step + offset) ** 2)) for step in (got, wanted))
        assert abs(J @ got - t).max() < 1e-9 and np.all(share[1] == 1.0)
        assert cost <= least * (1.0 + 1e-4) + 1e-6


# --- and within intervals that leave none ---


def test_the_first_level_is_exact_wherever_it_alone_can_be_had():
    rng, cut = np.random.default_rng(6), 0
    for _ in range(1000):
        J, offset, weights, lo, hi = random_problem(rng, 7)
        t = J @ rng.uniform(lo, hi)
        t[3:] += rng.normal(size=3)
        got, share = limited(J, t, offset, weights, lo, hi, length_scale=0.3)
        assert abs(J[:3] @ got - t[:3]).max() < 1e-9
        assert np.all(share[1, :3] == 1.0)
        cut += bool(share[1, 3:].min() < 1.0)
    assert cut > 500


def nearest_error(J, t, lo, hi):
    """Least ``|J d - t|`` in the interval, by scipy."""
    found = scipy.optimize.lsq_linear(J, t, (lo - 1e-15, hi + 1e-15), method="bvls", tol=1e-14, max_iter=1000)
    return float(np.linalg.norm(J @ found.x - t))


def test_a_first_level_out_of_reach_comes_as_near_as_scipy_says():
    rng, worst = np.random.default_rng(7), 0.0
    for _ in range(300):
        J, offset, weights, lo, hi = random_problem(rng, 7)
        t = J @ rng.uniform(lo, hi)
        t[:3] += 2.0 * rng.normal(size=3)
        best = nearest_error(J[:3], t[:3], lo, hi)
        if best < 1e-3:
            continue
        got, _ = limited(J, t, offset, weights, lo, hi)
        worst = max(worst, float(np.linalg.norm(J[:3] @ got - t[:3])) - best)
    assert worst < 1e-6


def test_rotations_count_by_the_length_scale_where_a_level_is_out_of_reach():
    rng, worst = np.random.default_rng(8), 0.0
    for _ in range(200):
        J, offset, weights, lo, hi = random_problem(rng, 7)
        t = 2.0 * rng.normal(size=6)
        scale = np.repeat([1.0, 0.3], 3)
        best = nearest_error(scale[:, None] * J, scale * t, lo, hi)
        got, _ = limited(J, t, offset, weights, lo, hi, [[0, 1, 2, 3, 4, 5]], length_scale=0.3)
        worst = max(worst, float(np.linalg.norm(scale * (J @ got - t))) - best)
    assert worst < 1e-6


def test_the_second_level_comes_as_near_as_the_first_allows_to_a_thousandth():
    quadprog = pytest.importorskip("quadprog")
    rng, worst = np.random.default_rng(9), 0.0
    for _ in range(300):
        J, offset, weights, lo, hi = random_problem(rng, 7)
        t = J @ rng.uniform(lo, hi)
        t[3:] += rng.normal(size=3)
        got, _ = limited(J, t, offset, weights, lo, hi)
        sides = np.hstack((J[:3].T, np.eye(7), -np.eye(7)))
        quadratic = J[3:].T @ J[3:] + 1e-9 * np.eye(7)
        best = quadprog.solve_qp(quadratic, J[3:].T @ t[3:], sides, np.concatenate((t[:3], lo, -hi)), 3)[0]
        worst = max(worst, float(np.linalg.norm(J[3:] @ got - t[3:]) / np.linalg.norm(J[3:] @ best - t[3:])) - 1.0)
    assert worst < 1e-3


def test_a_row_that_is_given_up_at_a_singularity_takes_nothing_from_the_levels_below():
    J = np.array(
        [[1e-5, 0.0, 0.0], [1.0, 1.0, 0.0]]
    )  # row 0 is given up; row 1 needs joint 0 once joint 1 is at its limit
    got, share = limited(
        J, np.array([0.0, 0.5]), np.zeros(3), np.ones(3), np.full(3, -0.4), np.array([0.4, 0.1, 0.4]), [[0], [1]]
    )
    assert share[0, 0] == 0.0
    assert J[1] @ got == pytest.approx(0.5, abs=1e-9)


def test_what_limits_left_of_a_row_is_reported():
    J = np.eye(6)
    got, share = limited(J, np.full(6, 0.4), np.zeros(6), np.ones(6), np.full(6, -1.0), np.array([0.1, *[1.0] * 5]))
    assert np.allclose(got, [0.1, *[0.4] * 5], atol=1e-9)
    assert share[1, 0] == pytest.approx(0.25, abs=1e-6) and np.all(share[1, 1:] == 1.0)


BOUND = st.floats(0.0, 0.5) | st.sampled_from([0.0, 1e-12, np.inf])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.integers(0, 10_000),
    st.lists(BOUND, min_size=7, max_size=7),
    st.lists(BOUND, min_size=7, max_size=7),
    st.sampled_from([0.0, 1e-6, 1.0, 1e3]),
    st.sampled_from(["regular", "zero", "repeated", "singular"]),
    st.booleans(),
    st.booleans(),
)
def test_no_problem_whatever_is_answered_outside_the_interval(seed, below, above, size, kind, free, shifted):
    rng = np.random.default_rng(seed)
    J, offset, weights = well_conditioned(rng, 7), rng.normal(size=7), 10.0 ** rng.uniform(-1.0, 1.0, 7)
    J[1] = {"regular": J[1], "zero": 0.0 * J[1], "repeated": J[0], "singular": J[0] + J[2]}[kind]
    weights[:2] *= 0.0 if free else 1.0
    lo, hi = -np.array(below), np.array(above)
    if shifted:  # zero is outside
        width = np.where(np.isfinite(hi), hi, 1.0)
        lo, hi = width.copy(), 2.0 * width
    got, share = limited(J, size * rng.normal(size=6), offset, weights, lo, hi, band=0.05)
    assert np.all(got >= lo) and np.all(got <= hi)
    assert np.isfinite(share).all() and np.all((share >= 0.0) & (share <= 1.0))


def test_intervals_without_width_are_answered_with_what_they_are():
    rng = np.random.default_rng(10)
    for _ in range(100):
        J, offset, weights, lo, hi = random_problem(rng, 7)
        only = rng.uniform(lo, hi)
        got, _ = limited(J, rng.normal(size=6), offset, weights, only, only)
        assert np.array_equal(got, only)


# --- limits that mean nothing ---


@pytest.mark.parametrize(
    ("field", "value"),
    (
        ("lower", [0.0, 1.0]),
        ("lower", [0.0, np.nan]),
        ("upper", [1.0]),
        ("upper", [-1.0, -1.0]),
        ("velocity", [1.0, 0.0]),
        ("velocity", [1.0, np.nan]),
        ("acceleration", [-1.0, 1.0]),
        ("acceleration", [[1.0, 1.0]]),
    ),
)
def test_limits_without_meaning_are_refused(field, value):
    fields = {"lower": [-1.0, -1.0], "upper": [1.0, 1.0], "velocity": [1.0, 1.0], "acceleration": [1.0, 1.0]}
    with pytest.raises(ConfigError, match=field):
        MotionLimits(**{name: np.array(number) for name, number in (fields | {field: value}).items()})
