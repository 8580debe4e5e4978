r"""Articulated-body recursion over bodies with modes (compiled): patent 000, claims 2 to 5, cost O(N).

Tip to base, for each body: modal mass matrix (claim 2; blocks ``P`` rigid-rigid, ``F`` rigid-flexible, ``Ff``
flexible-flexible) plus the contributions of the children, then two eliminations::

    flexible version    G_f = F Ff^-1         P_r  = P - G_f F^T       modes absorbed into the articulated body inertia
                        nu  = Ff^-1 (T_f - z_f)    z_r = z + F nu      modal acceleration at a held hinge
    rigid version       D   = S^T P_r S + J_a G    = P_r S D^-1        articulated hinge inertia, body-to-hinge operator
                        P+  = (1 - G S^T) P_r                          null force operator applied (claim 3)
                        u   = T - S^T (z_r + P_r b)
                        z+  = z_r + P_r b + G u                        residual force for the next body (claim 4)

Base to tip: ``qdd = D^-1 u - G^T a``, ``etadd = nu - G_f^T a`` with the acceleration ``a`` propagated from the parent.
``J_a`` is the armature: the reflected inertia of the hinge's motor and gear.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.flexible_dynamics.kinematics import load_bodies, move_bodies
from flexarm_core.flexible_dynamics.tree import (
    FIXED,
    BodyTree,
    Index,
    Workspace,
    view_tree,
    view_workspace,
)
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.types import Array

Six = tuple[float, float, float, float, float, float]
FRICTION_RATE = 1e-3  # [rad/s | m/s] rate at which the friction force reaches 76 % of the Coulomb friction


@kernel
def articulate(tree: BodyTree, ws: Workspace) -> None:
    """Compute the articulated-body quantities, tip to base.

    ``P, F, Ff`` of each body are the input; ``P`` and ``F`` articulated, ``Ff`` factored and ``Gf, PS, D`` the output.
    """
    half = 0.5 * ws.step[0]
    A, X, C, B, row = ws.scratch[0], ws.scratch[1], ws.scratch[2], ws.scratch[3], ws.scratch[4, 0]
    for i in range(len(tree.parent) - 1, -1, -1):
        k, parent = tree.modes[i], tree.parent[i]
        P, F, Gf, PS, S = ws.P[i], ws.F[i], ws.Gf[i], ws.PS[i], ws.S[i]
        if k > 0:  # flexible version
            cholesky(ws.Ff[i], k)
            for a in range(6):
                for m in range(k):
                    Gf[a, m] = F[a, m]
                cholesky_solve(ws.Ff[i], Gf[a], k)
            for a in range(6):
                for b in range(a, 6):
                    s = 0.0
                    for m in range(k):
                        s += Gf[a, m] * F[b, m]
                    P[a, b] -= s
                    P[b, a] = P[a, b]
        if tree.kind[i] != FIXED:  # rigid version
            d = 0.0
            for a in range(6):
                s = 0.0
                for b in range(6):
                    s += P[a, b] * S[b]
                PS[a] = s
            for a in range(6):
                d += S[a] * PS[a]
            hinge = tree.hinge[i]
            ws.D[i] = d + tree.armature[hinge] + half * (tree.damping[hinge] + half * tree.stiffness[hinge])
        if parent < 0:
            continue
        R, rho = ws.R[i], ws.rho[i]
        over = 1.0 / ws.D[i] if tree.kind[i] != FIXED else 0.0
        for a in range(3):  # P+ in three blocks: A linear, X linear-angular, C angular
            for b in range(3):
                A[a, b] = P[a, b] - over * PS[a] * PS[b]
                X[a, b] = P[a, 3 + b] - over * PS[a] * PS[3 + b]
                C[a, b] = P[3 + a, 3 + b] - over * PS[3 + a] * PS[3 + b]
        turn(R, A, B)
        turn(R, X, B)
        turn(R, C, B)
        n = tree.modes[parent]
        if n > 0:  # B_d^T P+ B_d
            Bt, Br, Fp, Ffp = ws.Bt[i], ws.Br[i], ws.F[parent], ws.Ff[parent]
            for m in range(n):
                for a in range(3):
                    linear, angular = 0.0, 0.0
                    for b in range(3):
                        linear += A[a, b] * Bt[b, m] + X[a, b] * Br[b, m]
                        angular += X[b, a] * Bt[b, m] + C[a, b] * Br[b, m]
                    row[a] = linear
                    B[0, a] = angular
                for j in range(m + 1):
                    s = 0.0
                    for a in range(3):
                        s += Bt[a, j] * row[a] + Br[a, j] * B[0, a]
                    Ffp[m, j] += s
                    if j != m:
                        Ffp[j, m] += s
                Fp[0, m] += row[0]
                Fp[1, m] += row[1]
                Fp[2, m] += row[2]
                Fp[3, m] += B[0, 0] + rho[1] * row[2] - rho[2] * row[1]
                Fp[4, m] += B[0, 1] + rho[2] * row[0] - rho[0] * row[2]
                Fp[5, m] += B[0, 2] + rho[0] * row[1] - rho[1] * row[0]
        Pp = ws.P[parent]
        for a in range(3):  # X - A rho^, then C - X^T rho^ + rho^ (X - A rho^)
            B[a, 0] = X[a, 0] - (A[a, 1] * rho[2] - A[a, 2] * rho[1])
            B[a, 1] = X[a, 1] - (A[a, 2] * rho[0] - A[a, 0] * rho[2])
            B[a, 2] = X[a, 2] - (A[a, 0] * rho[1] - A[a, 1] * rho[0])
        for a in range(3):
            C[a, 0] -= X[1, a] * rho[2] - X[2, a] * rho[1]
            C[a, 1] -= X[2, a] * rho[0] - X[0, a] * rho[2]
            C[a, 2] -= X[0, a] * rho[1] - X[1, a] * rho[0]
        for b in range(3):
            C[0, b] += rho[1] * B[2, b] - rho[2] * B[1, b]
            C[1, b] += rho[2] * B[0, b] - rho[0] * B[2, b]
            C[2, b] += rho[0] * B[1, b] - rho[1] * B[0, b]
        for a in range(3):
            for b in range(3):
                Pp[a, b] += A[a, b]
                Pp[a, 3 + b] += B[a, b]
                Pp[3 + b, a] += B[a, b]
                Pp[3 + a, 3 + b] += C[a, b]


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
def respond(tree: BodyTree, ws: Workspace, effort: Array, biased: bool, acceleration: Array) -> None:
    """Compute residual forces tip to base, then accelerations base to tip; requires :func:`articulate`.

    Six-vectors are kept in scalars, because an array view per body would cost more than the arithmetic.

    Args:
        tree: the bodies.
        ws: workspace; results of :func:`articulate` are the input, ``nu, u, a`` the output.
        effort: (h + K,) hinge efforts and modal forces.
        biased: True: include bias and external forces; False: linear response to ``effort`` alone.
        acceleration: (h + K,) output.
    """
    count = len(tree.parent)
    F, P, S, PS, Gf, z, bias = ws.F, ws.P, ws.S, ws.PS, ws.Gf, ws.z, ws.bias
    for i in range(count):
        for a in range(6):
            z[i, a] = ws.p[i, a] if biased else 0.0
        for m in range(tree.modes[i]):
            ws.zf[i, m] = (ws.pf[i, m] if biased else 0.0) - effort[tree.first_mode[i] + m]
    for i in range(count - 1, -1, -1):
        z0, z1, z2, z3, z4, z5 = z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5]
        if tree.modes[i] > 0:  # flexible version
            nu = ws.nu[i]
            for m in range(tree.modes[i]):
                nu[m] = -ws.zf[i, m]
            cholesky_solve(ws.Ff[i], nu, tree.modes[i])
            for m in range(tree.modes[i]):
                s = nu[m]
                z0, z1, z2 = z0 + F[i, 0, m] * s, z1 + F[i, 1, m] * s, z2 + F[i, 2, m] * s
                z3, z4, z5 = z3 + F[i, 3, m] * s, z4 + F[i, 4, m] * s, z5 + F[i, 5, m] * s
        if biased:
            for b in range(6):
                s = bias[i, b]
                z0, z1, z2 = z0 + P[i, b, 0] * s, z1 + P[i, b, 1] * s, z2 + P[i, b, 2] * s
                z3, z4, z5 = z3 + P[i, b, 3] * s, z4 + P[i, b, 4] * s, z5 + P[i, b, 5] * s
        if tree.kind[i] != FIXED:  # rigid version
            s = S[i, 0] * z0 + S[i, 1] * z1 + S[i, 2] * z2 + S[i, 3] * z3 + S[i, 4] * z4 + S[i, 5] * z5
            s = (effort[tree.hinge[i]] - s) / ws.D[i]
            ws.u[i] = s
            z0, z1, z2 = z0 + PS[i, 0] * s, z1 + PS[i, 1] * s, z2 + PS[i, 2] * s
            z3, z4, z5 = z3 + PS[i, 3] * s, z4 + PS[i, 4] * s, z5 + PS[i, 5] * s
        if tree.parent[i] >= 0:
            push_force(tree, ws, i, (z0, z1, z2, z3, z4, z5), z[tree.parent[i]], ws.zf[tree.parent[i]])
    for i in range(count):
        a0, a1, a2, a3, a4, a5 = handed_acceleration(tree, ws, i, acceleration)
        if tree.parent[i] < 0 and not biased:  # gravity is also a bias
            a0, a1, a2 = 0.0, 0.0, 0.0
        if tree.hinge[i] >= 0:
            s = PS[i, 0] * a0 + PS[i, 1] * a1 + PS[i, 2] * a2 + PS[i, 3] * a3 + PS[i, 4] * a4 + PS[i, 5] * a5
            s = ws.u[i] - s / ws.D[i]
            acceleration[tree.hinge[i]] = s
            a0, a1, a2 = a0 + S[i, 0] * s, a1 + S[i, 1] * s, a2 + S[i, 2] * s
            a3, a4, a5 = a3 + S[i, 3] * s, a4 + S[i, 4] * s, a5 + S[i, 5] * s
        if biased:
            a0, a1, a2 = a0 + bias[i, 0], a1 + bias[i, 1], a2 + bias[i, 2]
            a3, a4, a5 = a3 + bias[i, 3], a4 + bias[i, 4], a5 + bias[i, 5]
        for m in range(tree.modes[i]):
            s = Gf[i, 0, m] * a0 + Gf[i, 1, m] * a1 + Gf[i, 2, m] * a2
            s += Gf[i, 3, m] * a3 + Gf[i, 4, m] * a4 + Gf[i, 5, m] * a5
            acceleration[tree.first_mode[i] + m] = ws.nu[i, m] - s
        body = ws.a
        body[i, 0], body[i, 1], body[i, 2], body[i, 3], body[i, 4], body[i, 5] = a0, a1, a2, a3, a4, a5


@kernel
def respond_to_each(integers: Index, constants: Array, memory: Array, coordinates: Index, columns: Array) -> None:
    """Compute the linear responses (h + K, c) to a unit force on each of ``c`` coordinates.

    Requires :func:`articulate_at`.
    """
    tree = view_tree(integers, constants)
    ws = view_workspace(integers, memory)
    unit, column = np.zeros(len(columns)), np.empty(len(columns))
    for j in range(len(coordinates)):
        unit[coordinates[j]] = 1.0
        respond(tree, ws, unit, False, column)
        unit[coordinates[j]] = 0.0
        for i in range(len(columns)):
            columns[i, j] = column[i]


@inlined_kernel
def push_force(tree: BodyTree, ws: Workspace, i: int, force: Six, onto: Array, modal: Array) -> None:
    """Add a force on body ``i`` to its parent: to ``onto`` (6,) and, by ``B_d^T``, to the parent's ``modal`` forces."""
    R, rho, Bt, Br = ws.R, ws.rho, ws.Bt, ws.Br
    z0, z1, z2, z3, z4, z5 = force
    f0 = R[i, 0, 0] * z0 + R[i, 0, 1] * z1 + R[i, 0, 2] * z2
    f1 = R[i, 1, 0] * z0 + R[i, 1, 1] * z1 + R[i, 1, 2] * z2
    f2 = R[i, 2, 0] * z0 + R[i, 2, 1] * z1 + R[i, 2, 2] * z2
    n0 = R[i, 0, 0] * z3 + R[i, 0, 1] * z4 + R[i, 0, 2] * z5
    n1 = R[i, 1, 0] * z3 + R[i, 1, 1] * z4 + R[i, 1, 2] * z5
    n2 = R[i, 2, 0] * z3 + R[i, 2, 1] * z4 + R[i, 2, 2] * z5
    for m in range(tree.modes[tree.parent[i]]):
        s = Bt[i, 0, m] * f0 + Bt[i, 1, m] * f1 + Bt[i, 2, m] * f2
        modal[m] += s + Br[i, 0, m] * n0 + Br[i, 1, m] * n1 + Br[i, 2, m] * n2
    onto[0] += f0
    onto[1] += f1
    onto[2] += f2
    onto[3] += n0 + rho[i, 1] * f2 - rho[i, 2] * f1
    onto[4] += n1 + rho[i, 2] * f0 - rho[i, 0] * f2
    onto[5] += n2 + rho[i, 0] * f1 - rho[i, 1] * f0


