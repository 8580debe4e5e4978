"""The step against the equations of Karush, Kuhn and Tucker, solved by numpy, and against the cost that it promises."""

from __future__ import annotations

import numpy as np
import pytest
from counted import count_operations
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy import step
from flexarm_core.ik_redundancy.plan import make_plan
from flexarm_core.ik_redundancy.step import RedundancyStep


def kkt(J, displacement, offset, weights):
    """``K (dtheta + y) + J^T lambda = 0``, ``J dtheta = dX``."""
    m, n = J.shape
    K = np.diag(weights / np.max(weights))
    matrix = np.block([[K, J.T], [J, np.zeros((m, m))]])
    return np.linalg.solve(matrix, np.concatenate((-K @ offset, displacement)))[:n]


def relative_error(got, wanted) -> float:
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


def random_levels(rng, rows):
    """The rows in random order, cut into levels at random."""
    order = rng.permutation(rows)
    cuts = np.flatnonzero(rng.integers(2, size=len(order) - 1)) + 1
    return [[int(row) for row in level] for level in np.split(order, cuts)]


def well_conditioned(rng, m, n):
    """Random Jacobian with singular values between 0.3 and 3."""
    U, V = (np.linalg.qr(rng.normal(size=(size, size)))[0] for size in (m, n))
    return (U * rng.uniform(0.3, 3.0, m)) @ V[:m]


def random_problem(rng, m=None, n=None):
    """Jacobian, displacement, offset and weights."""
    n = int(rng.integers(2, 13)) if n is None else n
    m = int(rng.integers(1, min(n, 6) + 1)) if m is None else m
    return well_conditioned(rng, m, n), rng.normal(size=m), rng.normal(size=n), 10.0 ** rng.uniform(-1.0, 1.0, n)


def greedy_rows(A, levels, threshold):
    """Rows that are kept: level by level, first the one that adds most to those before (by numpy's QR)."""
    kept: list[int] = []
    for level in levels:
        left = list(level)
        while left:
            Q = np.linalg.qr(A[kept].T)[0] if kept else np.zeros((A.shape[1], 0))
            norms = [np.linalg.norm(A[row] - Q @ (Q.T @ A[row])) for row in left]
            best = left.pop(int(np.argmax(norms)))
            if max(norms) > threshold:
                kept.append(best)
    return sorted(kept)


def scaled_rows(J, weights, length_scale):
    return np.where(np.arange(len(J)) >= 3, length_scale, 1.0)[:, None] * J / np.sqrt(weights / np.max(weights))


def largest_error_with_bad_rows(seed, spoil, count=1000, ranked=True) -> float:
    """Largest relative difference to the equations of the kept rows alone, where ``spoil(rng, J)`` made rows bad."""
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(count):
        n = int(rng.integers(6, 13))
        m = int(rng.integers(2, 7))
        J, displacement, offset, weights = random_problem(rng, m, n)
        spoil(rng, J)
        levels = random_levels(rng, m) if ranked else [list(range(m))]
        tool = RedundancyStep(weights, levels)
        got = tool.solve(J, displacement, offset)
        rows = greedy_rows(scaled_rows(J, weights, 1.0), levels, 1e-3)
        assert np.flatnonzero(tool.kept[:m]).tolist() == rows
        worst = max(worst, relative_error(got, kkt(J[rows], displacement[rows], offset, weights)))
    return worst


# --- the solution ---


@pytest.mark.parametrize("count", [3000, pytest.param(30_000, marks=pytest.mark.long)])
def test_the_step_solves_the_kkt_equations_of_random_problems(count):
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(count):
        J, displacement, offset, weights = random_problem(rng)
        tool = RedundancyStep(weights, random_levels(rng, len(J)), length_scale=rng.uniform(0.05, 2.0))
        got = tool.solve(J, displacement, offset)
        worst = max(worst, relative_error(got, kkt(J, displacement, offset, weights)))
    assert worst < 1e-10


