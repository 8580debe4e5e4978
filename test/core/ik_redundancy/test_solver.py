"""The solver as the node drives it: sample by sample, on whole arms, judged by what its positions do."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import chain_or_skip

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.inverse_kinematics import InverseKinematics
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.objectives import Function, Quadratic
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.robot.urdf_reader import parse_robot_description

X_Y = np.array([True, True, False, False, False, False])
ALL = np.ones(6, dtype=bool)
READY = {
    "panda": np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.7]),
    "arm_6r": np.array([0.2, 0.3, 1.2, 0.1, 0.5, 0.0]),
    "planar_4r": np.array([0.3, 0.6, 0.5, 0.4]),
}
EQUALS = ("x y z rx ry rz",)


def motion_limits(chain, acceleration=10.0, velocity=3.0):
    return MotionLimits(
        chain.lower, chain.upper, np.minimum(chain.velocity_limit, velocity), np.full(chain.n, acceleration)
    )


def begun(name, start=None, acceleration=10.0, velocity=3.0, **config):
    """Solver of a robot that has begun at rest."""
    chain = chain_or_skip(name)
    solver = RedundancySolver(chain, motion_limits(chain, acceleration, velocity), RedundancyConfig(**config))
    solver.begin(READY[name] if start is None else start)
    return solver


def follow(solver, poses, dt, axes=ALL):
    """Positions (ticks, n) and reports."""
    positions, reports = [], []
    for position, rotation in poses:
        reports.append(solver.update(position, rotation, axes, dt))
        positions.append(solver.position)
    return np.array(positions), reports


def largest_errors(reports):
    """Of position [m] and rotation [rad]."""
    return (
        max(abs(report.position_error).max() for report in reports),
        max(abs(report.rotation_error).max() for report in reports),
    )


def smooth(x):
    """From 0 to 1 with no speed and no acceleration at the ends."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x * x)


def assert_within_limits(solver, start, positions, dt):
    """Positions, and velocities and accelerations differenced from them; ``start``: (n,) at rest, or (2, n) moving."""
    limits = motion_limits(solver.chain)
    before = np.atleast_2d(start)
    q = np.vstack((before if len(before) > 1 else np.vstack((before, before)), positions))
    v = np.diff(q, axis=0) / dt
    assert np.all(q <= limits.upper) and np.all(q >= limits.lower)
    assert np.all(abs(v) <= limits.velocity)
    assert np.all(abs(np.diff(v, axis=0)) / dt <= limits.acceleration)


def rotation_about(axis, angle):
    """Rodrigues."""
    x, y, z = np.asarray(axis) / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


# --- closed paths ---


def test_ten_turns_of_a_circle_end_at_the_joints_where_one_ended_while_a_pseudo_inverse_drifts():
    solver = begun("planar_4r", acceleration=100.0, velocity=10.0, objective_time_constant=0.0)
    chain, start = solver.chain, solver.position
    center, rotation = chain.pose(start)
    plain, drift, plain_drift = start.copy(), [], []
    for k in range(1, 2001):
        angle = 2.0 * np.pi * k / 200
        wanted = center + 0.15 * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])
        solver.update(wanted, rotation, X_Y, 0.01)
        p, _, J = chain.kinematics(plain)
        plain = plain + np.linalg.pinv(J[:2]) @ (wanted - p)[:2]
        if k % 200 == 0:
            drift.append(abs(solver.position - start).max())
            plain_drift.append(abs(plain - start).max())
    assert drift[9] <= drift[0] + 1e-12 and drift[9] < 1e-9
    assert plain_drift[9] > 5.0 * plain_drift[0] > 1e-3