@inlined_kernel
def handed_acceleration(tree: BodyTree, ws: Workspace, i: int, acceleration: Array) -> Six:
    """Return the acceleration of body ``i`` due to its parent, in the body's axes, without bias and hinge terms."""
    p, R, rho, a, Bt, Br = tree.parent[i], ws.R, ws.rho, ws.a, ws.Bt, ws.Br
    if p < 0:
        l0, l1, l2, r0, r1, r2 = tree.root[0], tree.root[1], tree.root[2], 0.0, 0.0, 0.0
    else:
        r0, r1, r2 = a[p, 3], a[p, 4], a[p, 5]
        l0 = a[p, 0] + r1 * rho[i, 2] - r2 * rho[i, 1]
        l1 = a[p, 1] + r2 * rho[i, 0] - r0 * rho[i, 2]
        l2 = a[p, 2] + r0 * rho[i, 1] - r1 * rho[i, 0]
        for m in range(tree.modes[p]):
            s = acceleration[tree.first_mode[p] + m]
            l0, l1, l2 = l0 + Bt[i, 0, m] * s, l1 + Bt[i, 1, m] * s, l2 + Bt[i, 2, m] * s
            r0, r1, r2 = r0 + Br[i, 0, m] * s, r1 + Br[i, 1, m] * s, r2 + Br[i, 2, m] * s
    return (
        R[i, 0, 0] * l0 + R[i, 1, 0] * l1 + R[i, 2, 0] * l2,
        R[i, 0, 1] * l0 + R[i, 1, 1] * l1 + R[i, 2, 1] * l2,
        R[i, 0, 2] * l0 + R[i, 1, 2] * l1 + R[i, 2, 2] * l2,
        R[i, 0, 0] * r0 + R[i, 1, 0] * r1 + R[i, 2, 0] * r2,
        R[i, 0, 1] * r0 + R[i, 1, 1] * r1 + R[i, 2, 1] * r2,
        R[i, 0, 2] * r0 + R[i, 1, 2] * r1 + R[i, 2, 2] * r2,
    )


