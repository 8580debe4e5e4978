"""Cholesky factor and solution in place, against LAPACK."""

import numpy as np
import pytest

from flexarm_core.kernels.cholesky import cholesky, cholesky_solve


@pytest.mark.parametrize("k", [1, 2, 6, 9])
def test_the_solution_is_that_of_lapack_and_rows_beyond_k_are_left_alone(k):
    rng = np.random.default_rng(k)
    A, b = rng.normal(size=(k, k)), rng.normal(size=k)
    A = A @ A.T + np.eye(k)
    L, y = np.full((k + 1, k + 1), 7.0), np.append(b, 7.0)
    L[:k, :k] = A
    cholesky(L, k)
    cholesky_solve(L, y, k)
    assert np.allclose(y[:k], np.linalg.solve(A, b), rtol=1e-11, atol=1e-13)
    assert y[k] == 7.0 and np.all(L[k] == 7.0) and np.all(L[:, k] == 7.0)
    factor = np.tril(L[:k, :k], -1) + np.diag(1.0 / np.diag(L)[:k])
    assert np.allclose(factor, np.linalg.cholesky(A), rtol=1e-12, atol=1e-14)


def test_a_floor_of_the_pivots_keeps_a_singular_system_solvable():
    A, y = np.ones((2, 2)), np.ones(2)
    cholesky(A, 2, 1e-18)
    cholesky_solve(A, y, 2)
    assert np.all(np.isfinite(y)) and np.isclose(y.sum(), 1.0)