def test_a_zero_displacement_at_the_origin_moves_nothing():
    J, _, _, weights = random_problem(np.random.default_rng(1), 4, 7)
    assert np.all(RedundancyStep(weights, [[0, 1, 2, 3]]).solve(J, np.zeros(4), np.zeros(7)) == 0.0)


def test_scaling_all_weights_changes_nothing():
    rng = np.random.default_rng(2)
    for _ in range(200):
        J, displacement, offset, weights = random_problem(rng)
        levels = [list(range(len(J)))]
        once = RedundancyStep(weights, levels).solve(J, displacement, offset)
        for factor in (1e-9, 3.0, 1e9):
            scaled = RedundancyStep(factor * weights, levels).solve(J, displacement, offset)
            assert relative_error(scaled, once) < 1e-10


def test_rows_left_out_of_the_levels_are_free():
    rng = np.random.default_rng(3)
    J, displacement, offset, weights = random_problem(rng, 5, 8)
    got = RedundancyStep(weights, [[4], [1, 3]]).solve(J, displacement, offset)
    assert relative_error(got, kkt(J[[1, 3, 4]], displacement[[1, 3, 4]], offset, weights)) < 1e-10


def test_many_steps_in_one_call_are_the_steps_alone_to_the_last_bit():
    rng = np.random.default_rng(31)
    for weights, levels in ((np.ones(7), [[0, 1, 2], [3, 4, 5]]), (np.array([0.0, 1, 2, 1, 1, 3, 1]), [[5, 0], [2]])):
        tool = RedundancyStep(weights, levels, band=0.3)
        J, displacement, offset = rng.normal(size=(50, 6, 7)), rng.normal(size=(50, 6)), rng.normal(size=(50, 7))
        J[7, 0] = J[7, 2]
        alone, kept = [], []
        for index in range(50):
            alone.append(tool.solve(J[index], displacement[index], offset[index]))
            kept.append(tool.kept.copy())
        many = tool.solve_many(J, displacement, offset)
        assert np.array_equal(many, alone)
        assert np.array_equal(tool.kept, np.min(kept, axis=0))
        assert np.min(tool.kept) < 1.0
        assert np.array_equal(tool.solve_many(J[:, :, ::-1][:, :, ::-1], displacement, offset), alone)  # not contiguous
    assert tool.solve_many(np.zeros((0, 6, 7)), np.zeros((0, 6)), np.zeros((0, 7))).shape == (0, 7)
    for wrong in (J[0], J[:, :3], J[:49], np.full_like(J, np.nan)):
        with pytest.raises(InputError):
            tool.solve_many(wrong, displacement, offset)


# --- rows that cannot be had ---


def test_exactly_dependent_rows_leave_the_solution_of_the_rows_that_are_kept():
    def spoil(rng, J):
        i, j = rng.permutation(len(J))[:2]
        J[i] = rng.choice((-2.0, -1.5, 0.5)) * J[j]

    assert largest_error_with_bad_rows(4, spoil) < 1e-10


def test_a_row_that_depends_on_several_leaves_the_solution_of_the_rows_that_are_kept():
    def combine(rng, J):
        i = rng.integers(len(J))
        others = np.delete(np.arange(len(J)), i)
        J[i] = rng.uniform(0.5, 2.0, len(others)) @ J[others]

    assert largest_error_with_bad_rows(5, combine) < 1e-10


def test_zero_rows_leave_the_solution_of_the_rows_that_are_kept():
    def spoil(rng, J):
        J[rng.integers(len(J))] = 0.0

    assert largest_error_with_bad_rows(6, spoil) < 1e-10


def shorten(rng, J):
    J[rng.integers(len(J))] *= 1e-6


def test_tiny_rows_leave_the_solution_of_the_rows_that_are_kept_among_equals():
    assert largest_error_with_bad_rows(7, shorten, ranked=False) < 1e-10


def test_tiny_rows_leave_the_solution_of_the_rows_that_are_kept_whatever_their_priority():
    assert largest_error_with_bad_rows(8, shorten) < 1e-10


