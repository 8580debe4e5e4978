"""Compiled products and factorizations of matrices with few rows, for which a LAPACK call costs more than the work."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.types import Array

EPSILON = 2.220446049250313e-16
SWEEPS = 30  # largest number of Jacobi sweeps; six rows need about six


@kernel
def product(A: Array, B: Array) -> Array:
    """Return ``A B`` for small matrices."""
    C = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = A[i, k]
            for j in range(B.shape[1]):
                C[i, j] += a * B[k, j]
    return C


@kernel
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


@kernel
def solve_definite(A: Array, b: Array) -> Array:
    """Return ``A^-1 b`` for a positive definite A (k, k) and b (k,)."""
    L, x = np.empty_like(A), b.copy().reshape(-1, 1)
    cholesky_semidefinite(A, L)
    forward(L, x)
    backward(L, x)
    return x[:, 0].copy()


@kernel
def orthogonalise_rows(W: Array, U: Array, values: Array, negligible: float) -> None:
    """Compute the SVD ``A = U W``, ``W = diag(s) V^T``, by Hestenes' one-sided Jacobi rotations.

    Args:
        W: (r, c) A on entry; on return, orthogonal rows, longest first.
        U: (r, r) output: the orthogonal matrix.
        values: (r,) output: the lengths s of the rows.
        negligible: rows shorter than this share of the longest row are noise and are not rotated.
    """
    r, c = W.shape
    for i in range(r):
        for j in range(r):
            U[i, j] = 1.0 if i == j else 0.0
    largest = 0.0
    for i in range(r):
        square = 0.0
        for k in range(c):
            square += W[i, k] * W[i, k]
        values[i] = square
        largest = max(largest, square)
    noise = largest * negligible * negligible
    for _ in range(SWEEPS):
        turned = False
        for i in range(r - 1):
            for j in range(i + 1, r):
                alpha, beta, gamma = 0.0, 0.0, 0.0
                for k in range(c):
                    alpha += W[i, k] * W[i, k]
                    beta += W[j, k] * W[j, k]
                    gamma += W[i, k] * W[j, k]
                if min(alpha, beta) <= noise or gamma * gamma <= EPSILON * EPSILON * alpha * beta:
                    continue
                turned = True
                zeta = (beta - alpha) / (2.0 * gamma)
                t = 1.0 / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                if zeta < 0.0:
                    t = -t
                co = 1.0 / math.sqrt(1.0 + t * t)
                si = co * t
                for k in range(c):
                    a, b = W[i, k], W[j, k]
                    W[i, k], W[j, k] = co * a - si * b, si * a + co * b
                for k in range(r):
                    a, b = U[k, i], U[k, j]
                    U[k, i], U[k, j] = co * a - si * b, si * a + co * b
        if not turned:
            break
    for i in range(r):
        square = 0.0
        for k in range(c):
            square += W[i, k] * W[i, k]
        values[i] = math.sqrt(square)
    for i in range(r - 1):
        best = i
        for j in range(i + 1, r):
            if values[j] > values[best]:
                best = j
        if best != i:
            values[i], values[best] = values[best], values[i]
            for k in range(c):
                W[i, k], W[best, k] = W[best, k], W[i, k]
            for k in range(r):
                U[k, i], U[k, best] = U[k, best], U[k, i]
