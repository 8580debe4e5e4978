"""The solver led by a law: move() follows as update() does, lead() moves the origin, status() says how it went."""

from __future__ import annotations

import numpy as np
import pytest
from robots import chain_or_skip

from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.solver import RedundancySolver

ALL = np.ones(6, dtype=bool)
PANDA = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.7])
DT = 2e-3


def begun(position=PANDA, **config):
    chain = chain_or_skip("panda")
    limits = MotionLimits(chain.lower, chain.upper, np.full(7, 2.0), np.full(7, 10.0))
    solver = RedundancySolver(chain, limits, RedundancyConfig(objective_time_constant=0.0, **config))
    solver.begin(position)
    return solver


def line(solver, samples=1000):
    """A smooth way out and back, with what the pose moves in each sample."""
    p, R = solver.chain.pose(PANDA)
    at = p
    for k in range(1, samples + 1):
        goal = p + np.array([0.05, 0.1, -0.05]) * np.sin(0.5 * np.pi * (1.0 - np.cos(np.pi * k / samples)))
        yield goal, R, np.concatenate((goal - at, np.zeros(3)))
        at = goal


def test_moving_is_updating_with_the_motion_given():
    solver, twin = begun(), begun()
    for k, (goal, R, motion) in enumerate(line(solver)):
        solver.move(goal, R, motion, ALL, DT)
        report = twin.update(goal, R, ALL, DT)
        if k == 0:  # the first pose of update() has no one before it: its motion is not known there
            continue
        assert solver.position == pytest.approx(twin.position, abs=1e-6)
    assert solver.error == pytest.approx(np.zeros(6), abs=1e-9)
    assert report.position_error == pytest.approx(np.zeros(3), abs=1e-9)


def test_the_error_is_the_wanted_pose_minus_the_reached_one():
    solver = begun()
    p, R = solver.chain.pose(PANDA)
    for far in (0.001, 0.2):
        goal = p + np.array([far, 0.0, -far])
        solver.move(goal, R, np.concatenate((goal - p, np.zeros(3))), ALL, DT)
        reached = solver.chain.pose(solver.position)[0]
        assert solver.error[:3] == pytest.approx(goal - reached, abs=1e-9)
        assert solver.status().position_error == pytest.approx(goal - reached, abs=1e-9)


def test_the_status_is_that_of_the_last_move_and_asking_for_it_changes_nothing():
    solver, twin = begun(), begun()
    for goal, R, motion in line(solver):
        for one in (solver, twin):
            one.move(goal, R, motion, ALL, DT)
        status = solver.status()
        assert not status.dropped and not status.cut and status.condition_number < 1e3
    assert (solver.position == twin.position).all()
    J = solver.chain.kinematics(solver.position)[2]
    J[3:] *= solver.config.length_scale
    assert solver.status().condition_number == pytest.approx(np.linalg.cond(J), rel=1e-9)


def test_a_move_that_limits_cut_says_which_joints_are_at_them():
    solver = begun()
    p, R = solver.chain.pose(PANDA)
    goal = p + np.array([0.0, 2e-3, 0.0])
    solver.move(goal, R, np.concatenate((goal - p, np.zeros(3))), ALL, DT)
    status = solver.status()
    assert status.limited and set(status.limited) <= set(solver.chain.joint_names)
    assert np.abs(solver.acceleration).max() <= 10.0


def test_before_any_pose_and_after_a_new_begin_there_is_no_status():
    solver = begun()
    for _ in range(2):
        with pytest.raises(InputError, match="no pose has been followed"):
            solver.status()
        p, R = solver.chain.pose(PANDA)
        solver.move(p, R, np.zeros(6), ALL, DT)
        solver.status()
        solver.begin(PANDA)


def test_leading_the_origin_moves_the_redundant_joints_there_and_not_the_tool():
    solver = begun()
    p, R = solver.chain.pose(PANDA)
    J = solver.chain.kinematics(PANDA)[2]
    aside = np.linalg.svd(J)[2][6]
    for k in range(1, 501):
        solver.lead(solver.position + aside * 1e-4 * min(k / 100, 1.0))
        solver.move(p, R, np.zeros(6), ALL, DT)
        aside = np.linalg.svd(solver.chain.kinematics(solver.position)[2])[2][6] * np.sign(
            np.linalg.svd(solver.chain.kinematics(solver.position)[2])[2][6] @ aside
        )
    reached, rotation = solver.chain.pose(solver.position)
    assert reached == pytest.approx(p, abs=1e-9) and rotation == pytest.approx(R, abs=1e-9)
    assert np.linalg.norm(solver.position - PANDA) == pytest.approx(1e-4 * 450, rel=0.05)


def test_leading_to_where_the_joints_are_leaves_them_there():
    solver = begun(origin=tuple(PANDA + 0.3))
    p, R = solver.chain.pose(PANDA)
    for _ in range(20):
        solver.lead(solver.position)
        solver.move(p, R, np.zeros(6), ALL, DT)
    assert solver.position == pytest.approx(PANDA, abs=1e-9)


def test_an_objective_without_an_origin_cannot_be_led_and_goes_on():
    solver, twin = (begun(objective="manipulability") for _ in range(2))
    p, R = solver.chain.pose(PANDA)
    for _ in range(20):
        solver.lead(PANDA + 1.0)
        solver.move(p, R, np.zeros(6), ALL, DT)
        twin.move(p, R, np.zeros(6), ALL, DT)
    assert (solver.position == twin.position).all()