def test_a_tiny_row_of_high_priority_takes_no_direction_from_the_rows_below():
    tool = RedundancyStep((1.0, 1.0), [[0], [1]])
    got = tool.solve([[1e-6, 0.0], [1.0, 0.0]], [1.0, 0.25], [0.0, 0.0])
    assert tool.kept[:2].tolist() == [0.0, 1.0]
    assert np.allclose(got, [0.25, 0.0], atol=1e-12)


def test_priority_decides_which_of_two_contradictory_rows_is_kept():
    J, displacement = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), np.array([1.0, -1.0])
    for first, second in ((0, 1), (1, 0)):
        tool = RedundancyStep((1.0, 1.0, 1.0), [[first], [second]])
        got = tool.solve(J, displacement, np.zeros(3))
        assert tool.kept[first] == 1.0 and tool.kept[second] == 0.0
        assert np.allclose(got, displacement[first] * J[0] / 14.0, atol=1e-14)


def test_the_length_scale_decides_which_of_two_equals_is_given_up():
    J = np.zeros((4, 2))
    J[0, 0], J[3, 0] = 1.0, 2.0  # meters and radians of the same joint
    for length_scale, kept in ((0.1, 0), (1.0, 3)):
        tool = RedundancyStep((1.0, 1.0), [[0, 3]], length_scale=length_scale)
        got = tool.solve(J, [0.5, 0.0, 0.0, 0.25], np.zeros(2))
        assert tool.kept[kept] == 1.0 and tool.kept[3 - kept] == 0.0
        assert J[kept] @ got == pytest.approx((0.5, 0.0, 0.0, 0.25)[kept], abs=1e-14)


def test_rows_that_no_level_names_count_as_kept():
    tool = RedundancyStep((1.0, 1.0, 1.0), [[0]])
    tool.solve(np.eye(3), np.zeros(3), np.zeros(3))
    assert tool.kept.tolist() == [1.0] * 6


def test_a_row_that_gets_nothing_is_reported_as_given_up_even_with_a_threshold_of_zero():
    rng = np.random.default_rng(9)
    for _ in range(200):
        J = rng.normal(size=(3, 5))
        J[2] = J[0] + J[1]
        tool = RedundancyStep(np.ones(5), [[0, 1], [2]], threshold=0.0)
        got = tool.solve(J, [0.1, 0.1, 5.0], np.zeros(5))
        assert np.linalg.norm(got) < 10.0
        assert tool.kept[:3].tolist() == [1.0, 1.0, 0.0]


# --- joints that cost nothing ---


def test_zero_weights_solve_the_kkt_equations_where_the_solution_is_unique():
    rng, worst = np.random.default_rng(10), 0.0
    for _ in range(2000):
        J, displacement, offset, weights = random_problem(rng)
        costless = rng.permutation(len(weights))[: rng.integers(1, len(weights))]
        F = J[:, costless]
        if len(costless) > len(J) or np.linalg.svd(F, compute_uv=False)[-1] < 0.1:
            continue  # the costless joints have a motion of their own
        weights[costless] = 0.0
        levels = random_levels(rng, len(J))
        got = RedundancyStep(weights, levels).solve(J, displacement, offset)
        worst = max(worst, relative_error(got, kkt(J, displacement, offset, weights)))
    assert worst < 1e-9