@pytest.mark.parametrize(("beyond", "priority"), ((0.01, ()), (0.02, ()), (0.03, EQUALS), (0.05, EQUALS)))
def test_an_arm_stretched_beyond_its_reach_comes_back_to_the_same_joints(beyond, priority):
    start, dt = np.array([0.0, 0.4, 0.9, 0.0, 0.5, 0.0]), 2e-3
    solver = begun("arm_6r", start, **({"priority": priority} if priority else {}))
    position, rotation = solver.chain.pose(start)
    arm = (
        position - 0.12 * rotation[:, 2] - np.array([0.0, 0.0, 0.36])
    )  # shoulder to wrist center; 0.87 m when stretched
    out = (0.87 + beyond - np.linalg.norm(arm)) / np.linalg.norm(arm)
    way = np.sin(np.pi * smooth(np.arange(1, 6001) / 6000)) ** 2
    positions, reports = follow(solver, [(position + out * share * arm, rotation) for share in way], dt)
    assert_within_limits(solver, start, positions, dt)
    assert max(abs(report.position_error).max() + abs(report.rotation_error).max() for report in reports) > 0.5 * beyond
    assert np.abs(positions[-1] - start).max() < 1e-6
    assert largest_errors(reports[-1:]) < (1e-9, 1e-9)


# --- following ---


@pytest.mark.parametrize("name", ("panda", "arm_6r"))
def test_a_smooth_line_is_tracked_to_a_nanometre(name):
    solver = begun(name)
    position, rotation = solver.chain.pose(solver.position)
    turns = [rotation_about((1.0, 2.0, -0.5), 0.3 * smooth(k / 1500)) @ rotation for k in range(1, 1501)]
    way = np.array([0.05, 0.2, -0.1])
    _, reports = follow(solver, [(position + smooth(k / 1500) * way, turns[k - 1]) for k in range(1, 1501)], 1e-3)
    assert max(largest_errors(reports)) < 1e-9
    assert not any(report.dropped or report.cut or report.limited for report in reports)


def test_a_line_straight_through_a_wrist_singularity_keeps_the_position_and_gives_up_one_rotation():
    crossing, dt, ticks = np.array([0.0, 0.3, 1.2, 0.0, 0.0, 0.0]), 1e-3, 4000
    chain = chain_or_skip("arm_6r")
    middle, rotation = chain.pose(crossing)
    side = np.array([0.0, 0.2, 0.0])
    start = InverseKinematics(chain, chain.lower, chain.upper).solve(middle - side, rotation, crossing)
    assert start.success
    solver = begun("arm_6r", start.position)
    poses = [(middle + (2.0 * smooth(k / ticks) - 1.0) * side, rotation) for k in range(1, ticks + 1)]
    positions, reports = follow(solver, poses, dt)
    assert_within_limits(solver, start.position, positions, dt)
    assert positions[:, 4].min() < -0.1 and positions[:, 4].max() > 0.1  # straight through
    assert largest_errors(reports)[0] < 1e-6
    assert max(report.condition_number for report in reports) > 1e3
    assert {axis for report in reports for axis in report.dropped} == {"ry"}
    assert all(set(report.dropped + report.damped + report.cut) <= {"rx", "ry", "rz"} for report in reports)
    assert max(largest_errors(reports[-1:])) < 1e-9


# --- catching up ---


def catch_up(solver, jump, still, ticks, dt=1e-3):
    """Share of the way of a jump of the reference (ticks,), positions and reports; it waits for ``still`` ticks."""
    start, rotation = solver.chain.pose(solver.position)
    poses = [(start + (k >= still) * jump, rotation) for k in range(ticks)]
    positions, reports = follow(solver, poses, dt)
    ways = np.array([solver.chain.pose(q)[0] - start for q in positions])
    return ways @ jump / (jump @ jump), positions, reports


@pytest.mark.parametrize("still", (0, 20))
@pytest.mark.parametrize("name", ("panda", "arm_6r"))
@pytest.mark.parametrize("jump", ((0.0, 0.1, 0.0), (0.1, 0.0, -0.1), (0.0, 0.001, 0.0)), ids=str)
def test_a_jump_of_the_reference_is_caught_up_without_overshoot(name, jump, still):
    solver = begun(name)
    start = solver.position
    share, positions, reports = catch_up(solver, np.array(jump), still, 1500)
    assert_within_limits(solver, start, positions, 1e-3)
    assert share.max() < 1.01
    assert max(largest_errors(reports[-1:])) < 1e-9


