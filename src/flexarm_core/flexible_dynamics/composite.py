"""Mass matrix by the composite-rigid-body algorithm (compiled).

The inertia of each body, with hinge and modes locked, is added to its parent.
"""

from __future__ import annotations

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.propagation import push_force
from flexarm_core.flexible_dynamics.tree import BodyTree, Workspace
from flexarm_core.types import Array


@kernel
def composite_mass_matrix(tree: BodyTree, ws: Workspace, M: Array) -> None:
    """Compute the mass matrix (h + K, h + K) after ``load_at``.

    ``P, F, Ff`` of each body are the input; afterwards they are those of the body with all that it carries, locked.
    """
    forces = ws.columns
    M[:] = 0.0
    for i in range(len(tree.parent) - 1, -1, -1):
        k, e, h, p = tree.modes[i], tree.first_mode[i], tree.hinge[i], tree.parent[i]
        P, F = ws.P[i], ws.F[i]
        columns = k + (1 if h >= 0 else 0)
        for m in range(k):
            for b in range(6):
                forces[m, 0, b] = F[b, m]
            for n in range(k):
                M[e + m, e + n] = ws.Ff[i, m, n]
            if h >= 0:
                s = 0.0
                for b in range(6):
                    s += F[b, m] * ws.S[i, b]
                M[e + m, h] = s
                M[h, e + m] = s
        if h >= 0:
            s = 0.0
            for b in range(6):
                t = 0.0
                for c in range(6):
                    t += P[b, c] * ws.S[i, c]
                forces[k, 0, b] = t
                s += ws.S[i, b] * t
            M[h, h] = s + tree.armature[h]
        for j in range(columns):
            column = e + j if j < k else h
            body, now = i, 0
            while tree.parent[body] >= 0:
                up = tree.parent[body]
                forces[j, 1 - now, :] = 0.0
                first, f = tree.first_mode[up], forces[j, now]
                push_force(tree, ws, body, (f[0], f[1], f[2], f[3], f[4], f[5]), forces[j, 1 - now], M[column, first:])
                now = 1 - now
                for m in range(tree.modes[up]):
                    M[first + m, column] = M[column, first + m]
                if tree.hinge[up] >= 0:
                    s = 0.0
                    for b in range(6):
                        s += ws.S[up, b] * forces[j, now, b]
                    M[column, tree.hinge[up]] = s
                    M[tree.hinge[up], column] = s
                body = up
        if p >= 0:
            add_composite(tree, ws, i)


@kernel
def add_composite(tree: BodyTree, ws: Workspace, i: int) -> None:
    """Add the inertia of body ``i``, with its hinge and modes locked, to the blocks of its parent."""
    A, X, C, B = ws.scratch[0], ws.scratch[1], ws.scratch[2], ws.scratch[3]
    column, force = ws.scratch[4].reshape(9), ws.scratch[5].reshape(9)
    R, rho, p, P = ws.R[i], ws.rho[i], tree.parent[i], ws.P[i]
    for a in range(3):
        for b in range(3):
            A[a, b] = P[a, b]
            X[a, b] = P[a, 3 + b]
            C[a, b] = P[3 + a, 3 + b]
    turn(R, A, B)
    turn(R, X, B)
    turn(R, C, B)
    k = tree.modes[p]
    for c in range(k + 6):  # column c of [B_d, X_d], then its force, then the force at the parent's origin
        outboard_column(tree, ws, i, c, column)
        for a in range(3):
            force[a], force[3 + a] = 0.0, 0.0
            for b in range(3):
                force[a] += A[a, b] * column[b] + X[a, b] * column[3 + b]
                force[3 + a] += X[b, a] * column[b] + C[a, b] * column[3 + b]
        if c < k:
            for m in range(k):
                s = 0.0
                for a in range(3):
                    s += ws.Bt[i, a, m] * force[a] + ws.Br[i, a, m] * force[3 + a]
                ws.Ff[p, m, c] += s
        force[3] += rho[1] * force[2] - rho[2] * force[1]
        force[4] += rho[2] * force[0] - rho[0] * force[2]
        force[5] += rho[0] * force[1] - rho[1] * force[0]
        for a in range(6):
            if c < k:
                ws.F[p, a, c] += force[a]
            else:
                ws.P[p, a, c - k] += force[a]


@kernel
def turn(R: Array, A: Array, work: Array) -> None:
    """Compute ``A <- R A R^T`` for a (3, 3) matrix."""
    for a in range(3):
        for b in range(3):
            work[a, b] = R[a, 0] * A[0, b] + R[a, 1] * A[1, b] + R[a, 2] * A[2, b]
    for a in range(3):
        for b in range(3):
            A[a, b] = work[a, 0] * R[b, 0] + work[a, 1] * R[b, 1] + work[a, 2] * R[b, 2]


@kernel
def outboard_column(tree: BodyTree, ws: Workspace, i: int, c: int, column: Array) -> None:
    """Write the motion (6,) of body ``i``'s mount for unit motion ``c`` of the parent: modes, then rigid motions."""
    k, rho = tree.modes[tree.parent[i]], ws.rho[i]
    for a in range(3):
        column[a] = ws.Bt[i, a, c] if c < k else (1.0 if c - k == a else 0.0)
        column[3 + a] = ws.Br[i, a, c] if c < k else (1.0 if c - k == 3 + a else 0.0)
    if c == k + 3:
        column[1], column[2] = -rho[2], rho[1]
    elif c == k + 4:
        column[0], column[2] = rho[2], -rho[0]
    elif c == k + 5:
        column[0], column[1] = -rho[1], rho[0]
