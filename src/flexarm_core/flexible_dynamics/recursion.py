r"""Articulated-body recursion over bodies with modes (compiled): US 5,546,508, claims 2 to 5, cost O(N).

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

If hinges follow others, :mod:`coupled_hinges` is used instead of the recursion.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import allocating_kernel, inlined_kernel, kernel
from flexarm_core.flexible_dynamics.coupled_hinges import articulate_coupled, respond_coupled
from flexarm_core.flexible_dynamics.kinematics import Nine, load_bodies, move_bodies, nine, place_bodies, product
from flexarm_core.flexible_dynamics.propagation import Six, handed_acceleration, push_force
from flexarm_core.flexible_dynamics.tree import (
    FIXED,
    REVOLUTE,
    BodyTree,
    Index,
    Workspace,
    view_tree,
    view_workspace,
)
from flexarm_core.kernels.cholesky import cholesky
from flexarm_core.types import Array

Three = tuple[float, float, float]
FRICTION_RATE = 1e-3  # [rad/s | m/s] rate at which the friction force reaches 76 % of the Coulomb friction


@kernel
def articulate(tree: BodyTree, ws: Workspace) -> None:
    """Compute the articulated-body quantities, tip to base.

    ``P, F, Ff`` of each body are the input; ``P`` and ``F`` articulated, ``Ff`` factored and ``Gf, PS, D`` the output.
    Of ``P`` and ``Ff`` one triangle is valid afterwards: the upper of ``P``, the lower of ``Ff``.

    Matrices are held in scalars as in :mod:`kinematics`. ``P`` is symmetric: ``a`` (linear) and ``c`` (angular) are the
    upper triangles of its diagonal blocks, ``x`` (linear-angular) is the block beside ``a``.
    """
    if tree.followers > 0:
        articulate_coupled(tree, ws)
        return
    half = 0.5 * ws.step[0]
    P, F, G, PS, S, R, rho, Bt, Br = ws.P, ws.F, ws.Gf, ws.PS, ws.S, ws.R, ws.rho, ws.Bt, ws.Br
    for i in range(len(tree.parent) - 1, -1, -1):
        k, parent = tree.modes[i], tree.parent[i]
        a00, a01, a02, x00, x01, x02 = P[i, 0, 0], P[i, 0, 1], P[i, 0, 2], P[i, 0, 3], P[i, 0, 4], P[i, 0, 5]
        a11, a12, x10, x11, x12 = P[i, 1, 1], P[i, 1, 2], P[i, 1, 3], P[i, 1, 4], P[i, 1, 5]
        a22, x20, x21, x22 = P[i, 2, 2], P[i, 2, 3], P[i, 2, 4], P[i, 2, 5]
        c00, c01, c02, c11, c12, c22 = P[i, 3, 3], P[i, 3, 4], P[i, 3, 5], P[i, 4, 4], P[i, 4, 5], P[i, 5, 5]
        if k > 0:  # flexible version: with Ff = L L^T and Y = F L^-T, P_r = P - Y Y^T and G_f = Y L^-1
            L = ws.Ff[i]
            cholesky(L, k)
            for m in range(k):
                f0, f1, f2, f3, f4, f5 = F[i, 0, m], F[i, 1, m], F[i, 2, m], F[i, 3, m], F[i, 4, m], F[i, 5, m]
                for n in range(m):
                    s = L[m, n]
                    f0, f1, f2 = f0 - s * G[i, 0, n], f1 - s * G[i, 1, n], f2 - s * G[i, 2, n]
                    f3, f4, f5 = f3 - s * G[i, 3, n], f4 - s * G[i, 4, n], f5 - s * G[i, 5, n]
                s = L[m, m]
                f0, f1, f2, f3, f4, f5 = f0 * s, f1 * s, f2 * s, f3 * s, f4 * s, f5 * s
                G[i, 0, m], G[i, 1, m], G[i, 2, m], G[i, 3, m], G[i, 4, m], G[i, 5, m] = f0, f1, f2, f3, f4, f5
                a00, a01, a02, a11, a12, a22 = subtracted((a00, a01, a02, a11, a12, a22), (f0, f1, f2), (f0, f1, f2))
                c00, c01, c02, c11, c12, c22 = subtracted((c00, c01, c02, c11, c12, c22), (f3, f4, f5), (f3, f4, f5))
                x00, x01, x02 = x00 - f0 * f3, x01 - f0 * f4, x02 - f0 * f5
                x10, x11, x12 = x10 - f1 * f3, x11 - f1 * f4, x12 - f1 * f5
                x20, x21, x22 = x20 - f2 * f3, x21 - f2 * f4, x22 - f2 * f5
            for m in range(k - 1, -1, -1):
                f0, f1, f2, f3, f4, f5 = G[i, 0, m], G[i, 1, m], G[i, 2, m], G[i, 3, m], G[i, 4, m], G[i, 5, m]
                for n in range(m + 1, k):
                    s = L[n, m]
                    f0, f1, f2 = f0 - s * G[i, 0, n], f1 - s * G[i, 1, n], f2 - s * G[i, 2, n]
                    f3, f4, f5 = f3 - s * G[i, 3, n], f4 - s * G[i, 4, n], f5 - s * G[i, 5, n]
                s = L[m, m]
                f0, f1, f2, f3, f4, f5 = f0 * s, f1 * s, f2 * s, f3 * s, f4 * s, f5 * s
                G[i, 0, m], G[i, 1, m], G[i, 2, m], G[i, 3, m], G[i, 4, m], G[i, 5, m] = f0, f1, f2, f3, f4, f5
            P[i, 0, 0], P[i, 0, 1], P[i, 0, 2], P[i, 0, 3], P[i, 0, 4], P[i, 0, 5] = a00, a01, a02, x00, x01, x02
            P[i, 1, 1], P[i, 1, 2], P[i, 1, 3], P[i, 1, 4], P[i, 1, 5] = a11, a12, x10, x11, x12
            P[i, 2, 2], P[i, 2, 3], P[i, 2, 4], P[i, 2, 5] = a22, x20, x21, x22
            P[i, 3, 3], P[i, 3, 4], P[i, 3, 5], P[i, 4, 4], P[i, 4, 5], P[i, 5, 5] = c00, c01, c02, c11, c12, c22
        if tree.kind[i] != FIXED:  # rigid version; an axis has a linear or an angular part
            if tree.kind[i] == REVOLUTE:
                s0, s1, s2 = S[i, 3], S[i, 4], S[i, 5]
                f0, f1, f2 = times((x00, x01, x02, x10, x11, x12, x20, x21, x22), s0, s1, s2)
                f3, f4, f5 = times((c00, c01, c02, c01, c11, c12, c02, c12, c22), s0, s1, s2)
                s = s0 * f3 + s1 * f4 + s2 * f5
            else:
                s0, s1, s2 = S[i, 0], S[i, 1], S[i, 2]
                f0, f1, f2 = times((a00, a01, a02, a01, a11, a12, a02, a12, a22), s0, s1, s2)
                f3, f4, f5 = times((x00, x10, x20, x01, x11, x21, x02, x12, x22), s0, s1, s2)
                s = s0 * f0 + s1 * f1 + s2 * f2
            h = tree.hinge[i]
            s += tree.armature[h] + half * (tree.damping[h] + half * tree.stiffness[h])
            ws.D[i] = s
            PS[i, 0], PS[i, 1], PS[i, 2], PS[i, 3], PS[i, 4], PS[i, 5] = f0, f1, f2, f3, f4, f5
            s = 1.0 / s
            g0, g1, g2, g3, g4, g5 = s * f0, s * f1, s * f2, s * f3, s * f4, s * f5
            a00, a01, a02, a11, a12, a22 = subtracted((a00, a01, a02, a11, a12, a22), (f0, f1, f2), (g0, g1, g2))
            c00, c01, c02, c11, c12, c22 = subtracted((c00, c01, c02, c11, c12, c22), (f3, f4, f5), (g3, g4, g5))
            x00, x01, x02 = x00 - f0 * g3, x01 - f0 * g4, x02 - f0 * g5
            x10, x11, x12 = x10 - f1 * g3, x11 - f1 * g4, x12 - f1 * g5
            x20, x21, x22 = x20 - f2 * g3, x21 - f2 * g4, x22 - f2 * g5
        if parent < 0:
            continue
        r = nine(R, i)
        a00, a01, a02, a11, a12, a22 = turned_symmetric(r, (a00, a01, a02, a11, a12, a22))
        c00, c01, c02, c11, c12, c22 = turned_symmetric(r, (c00, c01, c02, c11, c12, c22))
        x00, x01, x02, x10, x11, x12, x20, x21, x22 = turned(r, (x00, x01, x02, x10, x11, x12, x20, x21, x22))
        r0, r1, r2 = rho[i, 0], rho[i, 1], rho[i, 2]
        for m in range(tree.modes[parent]):  # B_d^T P+ B_d
            t0, t1, t2 = Bt[i, 0, m], Bt[i, 1, m], Bt[i, 2, m]
            w0, w1, w2 = Br[i, 0, m], Br[i, 1, m], Br[i, 2, m]
            f0 = a00 * t0 + a01 * t1 + a02 * t2 + x00 * w0 + x01 * w1 + x02 * w2
            f1 = a01 * t0 + a11 * t1 + a12 * t2 + x10 * w0 + x11 * w1 + x12 * w2
            f2 = a02 * t0 + a12 * t1 + a22 * t2 + x20 * w0 + x21 * w1 + x22 * w2
            f3 = x00 * t0 + x10 * t1 + x20 * t2 + c00 * w0 + c01 * w1 + c02 * w2
            f4 = x01 * t0 + x11 * t1 + x21 * t2 + c01 * w0 + c11 * w1 + c12 * w2
            f5 = x02 * t0 + x12 * t1 + x22 * t2 + c02 * w0 + c12 * w1 + c22 * w2
            for n in range(m + 1):
                s = Bt[i, 0, n] * f0 + Bt[i, 1, n] * f1 + Bt[i, 2, n] * f2
                ws.Ff[parent, m, n] += s + Br[i, 0, n] * f3 + Br[i, 1, n] * f4 + Br[i, 2, n] * f5
            F[parent, 0, m] += f0
            F[parent, 1, m] += f1
            F[parent, 2, m] += f2
            F[parent, 3, m] += f3 + r1 * f2 - r2 * f1
            F[parent, 4, m] += f4 + r2 * f0 - r0 * f2
            F[parent, 5, m] += f5 + r0 * f1 - r1 * f0
        # to the parent's origin: X - A rho^, then C - X^T rho^ + rho^ (X - A rho^)
        y00, y01, y02 = x00 - (a01 * r2 - a02 * r1), x01 - (a02 * r0 - a00 * r2), x02 - (a00 * r1 - a01 * r0)
        y10, y11, y12 = x10 - (a11 * r2 - a12 * r1), x11 - (a12 * r0 - a01 * r2), x12 - (a01 * r1 - a11 * r0)
        y20, y21, y22 = x20 - (a12 * r2 - a22 * r1), x21 - (a22 * r0 - a02 * r2), x22 - (a02 * r1 - a12 * r0)
        P[parent, 0, 0] += a00
        P[parent, 0, 1] += a01
        P[parent, 0, 2] += a02
        P[parent, 1, 1] += a11
        P[parent, 1, 2] += a12
        P[parent, 2, 2] += a22
        P[parent, 0, 3] += y00
        P[parent, 0, 4] += y01
        P[parent, 0, 5] += y02
        P[parent, 1, 3] += y10
        P[parent, 1, 4] += y11
        P[parent, 1, 5] += y12
        P[parent, 2, 3] += y20
        P[parent, 2, 4] += y21
        P[parent, 2, 5] += y22
        P[parent, 3, 3] += c00 - (x10 * r2 - x20 * r1) + r1 * y20 - r2 * y10
        P[parent, 3, 4] += c01 - (x20 * r0 - x00 * r2) + r1 * y21 - r2 * y11
        P[parent, 3, 5] += c02 - (x00 * r1 - x10 * r0) + r1 * y22 - r2 * y12
        P[parent, 4, 4] += c11 - (x21 * r0 - x01 * r2) + r2 * y01 - r0 * y21
        P[parent, 4, 5] += c12 - (x01 * r1 - x11 * r0) + r2 * y02 - r0 * y22
        P[parent, 5, 5] += c22 - (x02 * r1 - x12 * r0) + r0 * y12 - r1 * y02


@kernel
def subtracted(A: Six, f: Three, g: Three) -> Six:
    """Return the upper triangle of ``A - f g^T`` for that of a symmetric ``A`` (3, 3), and parallel ``f`` and ``g``."""
    a00, a01, a02, a11, a12, a22 = A
    f0, f1, f2 = f
    g0, g1, g2 = g
    return a00 - f0 * g0, a01 - f0 * g1, a02 - f0 * g2, a11 - f1 * g1, a12 - f1 * g2, a22 - f2 * g2


@kernel
def times(A: Nine, s0: float, s1: float, s2: float) -> Three:
    """Return a (3, 3) matrix times a vector."""
    a00, a01, a02, a10, a11, a12, a20, a21, a22 = A
    return a00 * s0 + a01 * s1 + a02 * s2, a10 * s0 + a11 * s1 + a12 * s2, a20 * s0 + a21 * s1 + a22 * s2


@kernel
def turned(R: Nine, A: Nine) -> Nine:
    """Return ``R A R^T`` for a (3, 3) matrix."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = R
    return product(product(R, A), (r00, r10, r20, r01, r11, r21, r02, r12, r22))


