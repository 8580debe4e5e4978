"""Objectives against differences of what they are the gradients of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import chain_or_skip

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.objectives import (
    Function,
    JointRange,
    Manipulability,
    Quadratic,
    Sum,
    jacobian_derivatives,
    quadratic_form,
)
from flexarm_core.robot.urdf_reader import parse_robot_description

LOWER, UPPER = np.array([-1.0, 0.5, -np.inf, -3.0, -np.inf]), np.array([2.0, 1.0, np.inf, 0.0, 1.0])


def words(values) -> str:
    return " ".join(repr(float(value)) for value in values)


def random_chain(rng, kinds):
    """Chain of joints about random axes at random places: R for revolute, P for prismatic."""
    parts, parent = ['<link name="world"/>'], "world"
    for i, kind in enumerate(kinds):
        name = "tool0" if i == len(kinds) - 1 else f"link_{i}"
        parts.append(
            f'<link name="{name}"/><joint name="joint_{i}" type="{"prismatic" if kind == "P" else "revolute"}">'
            f'<parent link="{parent}"/><child link="{name}"/><axis xyz="{words(rng.normal(size=3))}"/>'
            f'<origin xyz="{words(rng.normal(size=3))}" rpy="{words(rng.uniform(-3.0, 3.0, 3))}"/>'
            '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
        )
        parent = name
    return build_chain(parse_robot_description(f'<robot name="random">{"".join(parts)}</robot>', massless=True))


def differences(function, position, step=1e-5):
    """Central differences (n, ...) of a function of joint positions."""
    return np.array(
        [(function(position + d) - function(position - d)) / (2.0 * step) for d in step * np.eye(len(position))]
    )


def barrier(position, lower, upper):
    """``-sum ln(1 - x^2)`` of the joints that have limits."""
    limited = np.isfinite(upper - lower)
    lower, upper = lower[limited], upper[limited]
    x = (2.0 * position[limited] - lower - upper) / (upper - lower)
    return -np.sum(np.log(1.0 - x * x))


def inside(rng):
    """Positions within nine tenths of the ranges, anywhere where there is none."""
    limited = np.isfinite(UPPER - LOWER)
    lower, upper = np.where(limited, LOWER, -5.0), np.where(limited, UPPER, 5.0)
    return 0.5 * (lower + upper) + 0.45 * (upper - lower) * rng.uniform(-1.0, 1.0, 5)


# --- joint range ---


def test_gradient_and_curvature_of_the_joint_range_are_those_of_the_barrier():
    rng = np.random.default_rng(0)
    for _ in range(50):
        q = inside(rng)
        gradient, curvature = JointRange(LOWER, UPPER, 0.7).expand(q)
        assert np.allclose(gradient, 0.7 * differences(lambda p: barrier(p, LOWER, UPPER), q), rtol=1e-6, atol=1e-8)
        of_gradient = differences(lambda p: JointRange(LOWER, UPPER, 0.7).expand(p)[0], q)
        assert np.allclose(np.diag(curvature), of_gradient, rtol=1e-6, atol=1e-8)


def test_the_joint_range_is_least_in_the_middle_and_leaves_joints_without_a_range_alone():
    q = np.array([0.5, 0.75, 40.0, -1.5, -7.0])
    gradient, curvature = JointRange(LOWER, UPPER).expand(q)
    assert np.all(gradient == 0.0)
    assert np.all(curvature[[0, 1, 3]] > 0.0) and np.all(curvature[[2, 4]] == 0.0)


@pytest.mark.filterwarnings("error")
def test_joints_without_any_limit_raise_no_warning():
    JointRange(np.array([-np.inf, -1.0]), np.array([np.inf, np.inf])).expand(np.zeros(2))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e6, 1e6) | st.sampled_from([-1.0, 2.0, 0.5, 1.0, -3.0, 0.0]), min_size=5, max_size=5))
def test_the_joint_range_stays_finite_at_the_limits_and_beyond_and_pulls_inwards(position):
    q = np.array(position)
    gradient, curvature = JointRange(LOWER, UPPER).expand(q)
    assert np.isfinite(gradient).all() and np.isfinite(curvature).all() and np.all(curvature >= 0.0)
    assert np.all(gradient[:2][q[:2] >= UPPER[:2]] > 0.0) and np.all(gradient[:2][q[:2] <= LOWER[:2]] < 0.0)


# --- manipulability ---


@pytest.mark.parametrize("name", ("panda", "iiwa"))
def test_the_gradient_of_the_manipulability_is_that_of_its_logarithm(name):
    chain, rng = chain_or_skip(name), np.random.default_rng(1)
    scale = np.repeat([1.0, 0.3], 3)[:, None]

    def logarithm(q):
        J = scale * chain.kinematics(q)[2]
        return -0.5 * np.linalg.slogdet(J @ J.T)[1]

    checked = 0
    for _ in range(30):
        q = rng.uniform(chain.lower, chain.upper)
        if np.linalg.svd(scale * chain.kinematics(q)[2], compute_uv=False)[-1] < 0.05:
            continue  # the damping of the gradient shows near a singularity
        gradient, curvature = Manipulability(chain, weight=2.0, length_scale=0.3).expand(q)
        assert np.allclose(gradient, 2.0 * differences(logarithm, q), rtol=1e-2, atol=1e-3)
        assert np.all(curvature >= 2.0)
        checked += 1
    assert checked > 5


def test_the_manipulability_stays_finite_in_a_singularity():
    chain = chain_or_skip("arm_6r")
    gradient, curvature = Manipulability(chain).expand(np.zeros(6))
    assert np.isfinite(gradient).all() and np.isfinite(curvature).all()


def test_a_step_for_the_manipulability_is_at_most_half_a_radian():
    chain, rng = chain_or_skip("arm_6r"), np.random.default_rng(2)
    for _ in range(50):
        q = rng.uniform(chain.lower, chain.upper)
        _, origin = quadratic_form(Manipulability(chain, weight=3.0), q)
        assert abs(origin - q).max() <= 0.5 + 1e-12


@pytest.mark.parametrize("kinds", ("panda", "RRPRRPR", "PPPRRR", "RPR"))
def test_derivatives_of_the_jacobian_are_its_differences(kinds):
    rng = np.random.default_rng(3)
    chain = chain_or_skip("panda") if kinds == "panda" else random_chain(rng, kinds)
    for _ in range(10):
        q = rng.uniform(-1.5, 1.5, chain.n)
        wanted = differences(lambda p: chain.kinematics(p)[2], q)
        assert np.allclose(jacobian_derivatives(chain.kinematics(q)[2]), wanted, rtol=0.0, atol=1e-8)


# --- sums and functions of the user's ---


def test_a_quadratic_becomes_itself():
    weights, origin = np.array([1.0, 0.5, 3.0]), np.array([0.1, -2.0, 0.7])
    for q in np.random.default_rng(4).normal(size=(10, 3)):
        k, center = quadratic_form(Quadratic(weights, origin), q)
        assert np.array_equal(k, weights) and np.allclose(center, origin, atol=1e-15)


def test_a_function_that_is_a_quadratic_gives_what_the_quadratic_gives():
    quadratic = Quadratic(np.array([1.0, 0.5, 3.0]), np.array([0.1, -2.0, 0.7]))
    function = Function(lambda q: float(0.5 * np.sum(quadratic.weights * (q - quadratic.origin) ** 2)))
    for q in np.random.default_rng(5).normal(size=(10, 3)):
        for got, wanted in zip(function.expand(q), quadratic.expand(q), strict=True):
            assert np.allclose(got, wanted, rtol=1e-6, atol=1e-6)


def test_what_is_not_convex_of_a_function_counts_with_the_least_curvature():
    gradient, curvature = Function(lambda q: float(q[0] ** 2 - q[1] ** 2), least_curvature=0.2).expand(np.ones(2))
    assert np.allclose(gradient, [2.0, -2.0], atol=1e-6) and np.allclose(curvature, [2.0, 0.2], atol=1e-6)


def test_a_sum_adds_gradients_and_curvatures():
    terms = (Quadratic(np.arange(5.0), np.ones(5)), JointRange(LOWER, UPPER), JointRange(LOWER, UPPER, 2.0))
    q = inside(np.random.default_rng(6))
    for which in (0, 1):
        assert np.allclose(Sum(terms).expand(q)[which], sum(term.expand(q)[which] for term in terms), rtol=1e-14)


def test_a_joint_that_no_objective_pulls_stays_its_own_origin():
    q = np.array([0.7, 0.6, 40.0, -1.0, -7.0])
    weights, origin = quadratic_form(JointRange(LOWER, UPPER), q)
    assert np.all(weights[[2, 4]] == 0.0) and np.array_equal(origin[[2, 4]], q[[2, 4]])


class Given:
    """An objective that gives what it was given."""

    def __init__(self, gradient, curvature):
        self.numbers = gradient, curvature

    def expand(self, position):
        return self.numbers


@pytest.mark.parametrize(
    ("gradient", "curvature"),
    (
        ([0.0, 0.0], [1.0, -1.0]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([0.0, np.nan], [1.0, 1.0]),
        ([0.0, 0.0], [1.0, np.inf]),
        ([0.0], [1.0, 1.0]),
        ([0.0, 0.0], 1.0),
        ([[0.0, 0.0]], [[1.0, 1.0]]),
    ),
)
def test_an_objective_without_meaning_is_refused(gradient, curvature):
    with pytest.raises(ConfigError, match="objective"):
        quadratic_form(Given(np.array(gradient), np.array(curvature)), np.zeros(2))


@pytest.mark.parametrize("value", (lambda q: np.nan, lambda q: np.inf, lambda q: 1.0 / (q[0] - q[0])))
def test_a_function_that_gives_no_numbers_is_refused(value):
    with pytest.raises(ConfigError, match="objective"), np.errstate(all="ignore"):
        quadratic_form(Function(value), np.zeros(2))


@pytest.mark.parametrize("value", (lambda q: "much", lambda q: q, lambda q: None), ids=("text", "array", "nothing"))
def test_a_function_that_gives_something_else_is_refused(value):
    with pytest.raises(ConfigError, match="objective"):
        quadratic_form(Function(value), np.zeros(2))


@pytest.mark.parametrize(
    "objective",
    (
        lambda: Quadratic(np.ones(3), np.zeros(2)),
        lambda: JointRange(np.zeros(2), np.ones(3)),
        lambda: Sum(()),
        lambda: Sum((Quadratic(np.ones(3), np.zeros(3)), Quadratic(np.ones(2), np.zeros(2)))),
    ),
    ids=("quadratic", "joint range", "empty sum", "sum"),
)
def test_objectives_of_numbers_of_joints_that_do_not_fit_are_refused(objective):
    with pytest.raises(ConfigError):
        quadratic_form(objective(), np.zeros(3))