def test_costless_joints_that_can_do_all_do_it_with_the_least_motion_and_the_others_go_to_the_origin():
    rng = np.random.default_rng(11)
    J, displacement, offset = well_conditioned(rng, 2, 6), rng.normal(size=2), rng.normal(size=6)
    weights = np.array([1.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    got = RedundancyStep(weights, [[0, 1]]).solve(J, displacement, offset)
    assert np.allclose(got[:2], -offset[:2], atol=1e-13)
    left = displacement + J[:, :2] @ offset[:2]
    assert np.allclose(got[2:], np.linalg.pinv(J[:, 2:]) @ left, atol=1e-12)


def test_a_costless_joint_that_cannot_do_all_leaves_the_rest_to_the_others():
    rng = np.random.default_rng(12)
    for _ in range(100):
        J, displacement, offset, weights = random_problem(rng, 3, 6)
        J[:, 2] *= np.array([1.0, 0.0, 0.0])  # the costless joint moves row 0 only
        weights[2] = 0.0
        got = RedundancyStep(weights, [[0, 1, 2]]).solve(J, displacement, offset)
        assert np.allclose(got, kkt(J, displacement, offset, weights), rtol=0.0, atol=1e-10 * np.linalg.norm(got))


def test_a_costless_joint_hardly_felt_by_a_row_does_not_spoil_that_row():
    weights, levels = (0.0, 1.0, 1.0), [[0], [1]]
    J = np.array([[5e-4, 1.0, 0.3], [1.0, 0.2, 0.5]])  # joint 0 moves row 0 by less than the threshold
    displacement, offset = np.array([0.1, 1.0]), np.array([0.0, 0.4, -0.3])
    tool = RedundancyStep(weights, levels)
    got = tool.solve(J, displacement, offset)
    assert tool.kept[:2].tolist() == [1.0, 1.0]
    assert np.allclose(got, kkt(J, displacement, offset, np.array(weights)), atol=1e-12)


def test_a_tiny_weight_is_the_limit_of_no_weight():
    rng = np.random.default_rng(13)
    J, displacement, offset, weights = random_problem(rng, 4, 6)
    weights[1], levels = 0.0, [[0, 1, 2, 3]]
    exact = RedundancyStep(weights, levels).solve(J, displacement, offset)
    weights[1] = 1e-8
    assert np.allclose(RedundancyStep(weights, levels).solve(J, displacement, offset), exact, atol=1e-5)


def test_priority_decides_which_row_a_costless_joint_serves_where_no_other_joint_helps():
    for first, second in ((0, 1), (1, 0)):
        tool = RedundancyStep((0.0, 1.0), [[first], [second]])
        got = tool.solve([[0.5, 0.0], [2.0, 0.0]], [0.25, -1.0], [0.0, 0.0])
        assert tool.kept[first] == 1.0 and tool.kept[second] == 0.0
        assert got[0] == pytest.approx((0.25, -1.0)[first] / (0.5, 2.0)[first], abs=1e-14)


# --- near a singularity ---


def nearly_singular(value):
    """A Jacobian 4 x 6 that loses a direction, mostly of row 3, as its last singular value goes to zero."""
    rng = np.random.default_rng(14)
    U, V = np.linalg.qr(np.eye(4) + 0.1 * rng.normal(size=(4, 4)))[0], np.linalg.qr(rng.normal(size=(6, 6)))[0]
    return (U * np.array([1.5, 1.0, 0.8, value])) @ V[:4]


@pytest.mark.parametrize("hold", (pytest.param(False, marks=pytest.mark.long), True))
@pytest.mark.parametrize(
    "levels",
    ([[0, 1, 2, 3]], [[0, 1], [2, 3]], pytest.param([[3], [0, 1, 2]], marks=pytest.mark.long)),
    ids=str,
)
def test_with_a_band_the_step_is_continuous_in_the_singular_value(hold, levels):
    displacement, offset = np.array([0.1, -0.2, 0.3, 0.2]), np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.2])
    tool = RedundancyStep(np.ones(6), levels, threshold=0.02, band=0.1, hold=hold)

    def largest_change(count):
        values = np.linspace(1e-4, 0.25, count)
        steps = np.array([tool.solve(nearly_singular(value), displacement, offset) for value in values])
        return abs(np.diff(steps, axis=0)).max()

    assert largest_change(20_001) < 0.12 * largest_change(2_001)  # a jump would not shrink with the distance


@pytest.mark.parametrize("hold", (False, True))
def test_all_rows_but_the_damped_one_stay_exact(hold):
    displacement, offset = np.array([0.1, -0.2, 0.3, 0.2]), np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.2])
    tool = RedundancyStep(np.ones(6), [[0, 1, 2, 3]], threshold=0.02, band=0.1, hold=hold)
    seen = set()
    for value in np.linspace(0.0, 0.3, 301):
        J = nearly_singular(value)
        missing = abs(J @ tool.solve(J, displacement, offset) - displacement)
        whole = tool.kept[:4] == 1.0
        assert whole.sum() >= 3 and missing[whole].max() < 1e-12
        seen |= {"all" if whole.all() else "none" if tool.kept[:4].min() == 0.0 else "damped"}
    assert seen == {"all", "damped", "none"}