@kernel
def turned_symmetric(R: Nine, A: Six) -> Six:
    """Return the upper triangle of ``R A R^T`` for that of a symmetric ``A`` (3, 3)."""
    a00, a01, a02, a11, a12, a22 = A
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = R
    w00, w01, w02, w10, w11, w12, w20, w21, w22 = product(R, (a00, a01, a02, a01, a11, a12, a02, a12, a22))
    return (
        w00 * r00 + w01 * r01 + w02 * r02,
        w00 * r10 + w01 * r11 + w02 * r12,
        w00 * r20 + w01 * r21 + w02 * r22,
        w10 * r10 + w11 * r11 + w12 * r12,
        w10 * r20 + w11 * r21 + w12 * r22,
        w20 * r20 + w21 * r21 + w22 * r22,
    )


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
    if tree.followers > 0:
        respond_coupled(tree, ws, effort, biased, acceleration)
        return
    count = len(tree.parent)
    P, S, PS, G, L, D, z, zf, nu, bias = ws.P, ws.S, ws.PS, ws.Gf, ws.Ff, ws.D, ws.z, ws.zf, ws.nu, ws.bias
    for i in range(count):
        if biased:
            z[i, 0], z[i, 1], z[i, 2] = ws.p[i, 0], ws.p[i, 1], ws.p[i, 2]
            z[i, 3], z[i, 4], z[i, 5] = ws.p[i, 3], ws.p[i, 4], ws.p[i, 5]
        else:
            z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for m in range(tree.modes[i]):
            zf[i, m] = (ws.pf[i, m] if biased else 0.0) - effort[tree.first_mode[i] + m]
    for i in range(count - 1, -1, -1):
        k, parent = tree.modes[i], tree.parent[i]
        z0, z1, z2, z3, z4, z5 = z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5]
        for m in range(k):  # flexible version: z - G_f z_f, and nu = -Ff^-1 z_f
            s = zf[i, m]
            z0, z1, z2 = z0 - G[i, 0, m] * s, z1 - G[i, 1, m] * s, z2 - G[i, 2, m] * s
            z3, z4, z5 = z3 - G[i, 3, m] * s, z4 - G[i, 4, m] * s, z5 - G[i, 5, m] * s
            for n in range(m):
                s += L[i, m, n] * nu[i, n]
            nu[i, m] = -s * L[i, m, m]
        for m in range(k - 1, -1, -1):
            s = nu[i, m]
            for n in range(m + 1, k):
                s -= L[i, n, m] * nu[i, n]
            nu[i, m] = s * L[i, m, m]
        if biased:
            b0, b1, b2, b3, b4, b5 = bias[i, 0], bias[i, 1], bias[i, 2], bias[i, 3], bias[i, 4], bias[i, 5]
            z0 += P[i, 0, 0] * b0 + P[i, 0, 1] * b1 + P[i, 0, 2] * b2
            z0 += P[i, 0, 3] * b3 + P[i, 0, 4] * b4 + P[i, 0, 5] * b5
            z1 += P[i, 0, 1] * b0 + P[i, 1, 1] * b1 + P[i, 1, 2] * b2
            z1 += P[i, 1, 3] * b3 + P[i, 1, 4] * b4 + P[i, 1, 5] * b5
            z2 += P[i, 0, 2] * b0 + P[i, 1, 2] * b1 + P[i, 2, 2] * b2
            z2 += P[i, 2, 3] * b3 + P[i, 2, 4] * b4 + P[i, 2, 5] * b5
            z3 += P[i, 0, 3] * b0 + P[i, 1, 3] * b1 + P[i, 2, 3] * b2
            z3 += P[i, 3, 3] * b3 + P[i, 3, 4] * b4 + P[i, 3, 5] * b5
            z4 += P[i, 0, 4] * b0 + P[i, 1, 4] * b1 + P[i, 2, 4] * b2
            z4 += P[i, 3, 4] * b3 + P[i, 4, 4] * b4 + P[i, 4, 5] * b5
            z5 += P[i, 0, 5] * b0 + P[i, 1, 5] * b1 + P[i, 2, 5] * b2
            z5 += P[i, 3, 5] * b3 + P[i, 4, 5] * b4 + P[i, 5, 5] * b5
        if tree.kind[i] != FIXED:  # rigid version
            s = S[i, 0] * z0 + S[i, 1] * z1 + S[i, 2] * z2 + S[i, 3] * z3 + S[i, 4] * z4 + S[i, 5] * z5
            s = (effort[tree.hinge[i]] - s) / D[i]
            ws.u[i] = s
            z0, z1, z2 = z0 + PS[i, 0] * s, z1 + PS[i, 1] * s, z2 + PS[i, 2] * s
            z3, z4, z5 = z3 + PS[i, 3] * s, z4 + PS[i, 4] * s, z5 + PS[i, 5] * s
        if parent >= 0:
            push_force(tree, ws, i, (z0, z1, z2, z3, z4, z5), z[parent], zf[parent])
    for i in range(count):
        a0, a1, a2, a3, a4, a5 = handed_acceleration(tree, ws, i, acceleration)
        if tree.parent[i] < 0 and not biased:  # gravity is also a bias
            a0, a1, a2 = 0.0, 0.0, 0.0
        if tree.hinge[i] >= 0:
            s = PS[i, 0] * a0 + PS[i, 1] * a1 + PS[i, 2] * a2 + PS[i, 3] * a3 + PS[i, 4] * a4 + PS[i, 5] * a5
            s = ws.u[i] - s / D[i]
            acceleration[tree.hinge[i]] = s
            a0, a1, a2 = a0 + S[i, 0] * s, a1 + S[i, 1] * s, a2 + S[i, 2] * s
            a3, a4, a5 = a3 + S[i, 3] * s, a4 + S[i, 4] * s, a5 + S[i, 5] * s
        if biased:
            a0, a1, a2 = a0 + bias[i, 0], a1 + bias[i, 1], a2 + bias[i, 2]
            a3, a4, a5 = a3 + bias[i, 3], a4 + bias[i, 4], a5 + bias[i, 5]
        for m in range(tree.modes[i]):
            s = G[i, 0, m] * a0 + G[i, 1, m] * a1 + G[i, 2, m] * a2
            s += G[i, 3, m] * a3 + G[i, 4, m] * a4 + G[i, 5, m] * a5
            acceleration[tree.first_mode[i] + m] = nu[i, m] - s
        body = ws.a
        body[i, 0], body[i, 1], body[i, 2], body[i, 3], body[i, 4], body[i, 5] = a0, a1, a2, a3, a4, a5


