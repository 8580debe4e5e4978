"""Impedance matrices of the tool at one sample (compiled)."""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.layout import (
    DAMPING,
    FREED,
    FREED_DAMPING,
    IN_TOOL_FRAME,
    MATRICES,
    SET_ROTATION,
    TOOL_PART,
)
from flexarm_core.compiled import kernel, view
from flexarm_core.types import Array


@kernel
def tool_matrices(settings: Array, total: Array, state: Array, M: Array, B: Array, K: Array) -> None:
    """Compute inertia, damping and stiffness of the tool in base axes, without the directions that behaviors free."""
    R, left, free = view(state, SET_ROTATION, (3, 3)), np.empty((6, 6)), np.empty((6, 6))
    for which in range(3):
        given = view(settings, MATRICES + 36 * which, (6, 6))
        out = M if which == 0 else (B if which == 1 else K)
        if settings[IN_TOOL_FRAME] > 0.0:
            for i in range(6):
                for j in range(6):
                    left[i, j] = 0.0
                    for k in range(3):
                        left[i, j] += R[i % 3, k] * given[3 * (i // 3) + k, j]
            for i in range(6):
                for j in range(6):
                    out[i, j] = 0.0
                    for k in range(3):
                        out[i, j] += left[i, 3 * (j // 3) + k] * R[j % 3, k]
        else:
            out[:, :] = given
    taken = 0.0
    for i in range(6):
        taken += total[FREED + 7 * i]
    if taken > 0.0:
        for i in range(6):
            for j in range(6):
                free[i, j] = (1.0 if i == j else 0.0) - total[FREED + 6 * i + j]
        for which in range(1, 3):
            out = B if which == 1 else K
            for i in range(6):
                for j in range(6):
                    left[i, j] = 0.0
                    for k in range(6):
                        left[i, j] += free[i, k] * out[k, j]
            for i in range(6):
                for j in range(6):
                    out[i, j] = 0.0
                    for k in range(6):
                        out[i, j] += left[i, k] * free[j, k]
    for i in range(6):
        for j in range(6):
            B[i, j] += total[FREED_DAMPING + 6 * i + j] + total[DAMPING + 6 * i + j]


@kernel
def hold_only(axes: Array, M: Array, B: Array, S: Array, momentum: Array, force: Array) -> None:
    """Remove the uncontrolled tool axes from the system: they neither move nor couple with the controlled axes."""
    for i in range(6):
        if axes[i] == 0.0:
            for j in range(6):
                M[i, j] = M[j, i] = B[i, j] = B[j, i] = S[i, j] = S[j, i] = 0.0
            M[i, i] = 1.0
            for c in range(force.shape[1]):
                momentum[i, c] = force[i, c] = 0.0


@kernel
def add_yielding(total: Array, inverse: Array, S: Array) -> None:
    """Add the stiffness of the yielding efforts, mapped to the tool: ``S += J#^T K_y J#``."""
    n = inverse.shape[0]
    K = view(total, TOOL_PART + 2 * n + n * n, (n, n))
    there, X = 0.0, np.empty((n, 6))
    for i in range(n):
        there += K[i, i]
    if there > 0.0:
        for i in range(n):
            for j in range(6):
                X[i, j] = 0.0
                for k in range(n):
                    X[i, j] += K[i, k] * inverse[k, j]
        for i in range(6):
            for j in range(6):
                for k in range(n):
                    S[i, j] += inverse[k, i] * X[k, j]
