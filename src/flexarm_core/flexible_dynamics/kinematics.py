r"""First sweep, base to tip (compiled): deformed mounts, velocities, bias accelerations and bias forces of every body.

A mount at node ``d`` of a parent with modal coordinates ``eta`` rotates by ``E = exp(phi^)``, ``phi = Pi^r_d eta``, and
is at ``rho = r_d + Pi^t_d eta + c``, ``c = E (offset + hinge displacement)``. With the left Jacobian ``J_l`` of SO(3)::

    sigma  = J_l phid,  phid = Pi^r_d etad            angular velocity of the mount relative to the parent's frame
    rhod   = Pi^t_d etad + sigma x c
    B_d    = [Pi^t_d - c^ J_l Pi^r_d;  J_l Pi^r_d]    outboard map of the modes
    bias   = [w x (w x rho) + 2 w x rhod + sigmad x c + sigma x (sigma x c);  w x sigma + sigmad]
    sigmad = dJ_l/dt phid

Energy is conserved only with ``J_l`` and its rate, not with ``Pi^r`` alone. Accelerations of points are classical.

The sweeps hold vectors and matrices in scalars: ``w0, w1, w2`` are the components of ``w``, ``r01`` is in row 0,
column 1 of ``R``. Views of a few numbers and loops over three would cost several times the arithmetic. A matrix that
is passed on is a tuple of its nine numbers, by rows.
"""

from __future__ import annotations

import math

from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.flexible_dynamics.tree import PRISMATIC, REVOLUTE, BodyTree, Workspace
from flexarm_core.types import Array

SERIES = 0.0625  # [rad^2] square of the angle below which the exponential map's coefficients come from their series
Nine = tuple[float, float, float, float, float, float, float, float, float]


@kernel
def cross_add(out: Array, scale: float, a: Array, b: Array) -> None:
    """Compute ``out += scale (a x b)``."""
    out[0] += scale * (a[1] * b[2] - a[2] * b[1])
    out[1] += scale * (a[2] * b[0] - a[0] * b[2])
    out[2] += scale * (a[0] * b[1] - a[1] * b[0])


@kernel
def coefficients(u: float) -> tuple[float, float, float, float, float]:
    """Return ``a, b, c, b'/t, c'/t`` of ``exp(phi^) = 1 + a phi^ + b phi^^2``, ``J_l = 1 + b phi^ + c phi^^2``.

    With the angle ``t`` and ``u = t^2``: ``a = sin(t)/t``, ``b = (1 - cos(t))/t^2``, ``c = (1 - a)/t^2``. The series
    are exact to rounding, and quicker than sine and root.
    """
    if u < SERIES:
        a = 1.0 - u * (1 / 6 - u * (1 / 120 - u * (1 / 5040 - u * (1 / 362880 - u * (1 / 39916800)))))
        b = 1 / 2 - u * (1 / 24 - u * (1 / 720 - u * (1 / 40320 - u * (1 / 3628800 - u * (1 / 479001600)))))
        c = 1 / 6 - u * (1 / 120 - u * (1 / 5040 - u * (1 / 362880 - u * (1 / 39916800 - u * (1 / 6227020800)))))
        db = -1 / 12 + u * (1 / 180 - u * (1 / 6720 - u * (1 / 453600 - u * (1 / 47900160))))
        dc = -1 / 60 + u * (1 / 1260 - u * (1 / 60480 - u * (1 / 4989600 - u * (1 / 622702080))))
        return a, b, c, db, dc
    t = math.sqrt(u)
    s, a = math.sin(0.5 * t), math.sin(t) / t
    b, c = 2.0 * s * s / u, (1.0 - a) / u
    return a, b, c, (a - 2.0 * b) / u, (b - 3.0 * c) / u


