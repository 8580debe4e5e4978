r"""Covariances of the estimator (compiled): disturbances, innovation, gain and correction.

A reading ``s`` and the state ``y`` owe the same disturbances ``d`` (variance ``W``) of the sampling period: the noise
of prediction and reading is correlated. With ``E = H G + D``, where ``G`` is the influence of ``d`` on the state and
``D`` the one on the readings at a given state::

    C  = H F P F^T + E W G^T                        covariance of innovation and state
    S  = H F P F^T H^T + E W E^T + R                covariance of the innovation
    P+ = A F P F^T A^T + B W B^T + k^T R k          k = S^-1 C,  A = 1 - k^T H,  B = G - k^T E

The last line is the Joseph form: a sum of squares stays positive semidefinite. An omitted row has a zero gain. Matrices
are small: a library call would cost more than the arithmetic. Those that are summed over are stored transposed, so that
inner loops run along rows, which the compiler turns into vector instructions.
"""

from __future__ import annotations

from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.flexible_dynamics.estimation.memory import Ahead, Constants, Plan
from flexarm_core.kernels.cholesky import cholesky
from flexarm_core.types import Array


@kernel
def assign(out: Array, values: Array) -> None:
    """Copy the elements of an array (n,); a slice as the target would need memory."""
    for i in range(len(out)):
        out[i] = values[i]


@kernel
def assign_rows(out: Array, values: Array) -> None:
    """Copy the elements of an array (n, m)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = values[i, j]


@kernel
def add_product(A: Array, B: Array, out: Array, sign: float) -> None:
    """Compute ``out += sign A B``."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            s = sign * A[i, k]
            if s != 0.0:
                for j in range(B.shape[1]):
                    out[i, j] += s * B[k, j]


@kernel
def add_transposed_product(A: Array, B: Array, out: Array, count: int) -> None:
    """Compute ``out += A^T B`` over the first ``count`` rows of both."""
    for k in range(count):
        for i in range(A.shape[1]):
            s = A[k, i]
            if s != 0.0:
                for j in range(B.shape[1]):
                    out[i, j] += s * B[k, j]


@kernel
def add_squares(weight: Array, B: Array, out: Array, count: int) -> None:
    """Compute ``out += B^T diag(weight) B`` over the first ``count`` rows."""
    for k in range(count):
        for i in range(B.shape[1]):
            s = weight[k] * B[k, i]
            if s != 0.0:
                for j in range(B.shape[1]):
                    out[i, j] += s * B[k, j]


@kernel
def solve_rows(L: Array, X: Array) -> None:
    """Replace ``X`` by ``(L L^T)^-1 X`` with ``L`` from :func:`cholesky`."""
    count = X.shape[0]
    for i in range(count):
        for m in range(i):
            s = L[i, m]
            if s != 0.0:
                for j in range(X.shape[1]):
                    X[i, j] -= s * X[m, j]
        for j in range(X.shape[1]):
            X[i, j] *= L[i, i]
    for i in range(count - 1, -1, -1):
        for m in range(i + 1, count):
            s = L[m, i]
            if s != 0.0:
                for j in range(X.shape[1]):
                    X[i, j] -= s * X[m, j]
        for j in range(X.shape[1]):
            X[i, j] *= L[i, i]


@inlined_kernel
def influence_of_noise(plan: Plan, c: Constants, f: Ahead) -> None:
    """Compute variance and influence of the disturbances: efforts of joints, accelerations, changes of the loads."""
    N, n, t, first = plan.N, plan.n, f.step[0], plan.n + plan.N
    for j in range(n + N):
        f.W[j] = c.density[j] / t if t > 0.0 else 0.0
    for j in range(n):
        for i in range(N):
            f.Gt[j, N + i] = t * f.columns[plan.actuated[j], i]
        for r in range(plan.rows):
            f.Et[j, r] = f.forces[plan.actuated[j], r]
    # An acceleration is the force L^-1: what readings owe to it
    for i in range(N):
        for j in range(N):
            f.Gt[n + i, N + j] = t if i == j else 0.0
            f.A[i, j] = f.L[i, j]
        for r in range(plan.rows):
            f.Et[n + i, r] = f.forces[plan.free[i], r]
    if plan.rows > 0:
        cholesky(f.A, N)
        solve_rows(f.A, f.Et[n : n + N])
    for j in range(plan.loads):
        f.W[first + j] = c.drift[j] * t
        for i in range(N):
            f.Gt[first + j, N + i] = 0.5 * f.Ft[2 * N + j, N + i]  # it changes at any time within the period
        f.Gt[first + j, 2 * N + j] = 1.0
        for r in range(plan.rows):
            f.Et[first + j, r] = 0.0
    shown_by_state(f, N)