@pytest.mark.parametrize("still", (0, 20))
def test_a_jump_of_the_reference_is_caught_up_with_half_of_the_acceleration(still):
    solver = begun("panda")
    start = solver.position
    _, positions, reports = catch_up(solver, np.array([0.0, 0.1, 0.0]), still, 600)
    acceleration = np.diff(np.vstack((start, start, positions)), n=2, axis=0) / 1e-6
    assert abs(acceleration).max() < 0.6 * 10.0
    assert not any(report.cut for report in reports)


@pytest.mark.parametrize("noise", (0.0, 1e-17, 1e-14, 1e-9))
def test_a_joint_with_next_to_nothing_to_do_does_not_hold_up_the_others(noise):
    solver = begun("arm_6r", np.array([noise, 0.3, 1.2, 0.0, 0.5, 0.0]))
    _, _, reports = catch_up(solver, np.array([0.1, 0.0, 0.0]), 0, 1500)
    assert max(largest_errors(reports[-1:])) < 1e-9


# --- limits, whatever comes ---


@st.composite
def pose_sequence(draw, reach=1.0):
    """Random stretches: a pose that is held, a jump, a line, far out of reach or not."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    stretches = draw(st.lists(st.sampled_from(["jump", "line", "far", "turn", "noise"]), min_size=2, max_size=5))
    p, R, poses = rng.uniform(-0.5, 0.5, 3) + np.array([0.3, 0.0, 0.4]), rotation_about(rng.normal(size=3), 1.0), []
    for kind in stretches:
        axis, goal = rng.normal(size=3), rng.uniform(-0.8, 0.8, 3)
        for k in range(draw(st.integers(5, 60))):
            if kind == "jump" and k == 0:
                p, R = goal, rotation_about(axis, rng.uniform(0.0, np.pi))
            elif kind == "line":
                p = p + 0.01 * goal
            elif kind == "far" and k == 0:
                p = 20.0 * goal
            elif kind == "turn":
                R = rotation_about(axis, 0.02) @ R
            elif kind == "noise":
                p = p + 1e-3 * rng.normal(size=3)
            poses.append((p, R))
    return poses


CONFIGS = (
    {},
    {"priority": EQUALS},
    {"band": 0.0, "given_up": "hold"},
    {"objective_time_constant": 0.0, "corrections": 0},
    {"objective": "joint_range"},
    {"objective": "manipulability"},
    {"weights": (0.0,) * 2 + (1.0,) * 2, "corrections": 10},
)


@pytest.mark.parametrize("name", ("panda", "arm_6r", "planar_4r"))
@settings(max_examples=60, deadline=None, derandomize=True)
@given(pose_sequence(), st.integers(0, len(CONFIGS) - 1), st.sampled_from([1e-3, 4e-3, 0.02]), st.booleans())
def test_whatever_poses_come_no_limit_is_exceeded(name, poses, which, dt, some_axes):
    n = chain_or_skip(name).n
    config = dict(CONFIGS[which])
    if "weights" in config:
        config["weights"] = (0.0, 0.0) + (1.0,) * (n - 2)
    solver = begun(name, **config)
    start = solver.position
    positions, reports = follow(solver, poses, dt, X_Y if some_axes else ALL)
    assert_within_limits(solver, start, positions, dt)
    for q, report, (p, R) in zip(positions, reports, poses, strict=True):
        reached, _ = solver.chain.pose(q)
        wanted = np.where(X_Y[:3], p - reached, 0.0) if some_axes else p - reached
        assert np.allclose(report.position_error, wanted, atol=1e-12 * (1.0 + abs(p).max()))
        assert np.isfinite(R).all() and np.isfinite(report.rotation_error).all()


def test_joints_are_reported_while_a_limit_holds_them():
    solver = begun("planar_4r")
    far, rotation = np.array([0.0, 40.0, 0.0]), np.eye(3)
    first = solver.update(far, rotation, X_Y, 1e-3)
    _, reports = follow(solver, [(far, rotation)] * 2000, 1e-3, X_Y)
    assert first.cut == () or first.limited  # what is cut is cut by a limit
    seen = {name for report in reports for name in report.limited}
    assert seen and seen <= set(solver.chain.joint_names)


@pytest.mark.parametrize("name", ("panda", "planar_4r"))
def test_stop_brakes_within_the_limits_and_comes_to_rest(name):
    solver, dt = begun(name), 1e-3
    start, rotation = solver.chain.pose(solver.position)
    moved, _ = follow(solver, [(start + np.array([0.4, 1.5, 0.0]) * k * dt, rotation) for k in range(300)], dt, X_Y)
    speed, before = abs(solver.velocity).max(), moved[-2:]
    assert speed > 0.5
    positions = []
    while abs(solver.velocity).max() > 0.0:
        solver.stop(dt)
        positions.append(solver.position)
        assert len(positions) <= speed / 10.0 / dt + 2
    assert_within_limits(solver, before, np.array(positions), dt)
    held = solver.position
    solver.stop(dt)
    assert np.array_equal(solver.position, held) and np.all(solver.acceleration == 0.0)


def test_after_a_stop_the_motion_goes_on_within_the_limits():
    solver, dt = begun("panda"), 1e-3
    q0 = solver.position
    start, rotation = solver.chain.pose(q0)
    poses = [(start + np.array([0.0, 0.3, 0.0]) * smooth(k / 800), rotation) for k in range(1500)]
    first, _ = follow(solver, poses[:400], dt)
    braking = []
    for _ in range(50):
        solver.stop(dt)
        braking.append(solver.position)
    rest, reports = follow(solver, poses[450:], dt)
    assert_within_limits(solver, q0, np.vstack((first, braking, rest)), dt)
    assert max(largest_errors(reports[-1:])) < 1e-9


def test_settings_changed_on_the_way_leave_the_acceleration_within_its_limits():
    solver, dt = begun("panda"), 1e-3
    q0 = solver.position
    start, rotation = solver.chain.pose(q0)
    configs = [dict(config) for config in CONFIGS]
    configs[-1]["weights"] = (0.0, 5.0, 1.0, 0.0, 1.0, 0.1, 1.0)
    configs.append({"origin": (1.0, 0.5, -1.0, -1.0, 1.0, 1.0, -1.0), "objective_time_constant": 0.0})
    positions = []
    for k in range(1600):
        if k % 100 == 0:
            solver.set_config(RedundancyConfig(**configs[k // 100 % len(configs)]))
        solver.update(start + np.array([0.0, 0.2, 0.1]) * smooth(k / 1500), rotation, ALL, dt)
        positions.append(solver.position)
    assert_within_limits(solver, q0, np.array(positions), dt)


# --- spare joints ---


def still(solver, axes, ticks=1500, dt=4e-3):
    position, rotation = solver.chain.pose(solver.position)
    return follow(solver, [(position, rotation)] * ticks, dt, axes)


def test_spare_joints_come_to_the_least_sum_that_the_pose_allows():
    origin, weights = np.array([1.0, -0.5, 0.2, 0.8]), np.array([1.0, 3.0, 0.5, 2.0])
    solver = begun("planar_4r", origin=tuple(origin), weights=tuple(weights))
    _, reports = still(solver, X_Y)
    J = solver.chain.kinematics(solver.position)[2][:2]
    null = np.linalg.svd(J)[2][2:]
    assert abs(null @ (weights * (solver.position - origin))).max() < 1e-6
    assert largest_errors(reports)[0] < 1e-9


def test_an_objective_of_the_users_counts_with_its_own_weights():
    origin, weights = np.array([1.0, -0.5, 0.2, 0.8]), np.array([1.0, 3.0, 0.5, 2.0])
    by_settings = begun("planar_4r", origin=tuple(origin), weights=tuple(weights))
    by_objective = begun("planar_4r")
    by_objective.set_objective(Quadratic(weights, origin))
    for solver in (by_settings, by_objective):
        still(solver, X_Y)
    assert np.allclose(by_objective.position, by_settings.position, atol=1e-9)


def test_a_joint_that_the_users_objective_leaves_out_moves_at_no_cost():
    by_settings = begun("planar_4r", weights=(0.0, 1.0, 1.0, 1.0))
    by_objective = begun("planar_4r")
    by_objective.set_objective(Quadratic(np.array([0.0, 1.0, 1.0, 1.0]), by_objective.position))
    position, rotation = by_settings.chain.pose(by_settings.position)
    poses = [(position + np.array([-0.1, 0.2, 0.0]) * smooth(k / 500), rotation) for k in range(1, 600)]
    ends = [follow(solver, poses, 2e-3, X_Y)[0][-1] for solver in (by_settings, by_objective)]
    assert np.allclose(ends[1], ends[0], atol=1e-9)


def test_after_an_objective_of_another_kind_the_weights_are_those_of_the_new_one():
    solver, fresh = begun("planar_4r", objective="joint_range"), begun("planar_4r")
    still(solver, X_Y, 3)
    again = solver.position
    objective = Quadratic(np.ones(4), np.array([1.0, -0.5, 0.2, 0.8]))
    fresh.begin(again)
    solver.begin(again)
    still(solver, X_Y, 3)
    fresh.begin(solver.position)
    for each in (solver, fresh):
        each.set_objective(objective)
        still(each, X_Y)
    assert np.allclose(solver.position, fresh.position, atol=1e-6)


def test_the_manipulability_objective_raises_the_manipulability():
    start = np.array([0.2, -0.3, 0.5, -2.2, 0.4, 1.5, 0.7])
    solver = begun("panda", start, objective="manipulability", objective_weight=10.0, weights=(0.01,))

    def manipulability(q):
        J = solver.chain.kinematics(q)[2]
        return np.sqrt(np.linalg.det(J @ J.T))

    before = manipulability(solver.position)
    _, reports = still(solver, ALL, 500)
    assert manipulability(solver.position) > 1.005 * before
    assert max(largest_errors(reports)) < 1e-9


def test_a_function_of_the_users_is_brought_down():
    solver = begun("planar_4r")
    solver.set_objective(Function(lambda q: 1.0 - np.cos(q[3] - q[2])))
    before = abs(solver.position[3] - solver.position[2])
    _, reports = still(solver, X_Y)
    assert abs(solver.position[3] - solver.position[2]) < 0.01 * before
    assert largest_errors(reports)[0] < 1e-9


# --- reports ---


def test_axes_that_are_not_wanted_are_free_and_not_reported():
    solver = begun("panda")
    position, _ = solver.chain.pose(solver.position)
    axes = np.array([True, True, True, False, False, False])
    _, reports = follow(solver, [(position, rotation_about((1.0, 0.0, 0.0), 2.0))] * 50, 1e-3, axes)
    assert all(np.all(report.rotation_error == 0.0) for report in reports)
    assert not any({"rx", "ry", "rz"} & set(report.dropped + report.damped + report.cut) for report in reports)


def test_more_axes_than_joints_are_reported_as_singular():
    solver = begun("planar_4r")
    report = solver.update(*solver.chain.pose(solver.position), ALL, 1e-3)
    assert report.condition_number > 1e12
    assert set(report.dropped) == {"z", "rx", "ry"}


def test_more_axes_than_joints_have_an_infinite_condition_number():
    text = (
        '<robot name="two"><link name="world"/><link name="a"/><link name="tool0"/>'
        '<joint name="one" type="revolute"><parent link="world"/><child link="a"/><axis xyz="0 0 1"/>'
        '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
        '<joint name="two" type="revolute"><parent link="a"/><child link="tool0"/><origin xyz="1 0 0.5"/>'
        '<axis xyz="0 1 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint></robot>'
    )
    chain = build_chain(parse_robot_description(text, massless=True))
    solver = RedundancySolver(chain, motion_limits(chain), RedundancyConfig())
    solver.begin(np.array([0.1, 0.2]))
    assert solver.update(*chain.pose(solver.position), ALL, 1e-3).condition_number == np.inf


def test_the_condition_number_is_that_of_the_wanted_rows():
    solver = begun("panda", length_scale=0.5)
    report = solver.update(*solver.chain.pose(solver.position), ALL, 1e-3)
    J = solver.chain.kinematics(solver.position)[2]
    assert report.condition_number == pytest.approx(np.linalg.cond(np.repeat([1.0, 0.5], 3)[:, None] * J), rel=1e-9)


def test_damped_least_squares_come_to_a_pose_at_rest_without_exceeding_position_and_velocity():
    solver = begun("panda", method="damped_least_squares", damping=0.02)
    limits = motion_limits(solver.chain)
    position, rotation = solver.chain.pose(solver.position)
    positions, reports = follow(solver, [(position + np.array([0.0, 0.05, 0.0]), rotation)] * 1500, 1e-3)
    assert np.all(abs(np.diff(positions, axis=0)) / 1e-3 <= limits.velocity * (1.0 + 1e-9))
    assert max(largest_errors(reports[-1:])) < 1e-6


# --- input that means nothing ---

GOOD = (np.array([0.5, 0.1, 0.4]), np.eye(3), ALL, 1e-3)


@pytest.mark.parametrize(
    "changed",
    (
        {0: np.array([np.nan, 0.0, 0.0])},
        {0: np.array([0.0, np.inf, 0.0])},
        {0: np.zeros(2)},
        {1: np.full((3, 3), np.nan)},
        {1: np.eye(4)},
        {1: 1.01 * np.eye(3)},
        {1: np.zeros((3, 3))},
        {1: np.diag([1.0, 1.0, -1.0])},
        {2: np.ones(3, dtype=bool)},
        {3: 0.0},
        {3: -1e-3},
        {3: np.nan},
        {3: np.inf},
    ),
    ids=str,
)
def test_input_without_meaning_is_refused_and_changes_nothing(changed):
    solver, other = begun("panda"), begun("panda")
    position, rotation = solver.chain.pose(solver.position)
    good = (position + np.array([0.0, 1e-5, 0.0]), rotation, ALL, 1e-3)
    for each in (solver, other):
        each.update(*good)
    with pytest.raises(InputError):
        solver.update(*(changed.get(i, value) for i, value in enumerate(good)))
    for each in (solver, other):
        each.update(*good)
    assert np.array_equal(solver.position, other.position) and np.array_equal(solver.velocity, other.velocity)


def test_a_pose_before_the_begin_is_refused():
    chain = chain_or_skip("panda")
    solver = RedundancySolver(chain, motion_limits(chain), RedundancyConfig())
    with pytest.raises(InputError, match="begin"):
        solver.update(*GOOD)


@pytest.mark.parametrize("dt", (0.0, -1e-3, np.nan))
def test_a_stop_in_no_time_is_refused(dt):
    solver = begun("panda")
    with pytest.raises(InputError):
        solver.stop(dt)
    assert np.isfinite(solver.position).all()


@pytest.mark.parametrize(
    ("position", "velocity"),
    ((np.zeros(6), None), (np.full(7, np.nan), None), (np.zeros(7), np.zeros(3)), (np.zeros(7), np.full(7, np.inf))),
)
def test_a_begin_without_meaning_is_refused_and_changes_nothing(position, velocity):
    solver = begun("panda")
    with pytest.raises(InputError, match="7 finite"):
        solver.begin(position, velocity)
    assert solver.begun and np.array_equal(solver.position, READY["panda"])


def test_a_rotation_that_its_owner_changes_later_is_not_taken_back():
    solver, other = begun("panda"), begun("panda")
    position, rotation = solver.chain.pose(solver.position)
    shared = np.empty((3, 3))
    for k in range(1, 200):
        shared[:] = rotation_about((0.0, 0.0, 1.0), 0.2 * smooth(k / 200)) @ rotation
        solver.update(position, shared, ALL, 1e-3)
        other.update(position, shared.copy(), ALL, 1e-3)
    assert np.array_equal(solver.position, other.position)


def test_reset_forgets_the_motion():
    solver = begun("panda")
    position, rotation = solver.chain.pose(solver.position)
    follow(solver, [(position + np.array([0.0, 0.1, 0.0]), rotation)] * 50, 1e-3)
    solver.reset()
    assert not solver.begun
    with pytest.raises(InputError, match="begin"):
        solver.update(*GOOD)
    solver.begin(READY["panda"])
    fresh = begun("panda")
    goal = (position + np.array([0.0, 0.0, 0.1]), rotation)
    assert np.array_equal(follow(solver, [goal] * 50, 1e-3)[0], follow(fresh, [goal] * 50, 1e-3)[0])


# --- settings that do not fit ---


@pytest.mark.parametrize("fixed", [True, False])
def test_a_motion_refers_to_the_start_of_the_first_one_unless_told_otherwise(fixed):
    solver = begun("panda", fixed_origin=fixed, objective_time_constant=0.0)
    pose, first = solver.chain.pose(solver.position), solver.position.copy()
    led = begun("panda", origin=tuple(first + [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), objective_time_constant=0.0)
    follow(led, [pose] * 2000, 4e-3)
    other = led.position
    assert np.abs(other - first).max() > 0.05
    solver.begin(other)
    follow(solver, [pose] * 2000, 4e-3)
    assert np.abs(solver.position - (first if fixed else other)).max() < 1e-6
    assert bool(solver.path_config.origin) is fixed
    solver.reset()
    solver.begin(other)
    assert solver.path_config.origin in ((), tuple(other))


@pytest.mark.parametrize("setting", ({"weights": (1.0, 2.0)}, {"origin": (0.0, 0.0)}))
def test_settings_of_another_number_of_joints_are_refused_and_the_old_ones_stay(setting):
    solver = begun("panda")
    config = solver.config
    with pytest.raises(ConfigError):
        solver.set_config(RedundancyConfig(**setting))
    assert solver.config is config
    with pytest.raises(ConfigError):
        RedundancySolver(solver.chain, motion_limits(solver.chain), RedundancyConfig(**setting))


def test_limits_of_another_number_of_joints_are_refused():
    chain, other = chain_or_skip("panda"), chain_or_skip("arm_6r")
    with pytest.raises(ConfigError, match="7"):
        RedundancySolver(chain, motion_limits(other), RedundancyConfig())


def test_limits_change_between_samples_and_hold_from_then_on():
    solver, dt = begun("arm_6r", acceleration=20.0), 1e-3
    position, rotation = solver.chain.pose(solver.position)
    target = position + [0.0, 0.2, 0.0]
    follow(solver, [(target, rotation)] * 80, dt)
    fast = np.abs(solver.velocity).max()
    assert fast > 0.5
    solver.set_limits(motion_limits(solver.chain, acceleration=5.0, velocity=0.3))
    before = solver.velocity
    for tick in range(3000):
        solver.update(target, rotation, ALL, dt)
        assert np.abs(solver.velocity - before).max() <= 5.0 * dt
        assert tick < fast / 5.0 / dt or np.abs(solver.velocity).max() <= 0.3
        before = solver.velocity
    assert np.allclose(solver.chain.pose(solver.position)[0], target, atol=1e-9)


def test_an_objective_that_gives_no_numbers_is_refused():
    solver = begun("planar_4r")
    with pytest.raises(ConfigError, match="objective"):
        solver.set_objective(Function(lambda q: float("nan")))


def test_settings_may_change_before_the_begin():
    chain = chain_or_skip("planar_4r")
    solver = RedundancySolver(chain, motion_limits(chain), RedundancyConfig())
    config = dataclasses.replace(solver.config, weights=(1.0, 2.0, 3.0, 4.0))
    solver.set_config(config)
    solver.begin(READY["planar_4r"])
    assert solver.config is config
