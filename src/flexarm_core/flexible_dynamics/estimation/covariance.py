r"""Covariances of the estimator (compiled): they move along with the state, feel disturbances, shrink by readings.

``s = [y; yd; d]`` are the unmeasured coordinates (N), their rates, and the disturbances (d) of the tick. Small dense
matrices: at these sizes a call of a linear algebra library costs more than the arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.recursion import accelerate, articulate_at, cholesky, cholesky_solve, respond
from flexarm_core.flexible_dynamics.tree import Index, view_tree, view_workspace
from flexarm_core.types import Array


@kernel
def propagate(
    integers: Index,
    constants: Array,
    memory: Array,
    x: Array,
    v: Array,
    effort: Array,
    free: Index,
    actuated: Index,
    K: Array,
    C: Array,
    onto: Array,
    P: Array,
    state: Array,
    moved: Array,
    mobility: Array,
    influence: Array,
) -> None:
    """State and covariance a tick later, by the map of ``estimator``; its length is the step in the memory.

    Args:
        integers: of the tree.
        constants: of the tree.
        memory: work space, with external wrenches and the step in it.
        x: (h + K,) coordinates.
        v: (h + K,) rates.
        effort: (h,) of the hinges.
        free: (N,) coordinates that are estimated.
        actuated: (n,) those that are measured.
        K: (N, N) stiffness.
        C: (N, N) damping.
        onto: (N, p) forces on the estimated coordinates per unit of the pushes.
        P: (2N, 2N) covariance.
        state: (2N,) out.
        moved: (2N, 2N) out: ``F P F^T``.
        mobility: (N, N) out: ``L`` over the tick.
        influence: (2N, n + N + p) out: of unit disturbances on the state.
    """
    tree, ws = view_tree(integers, constants), view_workspace(integers, memory)
    t, N, n, pushes = ws.step[0], len(free), len(actuated), onto.shape[1]
    articulate_at(integers, constants, memory, x, v)
    a, unit, column = np.empty(len(x)), np.zeros(len(x)), np.empty(len(x))
    accelerate(integers, constants, memory, x, v, effort, a)
    F, FP = np.empty((2 * N, 2 * N)), np.empty((2 * N, 2 * N))
    for i in range(N):
        unit[free[i]] = 1.0
        respond(tree, ws, unit, False, column)  # M is symmetric: the row of this coordinate
        unit[free[i]] = 0.0
        state[i] = x[free[i]] + t * v[free[i]] + 0.5 * t * t * a[free[i]]
        state[N + i] = v[free[i]] + t * a[free[i]]
        for j in range(N):
            mobility[i, j] = column[free[j]]
            influence[N + i, n + j] = t if i == j else 0.0
        for j in range(n):
            influence[N + i, j] = t * column[actuated[j]]
        for j in range(pushes):
            s = 0.0
            for m in range(N):
                s += column[free[m]] * onto[m, j]
            influence[N + i, n + N + j] = t * s
        for j in range(N):
            by_y, by_yd = 0.0, 0.0
            for m in range(N):
                by_y -= column[free[m]] * K[m, j]
                by_yd -= column[free[m]] * (0.5 * t * K[m, j] + C[m, j])
            same = 1.0 if i == j else 0.0
            F[i, j], F[i, N + j] = same + 0.5 * t * t * by_y, t * same + 0.5 * t * t * by_yd
            F[N + i, j], F[N + i, N + j] = t * by_y, same + t * by_yd
        for j in range(n + N + pushes):
            influence[i, j] = 0.5 * t * influence[N + i, j]
    multiply(F, P, FP)
    for i in range(2 * N):
        for j in range(i + 1):
            s = 0.0
            for m in range(2 * N):
                s += FP[i, m] * F[j, m]
            moved[i, j], moved[j, i] = s, s


@kernel
def multiply(A: Array, B: Array, product: Array) -> None:
    """``A B`` out."""
    product[:] = 0.0
    for i in range(A.shape[0]):
        for m in range(A.shape[1]):
            s = A[i, m]
            if s != 0.0:
                for j in range(B.shape[1]):
                    product[i, j] += s * B[m, j]


@kernel
def join(moved: Array, influence: Array, variance: Array, P: Array) -> None:
    """Covariance (2N + d, 2N + d) of state and disturbances out, of these (d,) variances."""
    known = len(moved)
    P[:] = 0.0
    for j in range(len(variance)):
        P[known + j, known + j] = variance[j]
        for i in range(known):
            P[i, known + j] = influence[i, j] * variance[j]
            P[known + j, i] = P[i, known + j]
    for i in range(known):
        for m in range(i + 1):
            s = moved[i, m]
            for j in range(len(variance)):
                s += P[i, known + j] * influence[m, j]
            P[i, m], P[m, i] = s, s


@kernel
def show_disturbances(
    by_forces: Array, free: Index, actuated: Index, onto: Array, mobility: Array, shown: Array
) -> None:
    """What readings show of unit disturbances, through the accelerations that these cause.

    Args:
        by_forces: (c, h + K) by how much readings change with a unit force on each coordinate.
        free: (N,) coordinates that are estimated.
        actuated: (n,) those that are measured.
        onto: (N, p) forces on the estimated coordinates per unit of the pushes.
        mobility: (N, N) ``L`` over the tick.
        shown: (c, n + N + p) out.
    """
    n, N = len(actuated), len(free)
    factor, row = mobility.copy(), np.empty(N)
    cholesky(factor, N)
    for i in range(len(by_forces)):
        for j in range(n):
            shown[i, j] = by_forces[i, actuated[j]]
        for j in range(onto.shape[1]):
            s = 0.0
            for m in range(N):
                s += by_forces[i, free[m]] * onto[m, j]
            shown[i, n + N + j] = s
        for j in range(N):
            row[j] = by_forces[i, free[j]]
        cholesky_solve(factor, row, N)
        for j in range(N):
            shown[i, n + j] = row[j]


@kernel
def deviate(H: Array, R: Array, innovation: Array, first: Index, P: Array, HP: Array, deviations: Array) -> None:
    """Largest innovation of each channel in standard deviations.

    Args:
        H: (r, s) of the readings.
        R: (r,) variance of their noise.
        innovation: (r,).
        first: (c,) row of each channel at which it begins.
        P: (s, s).
        HP: (r, s) out.
        deviations: (c,) out.
    """
    multiply(H, P, HP)
    channel = -1
    for i in range(len(R)):
        if channel + 1 < len(first) and first[channel + 1] == i:
            channel += 1
            deviations[channel] = 0.0
        s = R[i]
        for j in range(H.shape[1]):
            s += HP[i, j] * H[i, j]
        deviations[channel] = max(deviations[channel], abs(innovation[i]) / math.sqrt(s))


@kernel
def shrink(
    H: Array, R: Array, HP: Array, innovation: Array, P: Array, state: Array, corrected: Array, variance: Array
) -> None:
    """Correct the state (2N,) in place; its covariance (2N, 2N) and the variance (r,) of the innovation out.

    ``G = P H^T S^-1``, and with ``A = 1 - G H`` the form ``A P A^T + G R G^T``, which stays positive.

    Args:
        H: (r, s) of the readings.
        R: (r,) variance of their noise.
        HP: (r, s) ``H P``.
        innovation: (r,).
        P: (s, s).
        state: (2N,).
        corrected: out.
        variance: out.
    """
    rows, size, known = H.shape[0], H.shape[1], len(state)
    S, G = np.empty((rows, rows)), np.empty((known, rows))
    AP, APH = np.empty((known, size)), np.empty((known, rows))
    for i in range(rows):
        for j in range(i + 1):
            s = R[i] if i == j else 0.0
            for m in range(size):
                s += HP[i, m] * H[j, m]
            S[i, j], S[j, i] = s, s
        variance[i] = S[i, i]
    cholesky(S, rows)
    for i in range(known):
        for j in range(rows):
            G[i, j] = HP[j, i]
        cholesky_solve(S, G[i], rows)
        for j in range(rows):
            state[i] += G[i, j] * innovation[j]
        for m in range(size):
            AP[i, m] = P[i, m]
        for j in range(rows):
            for m in range(size):
                AP[i, m] -= G[i, j] * HP[j, m]
        for j in range(rows):
            s = -G[i, j] * R[j]
            for m in range(size):
                s += AP[i, m] * H[j, m]
            APH[i, j] = s
    for i in range(known):
        for j in range(i + 1):
            s, other = AP[i, j], AP[j, i]
            for m in range(rows):
                s -= APH[i, m] * G[j, m]
                other -= APH[j, m] * G[i, m]
            corrected[i, j] = 0.5 * (s + other)
            corrected[j, i] = corrected[i, j]