@kernel
def rotation_of(c0: float, c1: float, c2: float, p0: float, p1: float, p2: float) -> Nine:
    """Return ``c0 + c1 p^ + c2 p p^T``, the form of all rotations and Jacobians about an axis ``p``."""
    x, y, z = c2 * p0, c2 * p1, c2 * p2
    xy, xz, yz, s0, s1, s2 = x * p1, x * p2, y * p2, c1 * p0, c1 * p1, c1 * p2
    return c0 + x * p0, xy - s2, xz + s1, xy + s2, c0 + y * p1, yz - s0, xz - s1, yz + s0, c0 + z * p2


@kernel
def nine(A: Array, i: int) -> Nine:
    """Return the numbers of matrix ``i`` of an array (N, 3, 3)."""
    return A[i, 0, 0], A[i, 0, 1], A[i, 0, 2], A[i, 1, 0], A[i, 1, 1], A[i, 1, 2], A[i, 2, 0], A[i, 2, 1], A[i, 2, 2]


@kernel
def product(A: Nine, B: Nine) -> Nine:
    """Return the product of two (3, 3) matrices."""
    a00, a01, a02, a10, a11, a12, a20, a21, a22 = A
    b00, b01, b02, b10, b11, b12, b20, b21, b22 = B
    return (
        a00 * b00 + a01 * b10 + a02 * b20, a00 * b01 + a01 * b11 + a02 * b21, a00 * b02 + a01 * b12 + a02 * b22,
        a10 * b00 + a11 * b10 + a12 * b20, a10 * b01 + a11 * b11 + a12 * b21, a10 * b02 + a11 * b12 + a12 * b22,
        a20 * b00 + a21 * b10 + a22 * b20, a20 * b01 + a21 * b11 + a22 * b21, a20 * b02 + a21 * b12 + a22 * b22,
    )  # fmt: skip


@kernel
def exponential(phi: Array, E: Array, Jl: Array) -> tuple[float, float, float]:
    """Write ``E = exp(phi^)`` and left Jacobian ``Jl = 1 + b phi^ + c phi^^2``; return ``c, b'/theta, c'/theta``."""
    t2 = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    a, b, c, db, dc = coefficients(t2)
    turned = rotation_of(1.0 - b * t2, a, b, phi[0], phi[1], phi[2])
    left = rotation_of(1.0 - c * t2, b, c, phi[0], phi[1], phi[2])
    for i in range(3):
        for j in range(3):
            E[i, j], Jl[i, j] = turned[3 * i + j], left[3 * i + j]
    return c, db, dc


