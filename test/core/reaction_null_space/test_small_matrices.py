"""Factorizations of small matrices, against LAPACK and against what defines them."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.kernels.orthogonal_rows import EPSILON, orthogonalise_rows
from flexarm_core.reaction_null_space.coupling.base_modes import base_modes
from flexarm_core.reaction_null_space.coupling.small_matrices import (
    backward,
    cholesky_semidefinite,
    forward,
    solve_definite,
)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 9])
def test_a_positive_definite_matrix_is_factorized_and_solved(size):
    rng = np.random.default_rng(size)
    for _ in range(50):
        root = rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-3.0, 3.0, size)
        A, b = root @ root.T + 1e-9 * np.eye(size), rng.normal(size=size)
        L, X = np.empty((size, size)), rng.normal(size=(size, 2))
        assert cholesky_semidefinite(A, L)
        assert not np.triu(L, 1).any()
        np.testing.assert_allclose(L @ L.T, A, rtol=0.0, atol=1e-14 * np.abs(A).max())
        forwards, backwards = X.copy(), X.copy()
        forward(L, forwards)
        backward(L, backwards)
        np.testing.assert_allclose(L @ forwards, X, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(L.T @ backwards, X, rtol=1e-9, atol=1e-6)
        x = solve_definite(A, b)
        assert np.linalg.norm(A @ x - b) <= 1e-12 * np.linalg.norm(A, 2) * max(np.linalg.norm(x), 1.0)


def test_a_direction_without_stiffness_has_an_empty_column_and_makes_the_matrix_indefinite():
    L = np.full((3, 3), np.nan)
    assert not cholesky_semidefinite(np.diag([4.0, 0.0, 9.0]), L)
    np.testing.assert_array_equal(L, np.diag([2.0, 0.0, 3.0]))


def test_rows_come_out_orthogonal_longest_first_whatever_their_lengths():
    rng = np.random.default_rng(0)
    for trial in range(400):
        r, c = sorted(rng.integers(1, 9, 2))
        A = rng.normal(size=(r, c)) * 10.0 ** rng.uniform(-4.0, 4.0, (r, 1))
        if trial % 4 == 0:  # of lower rank
            k = int(rng.integers(0, r + 1))
            A = rng.normal(size=(r, k)) @ rng.normal(size=(k, c))
        W, U, values = A.copy(), np.empty((r, r)), np.empty(r)
        orthogonalise_rows(W, U, values, c * EPSILON)
        size = max(np.linalg.norm(A, 2), 1e-300)
        np.testing.assert_allclose(U @ W, A, atol=1e-14 * size)
        np.testing.assert_allclose(U.T @ U, np.eye(r), atol=1e-14)
        np.testing.assert_allclose(values, np.linalg.svd(A, compute_uv=False), atol=1e-14 * size)
        kept = W[values > 1e-13 * size]
        unit = kept / np.linalg.norm(kept, axis=1, keepdims=True)
        np.testing.assert_allclose(unit @ unit.T, np.eye(len(unit)), atol=1e-13)


def test_soft_modes_are_exact_beside_stiff_ones():
    """A chain of two masses, one spring 1e14 times as stiff: w^2 by closed form, to the last digits."""
    soft, stiff = 1.0, 1e14
    modes = base_modes(np.array([[2.0, 1.0], [1.0, 1.0]]), np.diag([soft, stiff]))
    # det(K - w^2 H) = w^4 (2 - 1) - w^2 (2 stiff + soft) + soft stiff = 0, the small root without cancellation
    sum_, product = 2.0 * stiff + soft, soft * stiff
    large = 0.5 * (sum_ + np.sqrt(sum_**2 - 4.0 * product))
    np.testing.assert_allclose(modes.frequencies, np.sqrt([product / large, large]), rtol=1e-14)