@inlined_kernel
def add_pushes(plan: Plan, c: Constants, f: Ahead, share: float) -> None:
    """Let the loads on the base change by a share of a push, in variances."""
    for j in range(plan.loads):
        f.W[plan.n + plan.N + j] = c.drift[j] * f.step[0] + share * c.push[j]


@inlined_kernel
def show_loads(plan: Plan, c: Constants, f: Ahead) -> None:
    """Compute the derivative of the readings with respect to the loads."""
    for j in range(plan.loads):
        row = f.shown[2 * plan.N + j]
        for r in range(plan.rows):
            row[r] = c.through[j, r]
        for m in range(plan.N):
            s = c.onto[m, j]
            if s != 0.0:
                for r in range(plan.linear, plan.rows):
                    row[r] += s * f.forces[plan.free[m], r]


@inlined_kernel
def shown_by_state(f: Ahead, N: int) -> None:
    """Complete the influence of disturbances: on the coordinates, and on readings by the state that they have moved."""
    for j in range(f.Gt.shape[0]):
        for i in range(N):
            f.Gt[j, i] = 0.5 * f.step[0] * f.Gt[j, N + i]
    add_product(f.Gt, f.shown, f.Et, 1.0)


@inlined_kernel
def spread(f: Ahead, rows: int) -> None:
    """Compute the covariance of the innovation, and the one with the state."""
    count = f.W.shape[0]
    f.cross[:, :] = 0.0
    f.S[:, :] = 0.0
    for j in range(count):
        for r in range(rows):
            f.WE[j, r] = f.W[j] * f.Et[j, r]
    add_transposed_product(f.shown, f.moved, f.cross, f.shown.shape[0])
    add_product(f.cross, f.shown, f.S, 1.0)
    add_transposed_product(f.WE, f.Gt, f.cross, count)
    add_transposed_product(f.WE, f.Et, f.S, count)
    for r in range(rows):
        f.S[r, r] += f.R[r]


@inlined_kernel
def condense(f: Ahead, rows: int) -> None:
    """Compute the gain of the rows that are ``used``, and the covariance after the correction."""
    size, count = f.moved.shape[0], f.W.shape[0]
    for i in range(rows):
        if f.used[i] > 0.0:
            for m in range(size):
                f.gain[i, m] = f.cross[i, m]
            for m in range(i + 1):
                f.factor[i, m] = f.S[i, m] if f.used[m] > 0.0 else 0.0
        else:
            for m in range(size):
                f.gain[i, m] = 0.0
            for m in range(i):
                f.factor[i, m] = 0.0
            f.factor[i, i] = 1.0
    cholesky(f.factor, rows)
    solve_rows(f.factor, f.gain)
    for i in range(size):
        for m in range(size):
            f.A[i, m] = 1.0 if i == m else 0.0
            f.B[i, m] = 0.0
            f.P[i, m] = 0.0
    add_product(f.shown, f.gain, f.A, -1.0)
    add_transposed_product(f.A, f.moved, f.B, size)
    add_product(f.B, f.A, f.P, 1.0)
    for j in range(count):
        for m in range(size):
            f.D[j, m] = f.Gt[j, m]
    add_product(f.Et[:count], f.gain, f.D[:count], -1.0)
    add_squares(f.W, f.D, f.P, count)
    add_squares(f.R, f.gain, f.P, rows)
    for i in range(size):
        for m in range(i):
            f.P[i, m] = 0.5 * (f.P[i, m] + f.P[m, i])
            f.P[m, i] = f.P[i, m]
