"""Compiled steps of the estimator against the equations that they stand for, written with dense matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexarm_core.flexible_dynamics.dense import inverse_sweep
from flexarm_core.flexible_dynamics.estimation.correction import Correction
from flexarm_core.flexible_dynamics.estimation.covariance import join, propagate, show_disturbances
from flexarm_core.flexible_dynamics.estimation.measurements import Channel
from flexarm_core.flexible_dynamics.estimation.motion_readings import linearize_motion, read_swept
from flexarm_core.flexible_dynamics.kinematics import load_bodies, move_bodies
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.tree import view_tree, view_workspace
from flexarm_core.robot.load import load_robot_description

URDF = Path(__file__).resolve().parents[3] / "urdf"
DOWN = (0.0, 0.0, -9.81)


def model_of(name):
    return FlexibleModel(load_robot_description(URDF / f"{name}.urdf.xacro"), gravity=DOWN)


def covariance(draw, size):
    root = draw.normal(size=(size, size))
    return root @ root.T


@pytest.fixture(params=["boom_7r", "flexible_3r"])
def model(request):
    return model_of(request.param)


@pytest.fixture
def draw():
    return np.random.default_rng(5)


def test_the_state_and_its_covariance_move_by_the_trapezoidal_rule(model, draw):
    free, t, size = model.unmeasured, 2e-3, model.size
    N, n = len(free), len(model.actuated)
    x, v = 0.05 * draw.normal(size=size), 0.1 * draw.normal(size=size)
    effort, onto, P = draw.normal(size=len(model.hinge_names)), draw.normal(size=(N, 6)), covariance(draw, 2 * N)
    K, C = (matrix[np.ix_(free, free)] for matrix in (model.stiffness_matrix(), model.damping_matrix()))
    model.articulate(x, v, None, t)
    a = model.accelerate(effort)[free]
    columns = model.response(np.arange(size))[free]
    L = columns[:, free]
    step = np.vstack((0.5 * t * t * np.eye(N), t * np.eye(N)))
    F = np.block([[np.eye(N), t * np.eye(N)], [np.zeros((N, N)), np.eye(N)]]) - step @ L @ np.hstack(
        (K, 0.5 * t * K + C)
    )
    state, moved, mobility = np.empty(2 * N), np.empty((2 * N, 2 * N)), np.empty((N, N))
    influence = np.empty((2 * N, n + N + 6))
    model.set_wrenches(x, v, None, t)
    propagate(
        *model.arrays, x, v, effort, free, model.actuated, K, C, onto, P, state, moved, mobility, influence
    )  # fmt: skip
    assert np.allclose(state, np.concatenate((x[free] + t * v[free], v[free])) + step @ a, rtol=1e-12, atol=1e-15)
    assert np.allclose(mobility, L, rtol=1e-9, atol=1e-12 * np.abs(L).max())
    assert np.allclose(moved, F @ P @ F.T, rtol=1e-9, atol=1e-10 * np.abs(F @ P @ F.T).max())
    expected = step @ np.hstack((columns[:, model.actuated], np.eye(N), L @ onto))
    assert np.allclose(influence, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())


def test_disturbances_join_the_covariance_and_show_in_readings(model, draw):
    free, n = model.unmeasured, len(model.actuated)
    N = len(free)
    moved, influence, variance = covariance(draw, 2 * N), draw.normal(size=(2 * N, n + N + 6)), draw.random(n + N + 6)
    P = np.empty((len(moved) + len(variance), len(moved) + len(variance)))
    join(moved, influence, variance, P)
    cross = influence * variance
    assert np.allclose(P, np.block([[moved + cross @ influence.T, cross], [cross.T, np.diag(variance)]]), rtol=1e-12)
    by_forces, onto, L = draw.normal(size=(4, model.size)), draw.normal(size=(N, 6)), covariance(draw, N)
    shown = np.empty((4, n + N + 6))
    show_disturbances(by_forces, free, model.actuated, onto, L, shown)
    seen = by_forces[:, free]
    expected = np.hstack((by_forces[:, model.actuated], np.linalg.solve(L, seen.T).T, seen @ onto))
    assert np.allclose(shown, expected, rtol=1e-6)


def test_a_correction_is_that_of_kalman_over_state_and_disturbances(draw):
    known, d, rows = 6, 5, (3, 1, 2)
    P, state = covariance(draw, known + d), draw.normal(size=known)
    channels = [
        Channel(
            "a", tuple("xyz")[:count], draw.normal(size=count), draw.normal(size=(count, known)), draw.random(count),
            None if count == 1 else draw.normal(size=(count, d)),
        )
        for count in rows
    ]  # fmt: skip
    H = np.vstack(
        [np.hstack((c.jacobian, np.zeros((1, d)) if c.feedthrough is None else c.feedthrough)) for c in channels]
    )
    R, innovation = (np.concatenate([getattr(c, name) for c in channels]) for name in ("variance", "innovation"))
    correction = Correction(channels, known + d)
    sizes = np.abs(innovation) / np.sqrt(np.diag(H @ P @ H.T) + R)
    assert np.allclose(correction.deviations(P), [sizes[:3].max(), sizes[3], sizes[4:].max()], rtol=1e-9)
    correction.keep([True, False, True])
    H, R, innovation = (part[[0, 1, 2, 4, 5]] for part in (H, R, innovation))
    S = H @ P @ H.T + np.diag(R)
    gain = P @ H.T @ np.linalg.inv(S)
    corrected, smaller, variance = correction.correct(state)
    assert np.allclose(corrected, state + (gain @ innovation)[:known], rtol=1e-8)
    assert np.allclose(smaller, (P - gain @ S @ gain.T)[:known, :known], rtol=1e-6, atol=1e-8)
    assert np.allclose(variance, np.diag(S), rtol=1e-12)
    assert np.array_equal(smaller, smaller.T)


def test_readings_change_with_state_and_forces_as_differences_of_the_forward_dynamics_say(draw):
    model = model_of("boom_7r")
    free, size, hinges = model.unmeasured, model.size, len(model.hinge_names)
    sensor, mount = model.body_of(model.description.force_torque_sensors["base_ft_sensor"].frame), 4
    body, felt = np.array([sensor, mount]), np.array([True, False])
    frame, influence = np.zeros((2, 5, 3)), np.zeros((2, 6, model.tree.S1.shape[2]))
    frame[1, 1], frame[1, 2:] = (0.1, -0.2, 0.3), np.eye(3)
    table = body, felt, frame, influence
    x, v = 0.3 * draw.normal(size=size), 0.5 * draw.normal(size=size)
    effort = draw.normal(size=size)

    def read(x, v, effort):
        readings = np.empty((2, 6))
        model.articulate(x, v)
        forced = model.accelerate(effort[:hinges]) + model.response(model.modal) @ effort[hinges:]
        integers, constants, memory = model.arrays
        tree, space = view_tree(integers, constants), view_workspace(integers, memory)
        wrench = np.empty((len(tree.parent), 6))
        move_bodies(tree, space, x, v)
        load_bodies(tree, space, x, v)
        inverse_sweep(tree, space, forced, np.empty(size), wrench)
        read_swept(integers, memory, tree, space, x, v, forced, wrench, *table, readings)
        return readings

    effort[hinges:] = 0.0
    readings, by_forces, jacobian = np.empty((2, 6)), np.empty((2, 6, size)), np.empty((2, 6, 2 * len(free)))
    model.set_wrenches(x, v, None)
    linearize_motion(*model.arrays, x, v, effort[:hinges], free, *table, readings, by_forces, jacobian)
    assert np.allclose(readings, read(x, v, effort), rtol=1e-9, atol=1e-9)
    h, unit = 1e-5, np.eye(size)
    state = [(read(x + h * unit[j], v, effort) - read(x - h * unit[j], v, effort)) / (2 * h) for j in free]
    rates = [(read(x, v + h * unit[j], effort) - read(x, v - h * unit[j], effort)) / (2 * h) for j in free]
    expected = np.moveaxis(np.array(state + rates), 0, -1)
    assert np.allclose(jacobian, expected, rtol=1e-3, atol=1e-5 * np.abs(expected).max())
    forces = [read(x, v, effort + unit[j]) - readings for j in range(size)]
    assert np.allclose(by_forces, np.moveaxis(np.array(forces), 0, -1), rtol=1e-5, atol=1e-7)
