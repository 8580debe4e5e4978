"""Compiled products and factorizations of matrices with few rows, for which a LAPACK call costs more than the work."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.types import Array


@allocating_kernel
def product(A: Array, B: Array) -> Array:
    """Return ``A B`` for small matrices."""
    C = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = A[i, k]
            for j in range(B.shape[1]):
                C[i, j] += a * B[k, j]
    return C


@allocating_kernel
def times(A: Array, x: Array) -> Array:
    """Return ``A x`` for a small matrix."""
    y = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            y[i] += A[i, k] * x[k]
    return y


@kernel
def cholesky_semidefinite(A: Array, L: Array) -> bool:
    """Compute the lower triangle ``L`` (k, k) of ``A = L L^T`` for a symmetric positive semidefinite ``A`` (k, k).

    Columns without a positive pivot are set to 0.

    Returns:
        Whether A is positive definite.
    """
    definite = True
    for j in range(A.shape[0]):
        pivot = A[j, j]
        for i in range(j):
            L[i, j] = 0.0
            pivot -= L[j, i] * L[j, i]
        if pivot <= 0.0:
            definite = False
            for i in range(j, A.shape[0]):
                L[i, j] = 0.0
            continue
        root = math.sqrt(pivot)
        L[j, j] = root
        for i in range(j + 1, A.shape[0]):
            value = A[i, j]
            for k in range(j):
                value -= L[i, k] * L[j, k]
            L[i, j] = value / root
    return definite


@kernel
def forward(L: Array, X: Array) -> None:
    """Solve in place: ``X := L^-1 X`` for a lower triangular L (k, k) and X (k, c)."""
    for column in range(X.shape[1]):
        for i in range(L.shape[0]):
            value = X[i, column]
            for j in range(i):
                value -= L[i, j] * X[j, column]
            X[i, column] = value / L[i, i]


@kernel
def backward(L: Array, X: Array) -> None:
    """Solve in place: ``X := L^-T X`` for a lower triangular L (k, k) and X (k, c)."""
    for column in range(X.shape[1]):
        for i in range(L.shape[0] - 1, -1, -1):
            value = X[i, column]
            for j in range(i + 1, L.shape[0]):
                value -= L[j, i] * X[j, column]
            X[i, column] = value / L[i, i]


@allocating_kernel
def solve_definite(A: Array, b: Array) -> Array:
    """Return ``A^-1 b`` for a positive definite A (k, k) and b (k,)."""
    L, x = np.empty_like(A), b.copy().reshape(-1, 1)
    cholesky_semidefinite(A, L)
    forward(L, x)
    backward(L, x)
    return x[:, 0].copy()
