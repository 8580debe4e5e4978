"""Impedance matrices of the tool at one sample (compiled)."""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.layout import Parts, Settings, State
from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.types import Array


@inlined_kernel
def tool_matrices(settings: Settings, total: Parts, state: State, M: Array, B: Array, K: Array) -> None:
    """Compute inertia, damping and stiffness of the tool in base axes, without the directions that behaviors free."""
    R, left, free = state.set_rotation, np.empty((6, 6)), np.empty((6, 6))
    for given, out in ((settings.inertia, M), (settings.damping, B), (settings.stiffness, K)):
        if settings.in_tool_frame:
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
        taken += total.freed[i, i]
    if taken > 0.0:
        for i in range(6):
            for j in range(6):
                free[i, j] = (1.0 if i == j else 0.0) - total.freed[i, j]
        for out in (B, K):
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
            B[i, j] += total.freed_damping[i, j] + total.damping[i, j]


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


@inlined_kernel
def add_yielding(total: Parts, inverse: Array, S: Array) -> None:
    """Add the stiffness of the yielding efforts, mapped to the tool: ``S += J#^T K_y J#``."""
    n, K = inverse.shape[0], total.yielding_stiffness
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
