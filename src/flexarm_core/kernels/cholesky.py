"""Cholesky factor and solution in place, for matrices of a few rows (compiled)."""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.types import Array


@kernel
def cholesky(A: Array, k: int, least: float = 0.0) -> None:
    """Replace the lower triangle of a positive definite (k, k) matrix by its Cholesky factor with inverted diagonal.

    Pivots below ``least`` are replaced by it.
    """
    for j in range(k):
        d = A[j, j]
        for m in range(j):
            d -= A[j, m] * A[j, m]
        d = 1.0 / math.sqrt(max(d, least))
        A[j, j] = d
        for i in range(j + 1, k):
            s = A[i, j]
            for m in range(j):
                s -= A[i, m] * A[j, m]
            A[i, j] = s * d


@kernel
def cholesky_solve(L: Array, b: Array, k: int) -> None:
    """Solve ``L L^T y = b`` in place, with ``L`` from :func:`cholesky`."""
    for i in range(k):
        s = b[i]
        for m in range(i):
            s -= L[i, m] * b[m]
        b[i] = s * L[i, i]
    for i in range(k - 1, -1, -1):
        s = b[i]
        for m in range(i + 1, k):
            s -= L[m, i] * b[m]
        b[i] = s * L[i, i]
