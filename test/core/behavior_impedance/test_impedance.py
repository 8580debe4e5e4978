"""One interval of the impedance against the matrix exponential, and what its method promises."""

from __future__ import annotations

import numpy as np
import pytest
from law_cases import definite
from scipy.linalg import expm

from flexarm_core.behavior_impedance.impedance import System, propagate


def step(M, B, S, h, V, f):
    """Velocity and displacement after one interval."""
    out, y = np.empty((len(V), 1)), np.empty((len(V), 1))
    propagate(System(M, B, S), h, (M @ V)[:, None].copy(), f[:, None].copy(), out, y)
    return out[:, 0], y[:, 0]


def free_response(M, B, K, V, x, h, time):
    """Velocity and position after a time, from V and x, without force."""
    for _ in range(round(time / h)):
        V, y = step(M, B, K, h, V, -K @ x)
        x = x + y
    return V, x


def oscillator(rng, k=6):
    return (
        definite(rng, np.full(k, 5.0), 0.6),
        definite(rng, np.full(k, 40.0), 0.6),
        definite(rng, np.full(k, 2e3), 0.6),
    )


def exact(M, B, K, V, x, time):
    k = len(V)
    A = np.block([[np.zeros((k, k)), np.eye(k)], [-np.linalg.solve(M, K), -np.linalg.solve(M, B)]])
    z = expm(A * time) @ np.concatenate((x, V))
    return z[k:], z[:k]


@pytest.mark.parametrize("seed", range(5))
def test_the_free_response_of_coupled_oscillators_is_the_matrix_exponential(seed):
    rng = np.random.default_rng(seed)
    M, B, K = oscillator(rng)
    V0, x0 = rng.normal(size=6), 0.1 * rng.normal(size=6)
    for time in (0.1, 0.5, 1.0):
        V, x = free_response(M, B, K, V0, x0, 0.002, time)
        wanted_V, wanted_x = exact(M, B, K, V0, x0, time)
        assert np.abs(x - wanted_x).max() < 1e-8 * np.abs(x0).max()
        assert np.abs(V - wanted_V).max() < 1e-7 * np.abs(V0).max()


def test_the_error_falls_with_the_fifth_power_of_the_step():
    rng = np.random.default_rng(7)
    M, B, K = oscillator(rng)
    V0, x0 = rng.normal(size=6), 0.1 * rng.normal(size=6)
    wanted = exact(M, B, K, V0, x0, 0.32)[1]
    errors = [np.abs(free_response(M, B, K, V0, x0, h, 0.32)[1] - wanted).max() for h in (0.016, 0.008, 0.004)]
    assert 25.0 < errors[0] / errors[1] < 40.0 and 25.0 < errors[1] / errors[2] < 40.0


def test_a_constant_force_displaces_to_the_static_deflection():
    rng = np.random.default_rng(3)
    M, B, K = oscillator(rng)
    f, V, x = rng.normal(size=6), np.zeros(6), np.zeros(6)
    for _ in range(3000):
        V, y = step(M, 5.0 * B, K, 0.002, V, f - K @ x)
        x = x + y
    assert np.allclose(x, np.linalg.solve(K, f), rtol=1e-9)


def test_without_inertia_it_is_the_velocity_variant():
    rng = np.random.default_rng(5)
    _, B, K = oscillator(rng)
    x0, x, V = rng.normal(size=6), None, np.zeros(6)
    x = x0.copy()
    for _ in range(20):
        V, y = step(np.zeros((6, 6)), B, K, 0.002, V, -K @ x)
        x = x + y
    wanted = expm(-np.linalg.solve(B, K) * 0.04) @ x0
    assert np.abs(x - wanted).max() < 1e-6 * np.abs(x0).max()
    assert np.allclose(V, -np.linalg.solve(B, K @ x), rtol=1e-3, atol=1e-3)


def test_what_is_much_stiffer_than_the_step_settles_at_once():
    one = np.eye(1)
    for stiffness, damping in ((1e12, 0.0), (1e3, 1e12), (1e12, 1e9)):
        V, x = np.ones(1), np.ones(1)
        before = np.inf
        for _ in range(5):
            V, y = step(one, damping * one, stiffness * one, 0.002, V, -stiffness * x)
            x = x + y
            energy = 0.5 * float(V @ V) + 0.5 * stiffness * float(x @ x)
            assert energy <= before
            before = energy
        assert energy < 1e-3 * (0.5 + 0.5 * stiffness) or damping == 1e12  # there the spring is slow, and rightly so


def test_no_interval_gains_more_energy_than_the_force_gives_in_a_thousand_cases():
    rng = np.random.default_rng(11)
    for _ in range(1000):
        k = int(rng.integers(1, 8))
        M, B, K = (definite(rng, 10.0 ** rng.uniform(low, high, k), 0.7) for low, high in ((-2, 2), (-1, 5), (-1, 8)))
        if rng.uniform() < 0.2:
            B[:] = 0.0
        h, f = 10.0 ** rng.uniform(-3.5, -1), rng.normal(size=k) * 10.0 ** rng.uniform(-2, 2)
        V, x = rng.normal(size=k), 0.1 * rng.normal(size=k)
        for _ in range(5):
            before = 0.5 * V @ M @ V + 0.5 * x @ K @ x
            V, y = step(M, B, K, h, V, f - K @ x)
            x = x + y
            after = 0.5 * V @ M @ V + 0.5 * x @ K @ x
            assert after <= before + f @ y + 1e-9 * (before + abs(f @ y))


def test_several_forces_at_once_are_each_as_if_alone():
    rng = np.random.default_rng(2)
    M, B, K = oscillator(rng)
    V0, F = rng.normal(size=(6, 4)), rng.normal(size=(6, 4))
    V, y = np.empty((6, 4)), np.empty((6, 4))
    propagate(System(M, B, K), 0.002, M @ V0, F, V, y)
    for c in range(4):
        alone = step(M, B, K, 0.002, V0[:, c].copy(), F[:, c].copy())
        assert np.allclose(V[:, c], alone[0], rtol=1e-12) and np.allclose(y[:, c], alone[1], rtol=1e-12)
