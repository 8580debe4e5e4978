"""The reaction null space: projector and damped inverses from one singular value decomposition each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    rows, columns = matrix.shape
    if rows == 0:
        return DampedInverse(np.zeros((columns, 0)), np.zeros((0, columns)), np.zeros(0), 0.0)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    if values[-1] >= threshold:
        return DampedInverse((right.T / values) @ left.T, right, values, 0.0)
    squared = np.where(values < threshold, (1.0 - (values / threshold) ** 2) * max_damping**2, 0.0)
    tolerance = max(rows, columns) * np.finfo(float).eps * max(values[0], threshold)
    kept = values > tolerance
    gains = np.zeros_like(values)
    gains[kept] = values[kept] / (values[kept] ** 2 + squared[kept])
    return DampedInverse((right.T * gains) @ left.T, right[kept], values, float(np.sqrt(squared.max())))
