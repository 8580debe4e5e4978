r"""Motion space: the tool space, complemented by the redundant (null) space of the joints.

``qdd = J# (V' - dJ/dt qd) + N rho'' + ...``: with ``N`` (n, r) an orthonormal basis of the joint motions that do not
move the tool, every joint motion is ``qd = J# V + N rho'``. Joint efforts act as ``J#^T tau`` in tool space and as
``N^T tau`` in the redundant space. Forces are mapped by these matrices. Motions are mapped by the redundancy
resolution, which reaches the pose at the end of the sample exactly and thus includes all ``dJ/dt`` terms.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.robot.kinematic_chain import (
    KIND,
    PLACE,
    PRISMATIC,
    RATIO,
    Rotation,
    end_columns,
    next_frame,
    put_column,
    put_frame,
    turned_frame,
)
from flexarm_core.types import Array

LOST = 1e-9  # [m] norm below which the remainder of a Jacobian row counts as linearly dependent


@kernel
def arm_kinematics(links: Array, q: Array, frames: Array, J: Array) -> None:
    """Compute the frames that move with the joints, the tool frame and the tool Jacobian.

    Args:
        links: links of the chain.
        q: (n,) joint positions [rad | m].
        frames: (r + 1, 12) output in the base link frame: frames of the first r joints of the chain, and of the tool,
            each rotation row by row (9), origin (3) [m].
        J: (6, n) output: tool Jacobian, rows ``[v; w]``, in base link axes.
    """
    k, last = links.shape[0] - 1, frames.shape[0] - 1
    for i in range(6):
        for j in range(q.shape[0]):
            J[i, j] = 0.0
    R, px, py, pz = Rotation(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), 0.0, 0.0, 0.0
    for i in range(k + 1):
        (rx, ry, rz), R = next_frame(links, i, R)
        px, py, pz = px + rx, py + ry, pz + rz
        if i < k:
            moved = links[i, RATIO] * q[int(links[i, PLACE])]
            put_column(J, links, i, (px, py, pz), R)
            if links[i, KIND] == PRISMATIC:
                px, py, pz = px + moved * R.xz, py + moved * R.yz, pz + moved * R.zz
            else:
                R = turned_frame(R, moved)
        row = i if i < k else last
        if i == k or i < last:
            put_frame((px, py, pz), R, frames[row, 9:], frames[row, :9].reshape((3, 3)))
    end_columns(J, links, (px, py, pz))


@kernel
def solve(A: Array, X: Array) -> None:
    """Solve ``X := A^-1 X`` by pivoted elimination; ``A`` (k, k) is overwritten, ``X`` is (k, m); real or complex."""
    k, m = X.shape
    for i in range(k):
        best = i
        for j in range(i + 1, k):
            if abs(A[j, i]) > abs(A[best, i]):
                best = j
        if best != i:
            for c in range(i, k):
                A[i, c], A[best, c] = A[best, c], A[i, c]
            for c in range(m):
                X[i, c], X[best, c] = X[best, c], X[i, c]
        inverse = 1.0 / A[i, i]
        for j in range(i + 1, k):
            part = A[j, i] * inverse
            for c in range(i + 1, k):
                A[j, c] -= part * A[i, c]
            for c in range(m):
                X[j, c] -= part * X[i, c]
    for i in range(k - 1, -1, -1):
        for c in range(m):
            rest = X[i, c]
            for j in range(i + 1, k):
                rest -= A[i, j] * X[j, c]
            X[i, c] = rest / A[i, i]


@allocating_kernel
def redundant_space(J: Array, axes: Array, scale: float, N: Array) -> None:
    """Compute an orthonormal basis ``N`` (n, r) of the joint motions that do not move the controlled tool axes.

    Args:
        J: (6, n) tool Jacobian.
        axes: (6,) 1 for a controlled tool axis, else 0.
        scale: length by which rotations are multiplied to compare them with translations [m/rad].
        N: (n, r) output, ``r = n`` minus the number of controlled axes.
    """
    n, r = N.shape
    P, row = np.eye(n), np.empty(n)
    for k in range(6):
        if axes[k] == 0.0:
            continue
        factor, norm = scale if k >= 3 else 1.0, 0.0
        for i in range(n):
            row[i] = 0.0
            for j in range(n):
                row[i] += P[i, j] * J[k, j] * factor
            norm += row[i] * row[i]
        if norm > LOST * LOST:
            for i in range(n):
                for j in range(n):
                    P[i, j] -= row[i] * row[j] / norm
    for c in range(r):
        best = 0
        for i in range(1, n):
            if P[i, i] > P[best, best]:
                best = i
        norm = 0.0
        for i in range(n):
            row[i] = P[i, best]
            norm += row[i] * row[i]
        for i in range(n):
            N[i, c] = row[i] / math.sqrt(norm)
        for i in range(n):
            for j in range(n):
                P[i, j] -= row[i] * row[j] / norm


@allocating_kernel
def damped_inverse(J: Array, axes: Array, scale: float, damping: float, out: Array) -> None:
    """Compute ``J#`` (n, 6) of the controlled rows, ``A^T (A A^T + damping^2)^-1`` with rotations scaled to lengths.

    Args:
        J: (6, n) tool Jacobian.
        axes: (6,) 1 for a controlled tool axis; the columns of the other axes are zero.
        scale: length by which rotations are multiplied to compare them with translations [m/rad].
        damping: damping of the inverse [m].
        out: (n, 6) output.
    """
    n = J.shape[1]
    G, X = np.empty((6, 6)), np.empty((6, n))
    for i in range(6):
        a = axes[i] * (scale if i >= 3 else 1.0)
        for j in range(n):
            X[i, j] = a * J[i, j]
    for i in range(6):
        for j in range(6):
            G[i, j] = damping * damping if i == j else 0.0
            for c in range(n):
                G[i, j] += X[i, c] * X[j, c]
    solve(G, X)
    for i in range(6):
        a = axes[i] * (scale if i >= 3 else 1.0)
        for j in range(n):
            out[j, i] = a * X[i, j]
