"""Compiled steps of the estimator against the equations that they stand for, written with dense matrices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from filter_probe import FilterProbe

from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.disturbances import loads_on
from flexarm_core.flexible_dynamics.estimation.filter import prepare
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import FlexibleSample

URDF = Path(__file__).resolve().parents[3] / "urdf"
DOWN = (0.0, 0.0, -9.81)
ALL = EstimatorConfig(use_wrench=True, use_imu=True, gate=1e9, push_gate=1e9)


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


@pytest.fixture
def probe(model, draw):
    """An estimator at a state with a covariance drawn at random, which has prepared a sample 2 ms later."""
    probe = FilterProbe(model, ALL)
    x, v = 0.05 * draw.normal(size=model.size), 0.1 * draw.normal(size=model.size)
    probe.put(x, v, 1e-8 * covariance(draw, len(probe.kept.P)))
    probe.kept.used[:] = 1.0
    prepare(*probe.estimator._arrays, 2e-3)
    return probe


def test_the_covariance_moves_by_the_trapezoidal_rule(probe, model):
    free, joints, t = model.unmeasured, model.actuated, 2e-3
    N, n, f = len(free), len(joints), probe.ahead
    K, C = (matrix[np.ix_(free, free)] for matrix in (model.stiffness_matrix(), model.damping_matrix()))
    model.articulate(probe.kept.x, probe.kept.v, None, t)
    columns = model.response(np.arange(model.size))[free]
    L = columns[:, free]
    step = np.vstack((0.5 * t * t * np.eye(N), t * np.eye(N)))
    F = np.block([[np.eye(N), t * np.eye(N)], [np.zeros((N, N)), np.eye(N)]]) - step @ L @ np.hstack(
        (K, 0.5 * t * K + C)
    )
    loads = loads_on(model, ALL)
    onto, p = step @ L @ loads.onto, len(loads.fading)
    F = np.block([[F, onto], [np.zeros((p, 2 * N)), np.diag(1.0 - loads.fading * t)]])
    moved = F @ probe.kept.P @ F.T
    assert np.allclose(f.L, L, rtol=1e-9, atol=1e-12 * np.abs(L).max())
    assert np.allclose(f.moved, moved, rtol=1e-9, atol=1e-10 * np.abs(moved).max())
    expected = np.vstack((step @ np.hstack((columns[:, joints], np.eye(N))), np.zeros((p, n + N))))
    changes = np.vstack((0.5 * onto, np.eye(p)))  # a load changes in the middle of the period
    expected = np.hstack((expected, changes))
    assert np.allclose(f.Gt.T, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
    seen = f.forces[free].T
    shown = np.hstack((f.forces[joints].T, np.linalg.solve(L, seen.T).T, np.zeros((len(seen), p))))
    shown += f.shown.T @ expected
    assert np.allclose(f.Et.T, shown, rtol=1e-6, atol=1e-9 * np.abs(shown).max())


def by_the_augmented_filter(f, used):
    """Gain, covariance and innovation variance of Kalman over state and disturbances, with the rows that are used."""
    G, W, H = f.Gt.T, np.diag(f.W), f.shown.T
    D = f.Et.T - H @ G
    P = np.block([[f.moved + G @ W @ G.T, G @ W], [W @ G.T, W]])
    H, R = np.hstack((H, D))[used], np.diag(f.R[used])
    S = H @ P @ H.T + R
    unit = 1.0 / np.sqrt(np.diag(S))
    size = len(f.moved)
    gain = (P @ H.T * unit @ np.linalg.inv(S * np.outer(unit, unit)) * unit)[:size]
    A, B = np.eye(size) - gain @ H[:, :size], G - gain @ (H[:, :size] @ G + D[used])
    return gain, A @ f.moved @ A.T + B @ W @ B.T + gain @ R @ gain.T, np.diag(S)


def assert_same_filter(gain, P, expected_gain, expected_P, S):
    """Gains as the state that one deviation of an innovation changes, in deviations of the state."""
    deviation = np.sqrt(np.diag(expected_P))
    assert np.abs((gain - expected_gain) * np.sqrt(S) / deviation[:, None]).max() < 1e-4
    assert np.abs((P - expected_P) / np.outer(deviation, deviation)).max() < 1e-4


def test_the_gain_is_that_of_kalman_over_state_and_disturbances(probe, model):
    f = probe.ahead
    gain, P, S = by_the_augmented_filter(f, f.used > 0.0)
    assert np.allclose(np.diag(f.S), S, rtol=1e-9)
    assert_same_filter(f.gain.T, f.P, gain, P, S)
    assert np.array_equal(f.P, f.P.T) and (np.linalg.eigvalsh(f.P) > -1e-12 * np.abs(f.P).max()).all()


@pytest.mark.parametrize("pushed", [False, True])
def test_rows_that_are_left_out_leave_the_filter_of_the_others(model, draw, pushed):
    config = replace(ALL, push_gate=1.0 if pushed else 1e9)
    probe, joints = FilterProbe(model, config), model.actuated
    N, n = len(model.unmeasured), len(joints)
    x, v = 0.05 * draw.normal(size=model.size), 0.1 * draw.normal(size=model.size)
    probe.at(x, v, np.zeros(n))
    probe.kept.P[:] = 1e-8 * covariance(draw, len(probe.kept.P))
    stamp, before = probe._stamp + 2_000_000, probe.kept.P.copy()
    robot = model.description
    readings = {name: 50.0 * draw.normal(size=6) for name in robot.force_torque_sensors}
    sample = FlexibleSample(stamp, x[joints], v[joints], np.zeros(n), wrenches=readings)  # no gauge, no IMU
    state, f = probe.estimator.update(sample), probe.ahead
    used = f.used > 0.0
    assert {name.split()[0] for name in state.innovation_names} == set(readings) and 0 < used.sum() < len(used)
    assert not np.array_equal(before, probe.kept.P)
    loads = loads_on(model, config)
    assert np.allclose(f.W[n + N :], 2e-3 * loads.drift + pushed * loads.push)
    gain, P, S = by_the_augmented_filter(f, used)
    assert np.allclose(state.innovation_variance, S, rtol=1e-9)
    assert not f.gain[~used].any()
    assert_same_filter(f.gain.T[:, used], probe.kept.P, gain, P, S)


def test_readings_change_with_state_and_forces_as_differences_of_the_forward_dynamics_say(draw):
    model = model_of("boom_7r")
    free, joints, probe = model.unmeasured, model.actuated, FilterProbe(model, ALL)
    none = {
        "wrenches": {name: np.zeros(6) for name in model.description.force_torque_sensors},
        "imus": {name: np.zeros(6) for name in model.description.imus},
    }
    x, v = 0.3 * draw.normal(size=model.size), 0.5 * draw.normal(size=model.size)
    effort = draw.normal(size=len(joints))

    def read(x, v, effort):
        state = probe.at(x, v, effort, **none)
        return -state.innovation[-(probe.kept.R.size - probe.linear) :]

    def differences(change, size, h=1e-5):
        return np.array([(read(*change(h * unit)) - read(*change(-h * unit))) / (2.0 * h) for unit in np.eye(size)])

    read(x, v, effort)
    N = len(free)
    shown, forces = probe.kept.shown[: 2 * N, probe.linear :].copy(), probe.kept.forces[:, probe.linear :].copy()
    state = differences(lambda step: (x + step, v, effort), model.size)[free]
    rates = differences(lambda step: (x, v + step, effort), model.size)[free]
    expected = np.vstack((state, rates))
    assert np.allclose(shown, expected, rtol=1e-3, atol=1e-5 * np.abs(expected).max())
    by_efforts = differences(lambda step: (x, v, effort + step), len(joints), h=1.0)
    assert np.allclose(forces[joints], by_efforts, rtol=1e-6, atol=1e-8)
