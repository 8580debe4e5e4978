"""Inverse kinematics: every answer judged by Pinocchio's kinematics of the same robot."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import NAMES, PinocchioChain, chain_or_skip, pinocchio_chain

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.inverse_kinematics import IkConfig, InverseKinematics
from flexarm_core.robot.urdf_reader import parse_robot_description

# A crane: it travels, lifts and turns without end, and its tool hangs on a wrist of three joints.
CRANE = """<robot name="crane"><link name="world"/>
  <joint name="travel" type="prismatic"><parent link="world"/><child link="a"/><axis xyz="1 0 0"/>
    <limit lower="-8" upper="8" effort="1" velocity="1"/></joint><link name="a"/>
  <joint name="turn" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint><link name="b"/>
  <joint name="lift" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="1.5 0 0"/><axis xyz="0 0 1"/>
    <limit lower="0.5" upper="4" effort="1" velocity="1"/></joint><link name="c"/>
  <joint name="yaw" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/></joint><link name="d"/>
  <joint name="pitch" type="revolute"><parent link="d"/><child link="e"/><axis xyz="0 1 0"/>
    <limit lower="-1.8" upper="1.8" effort="1" velocity="1"/></joint><link name="e"/>
  <joint name="roll" type="continuous"><parent link="e"/><child link="f"/><axis xyz="1 0 0"/></joint><link name="f"/>
  <joint name="tool" type="fixed"><parent link="f"/><child link="tool0"/><origin xyz="0.3 0.1 0"/></joint>
  <link name="tool0"/></robot>"""


@cache
def solver(name, **config):
    chain = chain_or_skip(name)
    return InverseKinematics(chain, chain.lower, chain.upper, IkConfig(**config)), pinocchio_chain(name)


def reaches(other, solution, position, rotation, axes=(True,) * 6) -> bool:
    """Whether Pinocchio finds the wanted axes within 1e-5 m and 1e-5 rad."""
    p, R = other.pose(solution.position)
    error = np.concatenate((position - p, pinocchio.log3(rotation @ R.T)))[list(axes)]
    return bool(abs(error).max() < 1e-5)


def within(ik, position) -> bool:
    return bool(np.all(position >= ik.chain.lower) and np.all(position <= ik.chain.upper))


def all_solved(name, positions, starts, axes=None) -> bool:
    ik, other = solver(name)
    mask = (True,) * 6 if axes is None else axes
    for q, start in zip(positions, starts, strict=True):
        pose = other.pose(q)
        solution = ik.solve(*pose, start, axes)
        if not (solution.success and reaches(other, solution, *pose, mask) and within(ik, solution.position)):
            return False
    return True


def random_positions(name, seed, count):
    chain = chain_or_skip(name)
    return np.random.default_rng(seed).uniform(chain.lower, chain.upper, (count, chain.n))


@pytest.mark.parametrize("name", NAMES)
def test_random_reachable_poses_are_reached_within_limits_from_random_starts(name):
    assert all_solved(name, random_positions(name, 1, 500), random_positions(name, 2, 500))


@pytest.mark.parametrize("name", NAMES)
def test_poses_that_need_three_joints_at_their_limits_are_reached(name):
    chain, rng = chain_or_skip(name), np.random.default_rng(3)
    positions = random_positions(name, 4, 100)
    for q in positions:
        at = rng.choice(chain.n, 3, replace=False)
        q[at] = np.where(rng.random(3) < 0.5, chain.lower[at], chain.upper[at])
    assert all_solved(name, positions, random_positions(name, 5, 100))


@pytest.mark.parametrize("name", NAMES)
def test_singular_poses_are_reached(name):
    chain = chain_or_skip(name)
    zero = np.clip(np.zeros(chain.n), chain.lower, chain.upper)
    assert all_solved(name, np.tile(zero, (100, 1)), random_positions(name, 6, 100))


@pytest.mark.parametrize("name", ["panda", "arm_6r"])
@pytest.mark.parametrize("axes", ["111000", "000111", "111110", "111001", "110001", "001000"])
def test_wanted_axes_are_reached_and_the_others_are_not_asked_for(name, axes):
    mask = np.array([letter == "1" for letter in axes])
    positions, starts = random_positions(name, 7, 100), random_positions(name, 8, 100)
    assert all_solved(name, positions, starts, mask)
    ik, other = solver(name)
    pose = other.pose(positions[0])
    assert not reaches(other, ik.solve(*pose, starts[0], mask), *pose, ~mask)


def test_prismatic_and_continuous_joints_are_solved_for():
    chain = build_chain(parse_robot_description(CRANE, massless=True), "tool0")
    other, rng = PinocchioChain(CRANE, chain), np.random.default_rng(9)
    ik = InverseKinematics(chain, chain.lower, chain.upper)
    lower, upper = np.maximum(chain.lower, -20.0), np.minimum(chain.upper, 20.0)
    for q, start in zip(*rng.uniform(lower, upper, (2, 300, chain.n)), strict=True):
        pose = other.pose(q)
        solution = ik.solve(*pose, start)
        assert solution.success
        assert reaches(other, solution, *pose)
        assert within(ik, solution.position)
        assert np.all(abs(solution.position - start)[chain.turns.endless] <= math.pi + 1e-12)


def test_prismatic_joints_without_limits_are_solved_for():
    chain = build_chain(parse_robot_description(CRANE, massless=True), "tool0")
    ik = InverseKinematics(chain, np.full(6, -math.inf), np.full(6, math.inf))
    rng = np.random.default_rng(10)
    for q, start in zip(*rng.uniform(-9.0, 9.0, (2, 100, chain.n)), strict=True):
        assert ik.solve(*chain.pose(q), start).success


@pytest.mark.parametrize("reach", [20.0, 1e3, 1e5])
def test_a_rail_whose_limits_mean_none_is_led_as_one_of_some_meters(reach):
    text = CRANE.replace('lower="-8" upper="8"', f'lower="{-reach}" upper="{reach}"')
    chain = build_chain(parse_robot_description(text, massless=True), "tool0")
    ik, rng = InverseKinematics(chain, chain.lower, chain.upper), np.random.default_rng(13)
    lower, upper = np.maximum(chain.lower, -9.0), np.minimum(chain.upper, 9.0)
    for q, start in zip(*rng.uniform(lower, upper, (2, 100, chain.n)), strict=True):
        solution = ik.solve(*chain.pose(q), start)
        assert solution.success and within(ik, solution.position)


@pytest.mark.parametrize("axes", [6, 3])
@pytest.mark.parametrize("nearest", [False, True])
def test_joints_parked_at_limits_are_not_taken_to_the_other_end(nearest, axes):
    """The search ends beyond a limit by rounding, or where the joint goes along with others: it was turned once."""
    chain, rng = build_chain(parse_robot_description(CRANE, massless=True), "tool0"), np.random.default_rng(14)
    upper = chain.upper.copy()
    upper[[1, 3, 5]] = 2.0 * math.pi
    lower = np.where(np.isfinite(chain.lower), chain.lower, -2.0 * math.pi)
    ik = InverseKinematics(chain, lower, upper, IkConfig(nearest=nearest))
    for _ in range(100):
        start = rng.uniform(0.9 * lower + 0.1 * upper, 0.1 * lower + 0.9 * upper)
        start[4] = rng.uniform(0.4, 1.4)
        parked = rng.choice([1, 3, 5], rng.integers(1, 4), replace=False)
        start[parked] = 2.0 * math.pi
        q = start + np.where(np.isin(np.arange(6), parked), 0.0, 0.02)
        solution = ik.solve(*chain.pose(q), start, np.arange(6) < axes)
        assert solution.success and np.all((solution.position >= lower) & (solution.position <= upper))
        assert abs(solution.position - start).max() < 0.1


def test_joints_that_may_turn_further_than_once_end_as_near_to_the_start_as_their_limits_allow():
    ik, other = solver("ur5")
    free = ik.chain.upper - ik.chain.lower >= 2.0 * math.pi
    assert free.all()
    for q, start in zip(random_positions("ur5", 11, 200), random_positions("ur5", 12, 200), strict=True):
        found = ik.solve(*other.pose(q), start).position
        for turns in (-2.0, -1.0, 1.0, 2.0):
            turned = found + 2.0 * math.pi * turns
            allowed = (turned >= ik.chain.lower) & (turned <= ik.chain.upper)
            assert np.all(~allowed | (abs(turned - start) >= abs(found - start) - 1e-9))


def test_a_start_that_has_the_pose_is_the_answer():
    ik, other = solver("panda")
    start = random_positions("panda", 13, 1)[0]
    solution = ik.solve(*other.pose(start), start)
    assert np.array_equal(solution.position, start)
    assert (solution.restarts, solution.iterations) == (0, 0)


def test_a_start_outside_the_limits_is_used_from_the_limit():
    ik, other = solver("panda")
    q = ik.chain.upper - 0.1
    solution = ik.solve(*other.pose(q), ik.chain.upper + 1.0)
    assert solution.success
    assert solution.restarts == 0
    assert within(ik, solution.position)


def test_a_joint_whose_limits_are_equal_stays_there():
    ik, other = solver("panda")
    lower, upper = ik.chain.lower.copy(), ik.chain.upper.copy()
    lower[2] = upper[2] = 0.4
    frozen = InverseKinematics(ik.chain, lower, upper)
    for q, start in zip(random_positions("panda", 14, 50), random_positions("panda", 15, 50), strict=True):
        q[2] = 0.4
        solution = frozen.solve(*other.pose(q), start)
        assert solution.success
        assert solution.position[2] == 0.4


def test_the_same_question_has_the_same_answer_also_from_several_threads():
    ik, other = solver("panda")
    questions = [
        (*other.pose(q), start)
        for q, start in zip(random_positions("panda", 16, 100), random_positions("panda", 17, 100), strict=True)
    ]
    one_by_one = [ik.solve(*question).position for question in questions]
    with ThreadPoolExecutor(4) as pool:
        together = [solution.position for solution in pool.map(lambda question: ik.solve(*question), questions)]
    assert np.array_equal(one_by_one, together)


def test_another_seed_begins_elsewhere():
    ik, other = solver("panda")
    different = InverseKinematics(ik.chain, ik.chain.lower, ik.chain.upper, seed=1)
    for q, start in zip(random_positions("panda", 18, 50), random_positions("panda", 19, 50), strict=True):
        pose = other.pose(q)
        first, second = ik.solve(*pose, start), different.solve(*pose, start)
        if first.restarts > 0:
            assert not np.allclose(first.position, second.position)
            return
    pytest.fail("no pose needed a restart")


def test_an_unreachable_pose_ends_after_all_restarts_and_says_how_near_it_came():
    ik, _ = solver("planar_4r", restarts=20)
    solution = ik.solve(np.array([3.0, 4.0, 0.0]), np.eye(3), np.full(4, 0.3), np.array([True, True] + [False] * 4))
    assert not solution.success
    assert solution.restarts == 20
    assert solution.iterations <= 22 * ik.config.iterations
    assert math.isclose(solution.position_error, 5.0 - 1.5, rel_tol=1e-3)  # stretched, its 1.5 m point there
    assert math.isclose(math.remainder(solution.position.sum(), 2 * math.pi), math.atan2(4.0, 3.0), abs_tol=0.1)
    assert f"{solution.position_error:.3g} m and 0 rad away" in solution.reason
    assert "21 attempts" in solution.reason


def test_a_pose_that_only_the_limits_forbid_is_not_reached_but_the_limits_are_kept():
    ik, other = solver("arm_6r")
    q = np.array([1.0, 0.5, 1.0, 0.3, 0.8, 0.2])
    lower, upper = np.full(6, -0.1), np.full(6, 0.1)
    solution = InverseKinematics(ik.chain, lower, upper, IkConfig(restarts=5)).solve(*other.pose(q), np.zeros(6))
    assert not solution.success
    assert np.all((solution.position >= lower) & (solution.position <= upper))


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_reported_errors_are_those_of_pinocchio(name):
    ik, other = solver(name, restarts=2)
    for q, start in zip(random_positions(name, 20, 50), random_positions(name, 21, 50), strict=True):
        p, R = other.pose(q)
        p = 1.2 * p  # some are out of reach
        solution = ik.solve(p, R, start)
        p_there, R_there = other.pose(solution.position)
        assert math.isclose(solution.position_error, np.linalg.norm(p - p_there), abs_tol=1e-12)
        assert math.isclose(solution.rotation_error, np.linalg.norm(pinocchio.log3(R @ R_there.T)), abs_tol=1e-9)
        assert solution.success == (solution.position_error <= 1e-6 and solution.rotation_error <= 1e-6)
        assert bool(solution.reason) != solution.success


def test_tighter_tolerances_are_kept():
    ik, other = solver("iiwa", position_tolerance=1e-9, rotation_tolerance=1e-9)
    for q, start in zip(random_positions("iiwa", 22, 100), random_positions("iiwa", 23, 100), strict=True):
        p, R = other.pose(q)
        solution = ik.solve(p, R, start)
        p_there, R_there = other.pose(solution.position)
        assert solution.success
        assert np.linalg.norm(p - p_there) < 1.1e-9
        assert np.linalg.norm(pinocchio.log3(R @ R_there.T)) < 1.1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_nearest_of_several_solutions_is_never_farther_than_the_first_and_mostly_nearer(name):
    first, other = solver(name)
    nearest, _ = solver(name, nearest=True)
    gains = []
    for q, start in zip(random_positions(name, 24, 60), random_positions(name, 25, 60), strict=True):
        pose = other.pose(q)
        near = nearest.solve(*pose, start)
        assert near.success
        assert reaches(other, near, *pose)
        assert within(nearest, near.position)
        gains.append(np.linalg.norm(first.solve(*pose, start).position - start) - np.linalg.norm(near.position - start))
    assert min(gains) >= -1e-9
    assert np.mean(np.array(gains) > 1e-3) > 0.2


def test_from_the_nearest_solution_no_motion_along_the_solutions_leads_back_to_the_start():
    ik, other = solver("panda", nearest=True)
    checked = 0
    for q, start in zip(random_positions("panda", 26, 60), random_positions("panda", 27, 60), strict=True):
        found = ik.solve(*other.pose(q), start).position
        inside = np.all(found > ik.chain.lower + 1e-6) and np.all(found < ik.chain.upper - 1e-6)
        if not inside:  # there a limit may hold it
            continue
        _, values, V = np.linalg.svd(other.jacobian(found))
        if values[-1] > 0.05:
            assert abs(V[-1] @ (start - found)) < 2e-3 * np.linalg.norm(start - found)
            checked += 1
    assert checked >= 10


EYE = np.eye(3)
START = np.zeros(4)


@pytest.mark.parametrize(
    ("position", "rotation", "start", "axes", "said"),
    [
        ((0.0, math.nan, 0.0), EYE, START, None, "position must be finite"),
        ((0.0, 0.0), EYE, START, None, r"position .* shape \(3,\)"),
        ((0.0, 0.0, 1e300), EYE, START, None, "position must be finite"),
        ("here", EYE, START, None, "position must be numbers"),
        (np.zeros(3), np.eye(4), START, None, r"rotation .* shape \(3, 3\)"),
        (np.zeros(3), 2.0 * EYE, START, None, "not orthonormal"),
        (np.zeros(3), np.diag([1.0, 1.0, -1.0]), START, None, "mirrors"),
        (np.zeros(3), np.full((3, 3), math.nan), START, None, "rotation must be finite"),
        (np.zeros(3), EYE, np.zeros(3), None, r"start .* shape \(4,\)"),
        (np.zeros(3), EYE, np.full(4, math.inf), None, "start must be finite"),
        (np.zeros(3), EYE, START, np.zeros(6, dtype=bool), "axes must be (six )?booleans"),
        (np.zeros(3), EYE, START, np.ones(3, dtype=bool), "axes must be (six )?booleans"),
        (np.zeros(3), EYE, START, np.ones(6), "axes must be (six )?booleans"),
    ],
)
def test_questions_without_meaning_are_refused(position, rotation, start, axes, said):
    with pytest.raises(InputError, match=said):
        solver("planar_4r")[0].solve(position, rotation, start, axes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"position_tolerance": 0.0}, "position_tolerance must lie"),
        ({"rotation_tolerance": math.nan}, "rotation_tolerance must be"),
        ({"restarts": -1}, "restarts must lie"),
        ({"iterations": 0}, "iterations must lie"),
        ({"nearest_restarts": -1}, "nearest_restarts must lie"),
    ],
)
def test_settings_without_meaning_are_refused(change, said):
    with pytest.raises(ConfigError, match=said):
        IkConfig(**change)


@pytest.mark.parametrize(
    ("lower", "upper", "said"),
    [
        (np.zeros(3), np.ones(4), r"must have shape \(4,\)"),
        (np.ones(4), np.zeros(4), "must not exceed"),
        (np.full(4, math.nan), np.ones(4), "must not exceed"),
        (np.full(4, math.inf), np.full(4, math.inf), "must not exceed"),
    ],
)
def test_limits_without_meaning_are_refused(lower, upper, said):
    with pytest.raises(ConfigError, match=said):
        InverseKinematics(chain_or_skip("planar_4r"), lower, upper)


@settings(max_examples=200, deadline=None)
@given(
    st.tuples(*[st.floats(-1e6, 1e6) | st.floats(-1.0, 1.0)] * 3),
    st.tuples(*[st.floats(-7.0, 7.0)] * 3),
    st.tuples(*[st.floats(-1e6, 1e6) | st.floats(-3.0, 3.0)] * 6),
    st.lists(st.booleans(), min_size=6, max_size=6).filter(any),
)
def test_any_finite_question_has_a_finite_answer_within_limits(position, vector, start, axes):
    ik, other = solver("arm_6r", restarts=3)
    rotation = pinocchio.exp3(np.array(vector))
    solution = ik.solve(np.array(position), rotation, np.array(start), np.array(axes))
    assert within(ik, solution.position)
    assert math.isfinite(solution.position_error)
    assert math.isfinite(solution.rotation_error)
    assert not solution.success or reaches(other, solution, np.array(position), rotation, axes)