@kernel
def move_bodies(tree: BodyTree, ws: Workspace, x: Array, v: Array) -> None:
    """Compute mounts, velocities and bias accelerations of all bodies at coordinates ``x`` and rates ``v`` (h + K,)."""
    T, axis, offset, node, Pt, Pr = tree.turn, tree.axis, tree.offset, tree.node, tree.translation, tree.rotation
    R, rho, Bt, Br, S, velocity, bias = ws.R, ws.rho, ws.Bt, ws.Br, ws.S, ws.velocity, ws.bias
    for i in range(len(tree.parent)):
        p, h, kind = tree.parent[i], tree.hinge[i], tree.kind[i]
        z0, z1, z2 = axis[i, 0], axis[i, 1], axis[i, 2]
        turn = nine(T, i)
        # c: from the node to the hinge's moved side; n: the node
        c0, c1, c2, n0, n1, n2 = offset[i, 0], offset[i, 1], offset[i, 2], node[i, 0], node[i, 1], node[i, 2]
        if kind == REVOLUTE:
            cosine = math.cos(x[h])
            turn = product(turn, rotation_of(cosine, math.sin(x[h]), 1.0 - cosine, z0, z1, z2))
        elif kind == PRISMATIC:
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = turn
            c0 += (r00 * z0 + r01 * z1 + r02 * z2) * x[h]
            c1 += (r10 * z0 + r11 * z1 + r12 * z2) * x[h]
            c2 += (r20 * z0 + r21 * z1 + r22 * z2) * x[h]
        # relative motion of the mount: angular velocity s and its rate sd, velocity d
        s0, s1, s2, sd0, sd1, sd2, d0, d1, d2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        k = tree.modes[p] if p >= 0 else 0
        if k > 0:
            e = tree.first_mode[p]
            f0, f1, f2, g0, g1, g2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0  # phi and its rate
            for m in range(k):
                eta, rate = x[e + m], v[e + m]
                f0, f1, f2 = f0 + Pr[i, 0, m] * eta, f1 + Pr[i, 1, m] * eta, f2 + Pr[i, 2, m] * eta
                g0, g1, g2 = g0 + Pr[i, 0, m] * rate, g1 + Pr[i, 1, m] * rate, g2 + Pr[i, 2, m] * rate
                n0, n1, n2 = n0 + Pt[i, 0, m] * eta, n1 + Pt[i, 1, m] * eta, n2 + Pt[i, 2, m] * eta
                d0, d1, d2 = d0 + Pt[i, 0, m] * rate, d1 + Pt[i, 1, m] * rate, d2 + Pt[i, 2, m] * rate
            t2 = f0 * f0 + f1 * f1 + f2 * f2
            a, b, c, db, dc = coefficients(t2)
            E = rotation_of(1.0 - b * t2, a, b, f0, f1, f2)
            j00, j01, j02, j10, j11, j12, j20, j21, j22 = rotation_of(1.0 - c * t2, b, c, f0, f1, f2)
            turn = product(E, turn)
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = E
            c0, c1, c2 = r00 * c0 + r01 * c1 + r02 * c2, r10 * c0 + r11 * c1 + r12 * c2, r20 * c0 + r21 * c1 + r22 * c2
            s0 = j00 * g0 + j01 * g1 + j02 * g2
            s1 = j10 * g0 + j11 * g1 + j12 * g2
            s2 = j20 * g0 + j21 * g1 + j22 * g2
            d0, d1, d2 = d0 + s1 * c2 - s2 * c1, d1 + s2 * c0 - s0 * c2, d2 + s0 * c1 - s1 * c0
            along = f0 * g0 + f1 * g1 + f2 * g2
            q0, q1, q2 = f1 * g2 - f2 * g1, f2 * g0 - f0 * g2, f0 * g1 - f1 * g0  # phi x rate
            u0, u1, u2 = c * g0 + dc * along * f0, c * g1 + dc * along * f1, c * g2 + dc * along * f2
            sd0 = db * along * q0 + u1 * q2 - u2 * q1
            sd1 = db * along * q1 + u2 * q0 - u0 * q2
            sd2 = db * along * q2 + u0 * q1 - u1 * q0
            for m in range(k):
                f0, f1, f2 = Pr[i, 0, m], Pr[i, 1, m], Pr[i, 2, m]
                b0 = j00 * f0 + j01 * f1 + j02 * f2
                b1 = j10 * f0 + j11 * f1 + j12 * f2
                b2 = j20 * f0 + j21 * f1 + j22 * f2
                Br[i, 0, m], Br[i, 1, m], Br[i, 2, m] = b0, b1, b2
                Bt[i, 0, m] = Pt[i, 0, m] - c1 * b2 + c2 * b1
                Bt[i, 1, m] = Pt[i, 1, m] - c2 * b0 + c0 * b2
                Bt[i, 2, m] = Pt[i, 2, m] - c0 * b1 + c1 * b0
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = turn
        R[i, 0, 0], R[i, 0, 1], R[i, 0, 2] = r00, r01, r02
        R[i, 1, 0], R[i, 1, 1], R[i, 1, 2] = r10, r11, r12
        R[i, 2, 0], R[i, 2, 1], R[i, 2, 2] = r20, r21, r22
        n0, n1, n2 = n0 + c0, n1 + c1, n2 + c2
        rho[i, 0], rho[i, 1], rho[i, 2] = n0, n1, n2
        l0, l1, l2, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0  # the parent's motion
        if p >= 0:
            l0, l1, l2 = velocity[p, 0], velocity[p, 1], velocity[p, 2]
            w0, w1, w2 = velocity[p, 3], velocity[p, 4], velocity[p, 5]
        u0, u1, u2 = w1 * n2 - w2 * n1 + d0, w2 * n0 - w0 * n2 + d1, w0 * n1 - w1 * n0 + d2  # w x rho + d
        l0, l1, l2 = l0 + u0, l1 + u1, l2 + u2
        # w x (w x rho + 2 d) + sd x c + s x (s x c), and w x s + sd
        u0, u1, u2 = u0 + d0, u1 + d1, u2 + d2
        q0, q1, q2 = s1 * c2 - s2 * c1, s2 * c0 - s0 * c2, s0 * c1 - s1 * c0
        a0 = w1 * u2 - w2 * u1 + sd1 * c2 - sd2 * c1 + s1 * q2 - s2 * q1
        a1 = w2 * u0 - w0 * u2 + sd2 * c0 - sd0 * c2 + s2 * q0 - s0 * q2
        a2 = w0 * u1 - w1 * u0 + sd0 * c1 - sd1 * c0 + s0 * q1 - s1 * q0
        sd0, sd1, sd2 = sd0 + w1 * s2 - w2 * s1, sd1 + w2 * s0 - w0 * s2, sd2 + w0 * s1 - w1 * s0
        w0, w1, w2 = w0 + s0, w1 + s1, w2 + s2
        # into the body's axes
        l0, l1, l2 = r00 * l0 + r10 * l1 + r20 * l2, r01 * l0 + r11 * l1 + r21 * l2, r02 * l0 + r12 * l1 + r22 * l2
        w0, w1, w2 = r00 * w0 + r10 * w1 + r20 * w2, r01 * w0 + r11 * w1 + r21 * w2, r02 * w0 + r12 * w1 + r22 * w2
        a0, a1, a2 = r00 * a0 + r10 * a1 + r20 * a2, r01 * a0 + r11 * a1 + r21 * a2, r02 * a0 + r12 * a1 + r22 * a2
        b0 = r00 * sd0 + r10 * sd1 + r20 * sd2
        b1 = r01 * sd0 + r11 * sd1 + r21 * sd2
        b2 = r02 * sd0 + r12 * sd1 + r22 * sd2
        S[i, 0], S[i, 1], S[i, 2], S[i, 3], S[i, 4], S[i, 5] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if kind == REVOLUTE:
            S[i, 3], S[i, 4], S[i, 5] = z0, z1, z2
            u0, u1, u2 = v[h] * z0, v[h] * z1, v[h] * z2
            b0, b1, b2 = b0 + w1 * u2 - w2 * u1, b1 + w2 * u0 - w0 * u2, b2 + w0 * u1 - w1 * u0
            w0, w1, w2 = w0 + u0, w1 + u1, w2 + u2
        elif kind == PRISMATIC:
            S[i, 0], S[i, 1], S[i, 2] = z0, z1, z2
            u0, u1, u2 = v[h] * z0, v[h] * z1, v[h] * z2
            a0 += 2.0 * (w1 * u2 - w2 * u1)
            a1 += 2.0 * (w2 * u0 - w0 * u2)
            a2 += 2.0 * (w0 * u1 - w1 * u0)
            l0, l1, l2 = l0 + u0, l1 + u1, l2 + u2
        velocity[i, 0], velocity[i, 1], velocity[i, 2] = l0, l1, l2
        velocity[i, 3], velocity[i, 4], velocity[i, 5] = w0, w1, w2
        bias[i, 0], bias[i, 1], bias[i, 2], bias[i, 3], bias[i, 4], bias[i, 5] = a0, a1, a2, b0, b1, b2