@kernel
def hinge_forces(tree: BodyTree, x: Array, v: Array, effort: Array, half: float, total: Array) -> None:
    """Add springs, dampers and friction ``-F_c tanh(qd / 1e-3)`` of the hinges to the efforts (h,).

    The result ``total`` is (h + K,), zero for the modes. ``half`` [s] is half of the implicit step, 0 for instantaneous
    forces.
    """
    for h in range(len(tree.stiffness)):
        total[h] = effort[h] - tree.stiffness[h] * (x[h] + half * v[h]) - tree.damping[h] * v[h]
        if tree.friction[h] > 0.0:
            total[h] -= tree.friction[h] * math.tanh(v[h] / FRICTION_RATE)
    for e in range(len(tree.stiffness), len(total)):
        total[e] = 0.0


@kernel
def articulate_at(integers: Index, constants: Array, memory: Array, x: Array, v: Array) -> None:
    """Compute all quantities that depend only on the state: kinematics, bodies' forces, and the inertia sweep."""
    tree = view_tree(integers, constants)
    ws = view_workspace(integers, memory)
    move_bodies(tree, ws, x, v)
    load_bodies(tree, ws, x, v)
    articulate(tree, ws)


@kernel
def accelerate(
    integers: Index, constants: Array, memory: Array, x: Array, v: Array, effort: Array, acceleration: Array
) -> None:
    """Compute the accelerations (h + K,) under hinge efforts (h,); requires :func:`articulate_at`."""
    tree = view_tree(integers, constants)
    ws = view_workspace(integers, memory)
    hinge_forces(tree, x, v, effort, 0.5 * ws.step[0], ws.total)
    respond(tree, ws, ws.total, True, acceleration)


@kernel
def forward_dynamics(
    integers: Index, constants: Array, memory: Array, x: Array, v: Array, effort: Array, acceleration: Array
) -> None:
    """Compute the accelerations (h + K,) at a state under hinge efforts (h,): the whole recursion in one call."""
    tree = view_tree(integers, constants)
    ws = view_workspace(integers, memory)
    move_bodies(tree, ws, x, v)
    load_bodies(tree, ws, x, v)
    articulate(tree, ws)
    hinge_forces(tree, x, v, effort, 0.5 * ws.step[0], ws.total)
    respond(tree, ws, ws.total, True, acceleration)