def test_a_damped_row_gets_the_share_that_is_reported():
    tool = RedundancyStep((1.0, 1.0), [[0], [1]], threshold=0.1, band=0.2, hold=True)
    for length in (0.12, 0.2, 0.28):
        got = tool.solve([[1.0, 0.0], [0.0, length]], [0.5, 0.01], np.zeros(2))
        x = (length - 0.1) / 0.2
        assert tool.kept[1] == pytest.approx(x * x * (3.0 - 2.0 * x), abs=1e-13)
        assert length * got[1] == pytest.approx(tool.kept[1] * 0.01, abs=1e-15)


def test_a_direction_that_is_given_up_holds_still_or_goes_to_the_origin():
    J, offset = np.array([[1.0, 0.0, 0.0], [0.0, 1e-5, 0.0]]), np.array([0.3, 0.2, -0.4])
    held, free = (
        RedundancyStep(np.ones(3), [[0], [1]], hold=hold).solve(J, [0.1, 1.0], offset) for hold in (True, False)
    )
    assert np.allclose(held, [0.1, 0.0, 0.4], atol=1e-14)
    assert np.allclose(free, [0.1, -0.2, 0.4], atol=1e-14)


# --- cost ---


def inputs_of_all_kinds(m, n):
    """Inputs of one size: regular, singular, with repeated rows, zero and ill-scaled."""
    rng = np.random.default_rng(15)
    J, displacement, offset = well_conditioned(rng, m, n), rng.normal(size=m), rng.normal(size=n)
    singular, repeated, scaled = J.copy(), J.copy(), J.copy()
    singular[-1] = J[0] + 0.5 * J[1]
    repeated[1] = J[0]
    scaled[0] *= 1e9
    scaled[-1] *= 1e-9
    return {
        "regular": (J, displacement, offset),
        "in reverse": (J[::-1].copy(), displacement, offset),
        "singular": (singular, displacement, offset),
        "repeated": (repeated, displacement, offset),
        "nearly repeated": (repeated + 1e-3 * J[::-1], displacement, offset),
        "zero": (np.zeros((m, n)), np.zeros(m), np.zeros(n)),
        "ill-scaled": (scaled, displacement, offset),
    }


WAYS = (
    {"hold": False},
    {"hold": True},
    {"hold": False, "threshold": 0.3, "band": 1.0},
)


@pytest.mark.parametrize(("m", "n"), ((6, 7), (3, 4)))
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("costless", (0, 2))
def test_the_number_of_arithmetic_operations_depends_on_the_sizes_alone(m, n, way, costless):
    weights = np.where(np.arange(n) < costless, 0.0, 1.0 + np.arange(n))
    plan = make_plan(weights, [list(range(3)), list(range(3, m))], **way)
    counts = {
        kind: count_operations(step, "redundancy_step", *values, plan, np.zeros(n))
        for kind, values in inputs_of_all_kinds(m, n).items()
    }
    assert counts["regular"]["*"] > m * m * n  # it did count
    assert len({tuple(sorted(count.items())) for count in counts.values()}) == 1, counts


def test_the_counted_run_gives_what_the_compiled_step_gives():
    for J, displacement, offset in inputs_of_all_kinds(6, 7).values():
        weights = np.array([0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
        levels = [[0, 1, 2], [3, 4, 5]]
        got = np.zeros(7)
        count_operations(step, "redundancy_step", J, displacement, offset, make_plan(weights, levels), got)
        wanted = RedundancyStep(weights, levels).solve(J, displacement, offset)
        assert np.allclose(got, wanted, rtol=1e-6, atol=1e-9 * (1.0 + abs(wanted).max()))


# --- anything that may come in ---

FINITE = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e-12, 1e-3, 1e12])


