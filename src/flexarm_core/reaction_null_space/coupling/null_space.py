"""Reaction null space: null space projector and damped inverse from one singular value decomposition."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import allocating_kernel
from flexarm_core.entrance import ANY, finite, number
from flexarm_core.kernels.orthogonal_rows import EPSILON, orthogonalise_rows
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class DampedInverse:
    """Pseudo-inverse of a matrix A (r, c), damped near singularities along each singular direction separately.

    Attributes:
        inverse: (c, r) damped inverse; equals ``A^+`` if every singular value exceeds the threshold.
        row_space: (k, c) orthonormal rows that span the row space of A, k its numerical rank.
        singular_values: (min(r, c),), largest first.
        damping: largest damping factor applied, 0 = exact inverse.
    """

    inverse: Array
    row_space: Array
    singular_values: Array
    damping: float

    @property
    def rank(self) -> int:
        """Return the numerical rank."""
        return self.row_space.shape[0]

    def null_projector(self) -> Array:
        """Return the (c, c) orthogonal projector onto the null space: ``1 - A^+ A``, idempotent and symmetric."""
        return np.eye(self.row_space.shape[1]) - self.row_space.T @ self.row_space


def damped_inverse(matrix: Array, threshold: float, max_damping: float) -> DampedInverse:
    """Return the damped pseudo-inverse ``sum_i s_i / (s_i^2 + l_i^2) v_i u_i^T`` (Maciejewski, Klein 1988).

    ``l_i^2 = (1 - (s_i / threshold)^2) max_damping^2`` below the threshold and 0 above it (numerical filtering). The
    inverse is exact away from singularities and continuous at the threshold. Its gain below the threshold is at most
    ``1 / threshold`` if ``max_damping >= threshold / sqrt(2)``.

    Args:
        matrix: (r, c) matrix A.
        threshold: singular value below which damping begins, in the unit of the matrix.
        max_damping: damping factor at a singular value of zero, in the unit of the matrix.
    """
    A = finite("matrix", matrix, ANY, ANY)
    threshold, max_damping = number("threshold", threshold, 0.0), number("max_damping", max_damping, 0.0)
    rows, columns = A.shape
    short = min(rows, columns)
    inverse, row_space, values = np.zeros((columns, rows)), np.empty((short, columns)), np.empty(short)
    rank, damping = invert_damped(A, threshold, max_damping, inverse, row_space, values)
    return DampedInverse(inverse, row_space[:rank], values, damping)


@allocating_kernel
def invert_damped(
    A: Array, threshold: float, max_damping: float, inverse: Array, row_space: Array, values: Array
) -> tuple[int, float]:
    """Compute :func:`damped_inverse` into preallocated arrays; return rank and largest damping factor.

    Args:
        A: (r, c) matrix.
        threshold: see :func:`damped_inverse`.
        max_damping: see :func:`damped_inverse`.
        inverse: (c, r) zeros on entry; output: the inverse.
        row_space: (min(r, c), c) output: orthonormal rows, of which the first ``rank`` are valid.
        values: (min(r, c),) output: the singular values.
    """
    rows, columns = A.shape
    wide = rows <= columns
    short = min(rows, columns)
    # Jacobi rotations act on the shorter side: A = U W, or A^T = U W.
    W, U = (A.copy() if wide else A.T.copy()), np.empty((short, short))
    orthogonalise_rows(W, U, values, max(rows, columns) * EPSILON)
    exact = short == 0 or values[short - 1] >= threshold
    tolerance = max(rows, columns) * EPSILON * (max(values[0], threshold) if short else 0.0)
    rank, largest = 0, 0.0
    for i in range(short):
        value, squared = values[i], 0.0
        if not exact and value < threshold:
            squared = (1.0 - (value / threshold) ** 2) * max_damping**2
            largest = max(largest, squared)
        if not exact and value <= tolerance:
            continue
        gain = value / (value * value + squared)
        for j in range(columns):
            row_space[rank, j] = W[i, j] / value if wide else U[j, i]
        for j in range(rows):
            left = U[j, i] if wide else W[i, j] / value
            for k in range(columns):
                inverse[k, j] += row_space[rank, k] * gain * left
        rank += 1
    return rank, math.sqrt(largest)
