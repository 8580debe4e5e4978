"""The nearest point of a box on given rows, against quadprog and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm_core.compiled import allocate
from flexarm_core.ik_redundancy.box import nearest_in_box, view_box


def nearest(rows, goal, y, low, high, soft=0, tolerance=1e-11):
    """Point and whether the hard rows hold."""
    n = len(y)
    _, box = allocate(view_box, n)
    box.G[: len(rows)], box.goal[: len(rows)], box.low[:], box.high[:] = rows, goal, low, high
    holds = nearest_in_box(box, len(rows), soft, y, tolerance)
    return box.u, holds


def random_problem(rng, rows=None):
    n = int(rng.integers(4, 12))
    m = int(rng.integers(1, min(n, 6) + 1)) if rows is None else rows
    G = np.linalg.qr(rng.normal(size=(n, m)))[0].T * rng.uniform(0.05, 2.0, (m, 1))
    return G, rng.normal(size=n), -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)


def test_the_nearest_point_is_the_solution_of_the_quadratic_program():
    quadprog = pytest.importorskip("quadprog")
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(2000):
        G, y, low, high = random_problem(rng)
        n, m = len(y), len(G)
        goal = G @ rng.uniform(low, high)
        got, holds = nearest(G, goal, y, low, high)
        sides = np.hstack((G.T, np.eye(n), -np.eye(n)))
        wanted = quadprog.solve_qp(np.eye(n), -y, sides, np.concatenate((goal, low, -high)), m)[0]
        worst = max(worst, abs(got - wanted).max())
        assert holds
    assert worst < 1e-7


def test_without_rows_the_nearest_point_is_the_clipped_one():
    rng = np.random.default_rng(1)
    y = rng.normal(size=6)
    got, holds = nearest(np.zeros((0, 6)), np.zeros(0), y, np.full(6, -0.5), np.full(6, 0.5))
    assert holds and np.array_equal(got, np.clip(-y, -0.5, 0.5))


def test_rows_that_no_point_of_the_box_has_are_found_out():
    rng = np.random.default_rng(2)
    for _ in range(500):
        G, y, low, high = random_problem(rng)
        normal = rng.normal(size=len(G))
        pull = normal @ G
        farthest = np.where(pull > 0.0, high, low)
        goal = G @ farthest + 0.01 * normal  # beyond the tangent plane of the farthest point
        got, holds = nearest(G, goal, y, low, high)
        assert not holds
        assert np.all(got >= low) and np.all(got <= high)


def test_a_goal_that_only_one_point_of_the_box_has_is_reached():
    rng = np.random.default_rng(3)
    for _ in range(200):
        G, y, low, high = random_problem(rng, 3)
        farthest = np.where(rng.normal(size=3) @ G > 0.0, high, low)
        got, _ = nearest(G, G @ farthest, y, low, high)
        assert abs(G @ got - G @ farthest).max() < 1e-6


def test_soft_rows_give_way_to_hard_ones():
    rng = np.random.default_rng(4)
    for _ in range(300):
        G, y, low, high = random_problem(rng, 4)
        goal = G @ rng.uniform(low, high)
        goal[2:] += rng.normal(size=2)
        got, holds = nearest(G, goal, y, low, high, soft=2)
        assert holds and abs(G[:2] @ got - goal[:2]).max() < 1e-10


def test_soft_rows_trade_their_error_for_the_distance():
    quadprog = pytest.importorskip("quadprog")
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(300):
        G, y, low, high = random_problem(rng, 4)
        n = len(y)
        goal = G @ rng.uniform(low, high)
        goal[2:] += rng.normal(size=2)
        got, _ = nearest(G, goal, y, low, high, soft=2)
        quadratic = np.eye(n) + 1e3 * G[2:].T @ G[2:]
        sides = np.hstack((G[:2].T, np.eye(n), -np.eye(n)))
        wanted = quadprog.solve_qp(
            quadratic, 1e3 * G[2:].T @ goal[2:] - y, sides, np.concatenate((goal[:2], low, -high)), 2
        )[0]
        worst = max(worst, abs(got - wanted).max())
    assert worst < 1e-7


WIDTH = st.floats(0.0, 2.0) | st.sampled_from([0.0, 1e-300, 1e-12, np.inf])


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.integers(0, 10_000),
    st.lists(WIDTH, min_size=12, max_size=12),
    st.lists(WIDTH, min_size=12, max_size=12),
    st.sampled_from([0.0, 1e-9, 1.0, 1e6]),
    st.integers(0, 2),
)
def test_every_box_is_kept_whatever_the_rows_ask_for(seed, below, above, size, soft):
    rng = np.random.default_rng(seed)
    G, y, _, _ = random_problem(rng)
    n = len(y)
    low, high = -np.array(below[:n]), np.array(above[:n])
    got, holds = nearest(G, size * rng.normal(size=len(G)), size * y, low, high, min(soft, len(G)))
    assert np.all(got >= low) and np.all(got <= high) and np.isfinite(got).all()
    assert isinstance(holds, bool)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.lists(WIDTH, min_size=12, max_size=12))
def test_degenerate_boxes_that_hold_a_solution_give_one(seed, widths):
    rng = np.random.default_rng(seed)
    G, y, _, _ = random_problem(rng)
    n = len(y)
    center, width = rng.normal(size=n), np.array(widths[:n])
    got, holds = nearest(G, G @ center, y, center - width, center + width, tolerance=1e-9)
    assert holds and abs(G @ got - G @ center).max() < 1e-9


def test_repeated_and_zero_rows_do_no_harm():
    rng = np.random.default_rng(6)
    for _ in range(200):
        G, y, low, high = random_problem(rng, 3)
        goal = G @ rng.uniform(low, high)
        more, more_goal = np.vstack((G, G[:1], 0.0 * G[:1])), np.concatenate((goal, goal[:1], [0.0]))
        once, _ = nearest(G, goal, y, low, high)
        again, holds = nearest(more, more_goal, y, low, high)
        assert holds and abs(again - once).max() < 1e-6
