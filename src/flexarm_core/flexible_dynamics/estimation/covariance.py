r"""Covariances of the estimator (compiled): prediction, disturbances and correction.

``s = [y; yd; d]`` are the unmeasured coordinates (N), their rates, and the disturbances (d) of the sampling period. The
matrices are small and dense: a call of a linear algebra library would cost more than the arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.recursion import accelerate, articulate_at, respond
from flexarm_core.flexible_dynamics.tree import Index, view_tree, view_workspace
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
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
    """Predict state and covariance by one step of the map in ``estimator``; ``memory`` contains the step length.

    Args:
        integers: integer array of the tree.
        constants: constant array of the tree.
        memory: workspace, with external wrenches and the step.
        x: (h + K,) coordinates.
        v: (h + K,) rates.
        effort: (h,) hinge efforts.
        free: (N,) indices of the estimated coordinates.
        actuated: (n,) indices of the measured coordinates.
        K: (N, N) stiffness.
        C: (N, N) damping.
        onto: (N, p) forces on the estimated coordinates per unit of each push.
        P: (2N, 2N) covariance.
        state: (2N,) output: predicted state.
        moved: (2N, 2N) output: ``F P F^T``.
        mobility: (N, N) output: ``L`` over the step.
        influence: (2N, n + N + p) output: influence of unit disturbances on the state.
    """
    tree, ws = view_tree(integers, constants), view_workspace(integers, memory)
    t, N, n, pushes = ws.step[0], len(free), len(actuated), onto.shape[1]
    articulate_at(integers, constants, memory, x, v)
    a, unit, column = np.empty(len(x)), np.zeros(len(x)), np.empty(len(x))
    accelerate(integers, constants, memory, x, v, effort, a)
    F, FP = np.empty((2 * N, 2 * N)), np.empty((2 * N, 2 * N))
    for i in range(N):
        unit[free[i]] = 1.0
        respond(tree, ws, unit, False, column)  # M is symmetric: this is also the row of the coordinate
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
    """Write ``product = A B``."""
    product[:] = 0.0
    for i in range(A.shape[0]):
        for m in range(A.shape[1]):
            s = A[i, m]
            if s != 0.0:
                for j in range(B.shape[1]):
                    product[i, j] += s * B[m, j]


@kernel
def join(moved: Array, influence: Array, variance: Array, P: Array) -> None:
    """Write the covariance ``P`` (2N + d, 2N + d) of state and disturbances with variances (d,)."""
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
    """Compute the change of readings per unit disturbance, due to the accelerations that the disturbance causes.

    Args:
        by_forces: (c, h + K) change of the readings per unit force on each coordinate.
        free: (N,) indices of the estimated coordinates.
        actuated: (n,) indices of the measured coordinates.
        onto: (N, p) forces on the estimated coordinates per unit of each push.
        mobility: (N, N) ``L`` over the sampling period.
        shown: (c, n + N + p) output.
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
    """Compute the largest innovation of each channel in standard deviations.

    Args:
        H: (r, s) measurement matrix.
        R: (r,) variances of the measurement noise.
        innovation: (r,) readings minus predictions.
        first: (c,) first row of each channel.
        P: (s, s) covariance.
        HP: (r, s) output: ``H P``.
        deviations: (c,) output.
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
    """Correct the state in place, and compute the corrected covariance and the variance of the innovation.

    ``G = P H^T S^-1``; with ``A = 1 - G H`` the covariance has the Joseph form ``A P A^T + G R G^T``, which stays
    positive semidefinite.

    Args:
        H: (r, s) measurement matrix.
        R: (r,) variances of the measurement noise.
        HP: (r, s) ``H P``.
        innovation: (r,) readings minus predictions.
        P: (s, s) covariance.
        state: (2N,) state, corrected in place.
        corrected: (2N, 2N) output: corrected covariance of the state.
        variance: (r,) output: variance of the innovation.
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
