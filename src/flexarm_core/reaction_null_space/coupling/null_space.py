"""The reaction null space: projector and damped inverses from one singular value decomposition each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.entrance import ANY, finite, number
from flexarm_core.reaction_null_space.coupling.small_matrices import EPSILON, orthogonalise_rows
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class DampedInverse:
    """Pseudo-inverse of a matrix A (r, c), damped per singular direction near singularities.

    Attributes:
        inverse: (c, r), ``A^+`` where every singular value exceeds the threshold.
        row_space: (k, c) orthonormal rows that span the row space of A, k its numerical rank.
        singular_values: (min(r, c),), largest first.
        damping: largest damping factor in force, 0 = exact.
    """

    inverse: Array
    row_space: Array
    singular_values: Array
    damping: float

    @property
    def rank(self) -> int:
        """Numerical rank."""
        return self.row_space.shape[0]

    def null_projector(self) -> Array:
        """(c, c) orthogonal projector onto the null space: ``1 - A^+ A``, idempotent and symmetric."""
        return np.eye(self.row_space.shape[1]) - self.row_space.T @ self.row_space


def damped_inverse(matrix: Array, threshold: float, max_damping: float) -> DampedInverse:
    """Damped pseudo-inverse ``sum_i s_i / (s_i^2 + l_i^2) v_i u_i^T`` (numerical filtering; Maciejewski, Klein 1988).

    ``l_i^2 = (1 - (s_i / threshold)^2) max_damping^2`` below the threshold and 0 above it: exact away from
    singularities, continuous across the threshold, bounded by ``1 / (2 max_damping)`` inside.

    Args:
        matrix: (r, c).
        threshold: singular value below which damping begins, unit of the matrix.
        max_damping: damping at a singular value of zero, unit of the matrix.
    """
    A = finite("matrix", matrix, ANY, ANY)
    threshold, max_damping = number("threshold", threshold, 0.0), number("max_damping", max_damping, 0.0)
    rows, columns = A.shape
    short = min(rows, columns)
    inverse, row_space, values = np.zeros((columns, rows)), np.empty((short, columns)), np.empty(short)
    rank, damping = invert_damped(A, threshold, max_damping, inverse, row_space, values)
    return DampedInverse(inverse, row_space[:rank], values, damping)


@kernel
def invert_damped(
    A: Array, threshold: float, max_damping: float, inverse: Array, row_space: Array, values: Array
) -> tuple[int, float]:
    """What :func:`damped_inverse` says, into given arrays; returns rank and damping.

    Args:
        A: (r, c).
        threshold: see there.
        max_damping: see there.
        inverse: (c, r), zeros, gets the inverse.
        row_space: (min(r, c), c) gets orthonormal rows, of which the first ``rank`` count.
        values: (min(r, c),) gets the singular values.
    """
    rows, columns = A.shape
    wide = rows <= columns
    short = min(rows, columns)
    # the shorter side is turned: A = U W, or A^T = U W
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
