"""Singular value decomposition of a few rows by Jacobi rotations (compiled)."""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.types import Array

EPSILON = 2.220446049250313e-16
SWEEPS = 30  # largest number of Jacobi sweeps; six rows need about six


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