@kernel
def load_bodies(tree: BodyTree, ws: Workspace, x: Array, v: Array) -> None:
    """Compute modal mass matrix and bias forces of all bodies from the constant node sums: ``P, F, Ff, p, pf``.

    With a step ``t`` the modes are integrated implicitly by the trapezoidal rule, which is stable for any stiffness:
    ``Mff + t/2 C + t^2/4 K`` replaces ``Mff``, and ``K (eta + t/2 etad)`` replaces ``K eta``.
    """
    hinges, half = len(tree.stiffness), 0.5 * ws.step[0]
    J0, S1, H0, R1, N0, N1, Q = tree.J0, tree.S1, tree.H0, tree.R1, tree.N0, tree.N1, tree.Q
    Mff, K, C, P, p, F, Ff, wrench = tree.Mff, tree.K, tree.C, ws.P, ws.p, ws.F, ws.Ff, ws.wrench
    for i in range(len(tree.parent)):
        k, e = tree.modes[i], tree.first_mode[i]
        w0, w1, w2 = ws.velocity[i, 3], ws.velocity[i, 4], ws.velocity[i, 5]
        # J: inertia; s, d: first moment and its rate; h: angular momentum of the modes; g: half their gyroscopic torque
        j00, j01, j02, j11, j12, j22 = J0[i, 0, 0], J0[i, 0, 1], J0[i, 0, 2], J0[i, 1, 1], J0[i, 1, 2], J0[i, 2, 2]
        s0, s1, s2, d0, d1, d2 = tree.s0[i, 0], tree.s0[i, 1], tree.s0[i, 2], 0.0, 0.0, 0.0
        h0, h1, h2, g0, g1, g2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for m in range(k):
            eta, rate = x[e + m], v[e + m]
            a0, a1, a2 = S1[i, 0, m], S1[i, 1, m], S1[i, 2, m]
            F[i, 0, m], F[i, 1, m], F[i, 2, m] = a0, a1, a2
            s0, s1, s2 = s0 + a0 * eta, s1 + a1 * eta, s2 + a2 * eta
            d0, d1, d2 = d0 + a0 * rate, d1 + a1 * rate, d2 + a2 * rate
            h0, h1, h2 = h0 + R1[i, 0, m] * rate, h1 + R1[i, 1, m] * rate, h2 + R1[i, 2, m] * rate
            # N = N0 + N1 eta, by rows; q = Q eta, c = Q etad
            n00, n01, n02 = N0[i, m, 0, 0], N0[i, m, 0, 1], N0[i, m, 0, 2]
            n10, n11, n12 = N0[i, m, 1, 0], N0[i, m, 1, 1], N0[i, m, 1, 2]
            n20, n21, n22 = N0[i, m, 2, 0], N0[i, m, 2, 1], N0[i, m, 2, 2]
            b00, b01, b02, b11, b12, b22 = n00, n01 + n10, n02 + n20, n11, n12 + n21, n22
            q0, q1, q2, c0, c1, c2 = H0[i, 0, m], H0[i, 1, m], H0[i, 2, m], 0.0, 0.0, 0.0
            load = -ws.force[e - hinges + m]
            for n in range(k):
                y, yd = x[e + n], v[e + n]
                n00, n01, n02 = n00 + N1[i, m, n, 0, 0] * y, n01 + N1[i, m, n, 0, 1] * y, n02 + N1[i, m, n, 0, 2] * y
                n10, n11, n12 = n10 + N1[i, m, n, 1, 0] * y, n11 + N1[i, m, n, 1, 1] * y, n12 + N1[i, m, n, 1, 2] * y
                n20, n21, n22 = n20 + N1[i, m, n, 2, 0] * y, n21 + N1[i, m, n, 2, 1] * y, n22 + N1[i, m, n, 2, 2] * y
                a0, a1, a2 = Q[i, m, n, 0], Q[i, m, n, 1], Q[i, m, n, 2]
                q0, q1, q2, c0, c1, c2 = q0 + a0 * y, q1 + a1 * y, q2 + a2 * y, c0 + a0 * yd, c1 + a1 * yd, c2 + a2 * yd
                stiffness, damping = K[i, m, n], C[i, m, n]
                Ff[i, m, n] = Mff[i, m, n] + half * (damping + half * stiffness)
                load += stiffness * (y + half * yd) + damping * yd
            F[i, 3, m], F[i, 4, m], F[i, 5, m] = q0, q1, q2
            a0, a1, a2 = n00 * w0 + n01 * w1 + n02 * w2, n10 * w0 + n11 * w1 + n12 * w2, n20 * w0 + n21 * w1 + n22 * w2
            g0, g1, g2 = g0 + rate * a0, g1 + rate * a1, g2 + rate * a2
            ws.pf[i, m] = load + 2.0 * (w0 * c0 + w1 * c1 + w2 * c2) - (w0 * a0 + w1 * a1 + w2 * a2)
            # J += (N + N0^T) eta, of which the sum over the modes is symmetric: half of it and its transpose
            j00, j11, j22 = j00 + (n00 + b00) * eta, j11 + (n11 + b11) * eta, j22 + (n22 + b22) * eta
            j01 += 0.5 * (n01 + n10 + b01) * eta
            j02 += 0.5 * (n02 + n20 + b02) * eta
            j12 += 0.5 * (n12 + n21 + b12) * eta
        h0 += j00 * w0 + j01 * w1 + j02 * w2
        h1 += j01 * w0 + j11 * w1 + j12 * w2
        h2 += j02 * w0 + j12 * w1 + j22 * w2
        # centrifugal and Coriolis force: w x (w x s) + 2 w x S1 etad; gyroscopic: w x (J w + R1 etad) + 2 N w etad
        d0, d1, d2 = 2.0 * d0 + w1 * s2 - w2 * s1, 2.0 * d1 + w2 * s0 - w0 * s2, 2.0 * d2 + w0 * s1 - w1 * s0
        p[i, 0] = w1 * d2 - w2 * d1 - wrench[i, 0]
        p[i, 1] = w2 * d0 - w0 * d2 - wrench[i, 1]
        p[i, 2] = w0 * d1 - w1 * d0 - wrench[i, 2]
        p[i, 3] = w1 * h2 - w2 * h1 + 2.0 * g0 - wrench[i, 3]
        p[i, 4] = w2 * h0 - w0 * h2 + 2.0 * g1 - wrench[i, 4]
        p[i, 5] = w0 * h1 - w1 * h0 + 2.0 * g2 - wrench[i, 5]
        mass = tree.mass[i]
        P[i, 0, 0], P[i, 0, 1], P[i, 0, 2], P[i, 0, 3], P[i, 0, 4], P[i, 0, 5] = mass, 0.0, 0.0, 0.0, s2, -s1
        P[i, 1, 0], P[i, 1, 1], P[i, 1, 2], P[i, 1, 3], P[i, 1, 4], P[i, 1, 5] = 0.0, mass, 0.0, -s2, 0.0, s0
        P[i, 2, 0], P[i, 2, 1], P[i, 2, 2], P[i, 2, 3], P[i, 2, 4], P[i, 2, 5] = 0.0, 0.0, mass, s1, -s0, 0.0
        P[i, 3, 0], P[i, 3, 1], P[i, 3, 2], P[i, 3, 3], P[i, 3, 4], P[i, 3, 5] = 0.0, -s2, s1, j00, j01, j02
        P[i, 4, 0], P[i, 4, 1], P[i, 4, 2], P[i, 4, 3], P[i, 4, 4], P[i, 4, 5] = s2, 0.0, -s0, j01, j11, j12
        P[i, 5, 0], P[i, 5, 1], P[i, 5, 2], P[i, 5, 3], P[i, 5, 4], P[i, 5, 5] = -s1, s0, 0.0, j02, j12, j22


@inlined_kernel
def place_bodies(tree: BodyTree, ws: Workspace, x: Array, v: Array) -> None:
    """Do both sweeps at a state, which the workspace keeps."""
    for i in range(len(x)):
        ws.x[i], ws.v[i] = x[i], v[i]
    move_bodies(tree, ws, x, v)
    load_bodies(tree, ws, x, v)