@allocating_kernel
def respond_to_each(integers: Index, constants: Array, memory: Array, coordinates: Index, columns: Array) -> None:
    """Compute the linear responses (h + K, c) to a unit force on each of ``c`` coordinates.

    Requires :func:`articulate_at`.
    """
    tree = view_tree(integers, constants)
    ws = view_workspace(memory)
    unit, column = np.zeros(len(columns)), np.empty(len(columns))
    for j in range(len(coordinates)):
        unit[coordinates[j]] = 1.0
        respond(tree, ws, unit, False, column)
        unit[coordinates[j]] = 0.0
        for i in range(len(columns)):
            columns[i, j] = column[i]


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
    ws = view_workspace(memory)
    place_bodies(tree, ws, x, v)
    articulate(tree, ws)


@kernel
def accelerate(integers: Index, constants: Array, memory: Array, effort: Array) -> None:
    """Compute ``acceleration`` of the workspace under hinge efforts (h,), at the state of :func:`articulate_at`."""
    tree = view_tree(integers, constants)
    ws = view_workspace(memory)
    hinge_forces(tree, ws.x, ws.v, effort, 0.5 * ws.step[0], ws.total)
    respond(tree, ws, ws.total, True, ws.acceleration)


@kernel
def forward_dynamics(integers: Index, constants: Array, memory: Array, x: Array, v: Array, effort: Array) -> None:
    """Compute ``acceleration`` of the workspace at a state under hinge efforts (h,), in one call."""
    tree = view_tree(integers, constants)
    ws = view_workspace(memory)
    forward_sweeps(tree, ws, x, v, effort, ws.acceleration)


@inlined_kernel
def forward_sweeps(tree: BodyTree, ws: Workspace, x: Array, v: Array, effort: Array, acceleration: Array) -> None:
    """Do the sweeps of :func:`forward_dynamics`; ``acceleration`` is (h + K,)."""
    move_bodies(tree, ws, x, v)
    load_bodies(tree, ws, x, v)
    articulate(tree, ws)
    hinge_forces(tree, x, v, effort, 0.5 * ws.step[0], ws.total)
    respond(tree, ws, ws.total, True, acceleration)
