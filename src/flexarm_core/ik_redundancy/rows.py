r"""Rotation of the rows of a level to the feasible and singular directions of tool motion (compiled).

The singular direction of an arm is seldom one of the axes x y z. If rows of these axes were dropped, the unavoidable
error would also appear in other directions. Therefore the rows are rotated first, so that the rows of a level are
orthogonal to each other and to those of the levels above. Then one row is exactly the singular direction, and the error
stays in this direction.

Rows are rotated in pairs until they are orthogonal (one-sided Jacobi; Hestenes 1958), in a fixed number of sweeps, so
that the operation count depends only on the sizes. Only rows of the same level and the same unit are rotated together.
"""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.ik_redundancy.plan import view_plan
from flexarm_core.types import Array

SWEEPS = 5


@kernel
def turn_rows(J: Array, plan: Array, A: Array, length: Array, Q: Array) -> None:
    """Compute an orthogonal matrix ``Q`` (6, 6) such that the rows of ``Q J`` are orthogonal within each level.

    Args:
        J: (6, n) Jacobian.
        plan: settings of the step.
        A: (6, n) work array.
        length: (6,) work array.
        Q: (6, 6) output; rows of free axes are those of the identity.
    """
    n = J.shape[1]
    step = view_plan(plan, n)
    rows, w = step.rows, step.weights
    for i in range(6):
        for j in range(6):
            Q[i, j] = 1.0 if i == j else 0.0
    for k in range(rows):
        for i in range(n):
            A[k, i] = step.scale[k] * J[int(step.row[k]), i] * abs(w[i])
    first = 0
    while first < rows:
        end = first + 1
        while end < rows and step.level[end] == step.level[first]:
            end += 1
        for k in range(first, end):
            for above in range(first):
                part = 0.0
                for i in range(n):
                    part += A[k, i] * A[above, i]
                part *= length[above]
                for i in range(n):
                    A[k, i] -= part * A[above, i]
        for _ in range(SWEEPS):
            for k in range(first, end):
                for j in range(k + 1, end):
                    if (step.row[k] < 3.0) == (step.row[j] < 3.0):
                        _turn_pair(A, Q, k, j, int(step.row[k]), int(step.row[j]))
        for k in range(first, end):
            square = 0.0
            for i in range(n):
                square += A[k, i] * A[k, i]
            length[k] = 1.0 / square if square > step.threshold * step.threshold and square > 1e-24 else 0.0
        first = end


@kernel
def _turn_pair(A: Array, Q: Array, k: int, j: int, row_k: int, row_j: int) -> None:
    """Rotate two rows so that they are orthogonal, and the corresponding rows of Q in the same way."""
    n = A.shape[1]
    a, b, c = 0.0, 0.0, 0.0
    for i in range(n):
        a += A[k, i] * A[k, i]
        b += A[j, i] * A[j, i]
        c += A[k, i] * A[j, i]
    # tan of the angle, the smaller root of t^2 + 2 z t - 1 = 0, z = (b - a) / 2 c
    small = 1e-300 if c >= 0.0 else -1e-300
    z = (b - a) / (2.0 * (c + small)) if abs(c) > 1e-15 * max(a, b) else math.inf
    t = (1.0 if z >= 0.0 else -1.0) / (abs(z) + math.sqrt(1.0 + z * z))
    cosine = 1.0 / math.sqrt(1.0 + t * t)
    sine = t * cosine
    for i in range(n):
        A[k, i], A[j, i] = cosine * A[k, i] - sine * A[j, i], sine * A[k, i] + cosine * A[j, i]
    for i in range(6):
        Q[row_k, i], Q[row_j, i] = cosine * Q[row_k, i] - sine * Q[row_j, i], sine * Q[row_k, i] + cosine * Q[row_j, i]


@kernel
def turned(Q: Array, J: Array, out: Array) -> None:
    """Compute ``out = Q J`` (6, n)."""
    n = J.shape[1]
    for k in range(6):
        for i in range(n):
            value = 0.0
            for j in range(6):
                value += Q[k, j] * J[j, i]
            out[k, i] = value


@kernel
def turned_vector(Q: Array, t: Array, out: Array) -> None:
    """Compute ``out = Q t`` (6,)."""
    for k in range(6):
        value = 0.0
        for j in range(6):
            value += Q[k, j] * t[j]
        out[k] = value