@st.composite
def any_problem(draw):
    m, n = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    numbers = draw(st.lists(FINITE, min_size=m * n + m + n, max_size=m * n + m + n))
    J, displacement = np.reshape(numbers[: m * n], (m, n)), np.array(numbers[m * n : m * n + m])
    if draw(st.booleans()) and m > 1:
        J[1] = J[0]
    weights = draw(st.lists(st.sampled_from([0.0, 1e-6, 1.0, 50.0]), min_size=n, max_size=n).filter(any))
    return J, displacement, np.array(numbers[m * n + m :]), np.array(weights)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(any_problem(), st.booleans(), st.sampled_from([0.0, 0.1]))
def test_whatever_comes_in_finite_numbers_come_out_and_are_the_same_again(problem, hold, band):
    J, displacement, offset, weights = problem
    tool = RedundancyStep(weights, [list(range(len(J)))], hold=hold, band=band)
    got, kept = tool.solve(J, displacement, offset), tool.kept.copy()
    assert np.isfinite(got).all() and ((kept >= 0.0) & (kept <= 1.0)).all()
    assert np.array_equal(tool.solve(J, displacement, offset), got) and np.array_equal(tool.kept, kept)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(any_problem())
def test_whatever_comes_in_the_step_is_no_longer_than_the_threshold_allows(problem):
    J, displacement, _, weights = problem
    weights = np.where(weights == 0.0, 1.0, weights)
    got = RedundancyStep(weights, [list(range(len(J)))]).solve(J, displacement, np.zeros(len(weights)))
    # a row gets at most what it asks for less what the others do for it, by a norm above the threshold
    w = np.sqrt(weights.max() / weights)
    asked, A = abs(displacement), abs(scaled_rows(J, weights, 1.0)).sum() + 1.0
    bound = max(asked.max(), 1e-300) / 1e-3
    for _ in range(len(J)):
        bound += A * bound / 1e-3
    assert np.linalg.norm(got / w) <= bound


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(1, 6), st.integers(1, 8), st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 2), st.data())
def test_numbers_that_are_not_finite_are_refused(m, n, bad, which, data):
    values = [np.ones((m, n)), np.ones(m), np.ones(n)]
    values[which].flat[data.draw(st.integers(0, values[which].size - 1))] = bad
    with pytest.raises(InputError, match="finite"):
        RedundancyStep(np.ones(n), [list(range(m))]).solve(*values)


@pytest.mark.parametrize(
    ("J", "displacement", "offset"),
    (
        ((2, 4), (2,), (3,)),
        ((2, 3), (3,), (3,)),
        ((2, 3), (2,), (4,)),
        ((2, 3), (2, 1), (3,)),
        ((2, 3), (2,), (3, 1)),
        ((1, 3), (1,), (3,)),
        ((3,), (2,), (3,)),
        ((2, 3), (), (3,)),
    ),
)
def test_shapes_that_do_not_fit_are_refused(J, displacement, offset):
    with pytest.raises(InputError, match="expected|rows"):
        RedundancyStep(np.ones(3), [[0, 1]]).solve(np.ones(J), np.ones(displacement), np.ones(offset))


@pytest.mark.parametrize(
    "weights", ((), (0.0, 0.0), (1.0, -1.0), (1.0, np.nan), (1.0, np.inf), ((1.0, 2.0), (1.0, 2.0)))
)
def test_weights_without_meaning_are_refused(weights):
    with pytest.raises(ConfigError, match="weights"):
        make_plan(weights, [[0]])


@pytest.mark.parametrize("levels", ([[6]], [[-1]], [[0, 0]], [[0], [1, 0]]))
def test_levels_without_meaning_are_refused(levels):
    with pytest.raises(ConfigError, match="levels"):
        make_plan((1.0, 1.0), levels)


@pytest.mark.parametrize(
    ("setting", "value"),
    [(name, value) for name in ("threshold", "band", "length_scale") for value in (-1.0, np.nan, np.inf)]
    + [("length_scale", 0.0)],
)
def test_settings_without_meaning_are_refused(setting, value):
    with pytest.raises(ConfigError, match=setting):
        make_plan((1.0, 1.0), [[0]], **{setting: value})
