r"""First sweep, base to tip (compiled): deformed mounts, velocities, bias accelerations and bias forces of every body.

A mount at node ``d`` of a parent with modal coordinates ``eta`` rotates by ``E = exp(phi^)``, ``phi = Pi^r_d eta``, and
is at ``rho = r_d + Pi^t_d eta + c``, ``c = E (offset + hinge displacement)``. With the left Jacobian ``J_l`` of SO(3)::

    sigma  = J_l phid,  phid = Pi^r_d etad            angular velocity of the mount relative to the parent's frame
    rhod   = Pi^t_d etad + sigma x c
    B_d    = [Pi^t_d - c^ J_l Pi^r_d;  J_l Pi^r_d]    outboard map of the modes
    bias   = [w x (w x rho) + 2 w x rhod + sigmad x c + sigma x (sigma x c);  w x sigma + sigmad]
    sigmad = dJ_l/dt phid

Energy is conserved only with ``J_l`` and its rate, not with ``Pi^r`` alone. Accelerations of points are classical.
"""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.tree import PRISMATIC, REVOLUTE, BodyTree, Workspace
from flexarm_core.types import Array

SMALL = 1e-4  # [rad] below this angle the coefficients of the exponential map are computed from their series


@kernel
def cross_add(out: Array, scale: float, a: Array, b: Array) -> None:
    """Compute ``out += scale (a x b)``."""
    out[0] += scale * (a[1] * b[2] - a[2] * b[1])
    out[1] += scale * (a[2] * b[0] - a[0] * b[2])
    out[2] += scale * (a[0] * b[1] - a[1] * b[0])


@kernel
def exponential(phi: Array, E: Array, Jl: Array) -> tuple[float, float, float]:
    """Write ``E = exp(phi^)`` and left Jacobian ``Jl = 1 + b phi^ + c phi^^2``; return ``c, b'/theta, c'/theta``."""
    t2 = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    t = math.sqrt(t2)
    if t < SMALL:
        a, b, c = 1.0 - t2 / 6.0, 0.5 - t2 / 24.0, 1.0 / 6.0 - t2 / 120.0
        db, dc = -1.0 / 12.0 + t2 / 180.0, -1.0 / 60.0 + t2 / 1260.0
    else:
        a, b = math.sin(t) / t, 2.0 * (math.sin(0.5 * t) / t) ** 2
        c = (t - math.sin(t)) / (t2 * t) if t > 0.05 else (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0)) / 6.0
        db = (a - 2.0 * b) / t2 if t > 0.05 else -1.0 / 12.0 + t2 / 180.0
        dc = (b - 3.0 * c) / t2 if t > 0.05 else -1.0 / 60.0 + t2 / 1260.0
    for i in range(3):
        for j in range(3):
            square = phi[i] * phi[j] - (t2 if i == j else 0.0)
            E[i, j] = b * square + (1.0 if i == j else 0.0)
            Jl[i, j] = c * square + (1.0 if i == j else 0.0)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        E[j, i] += a * phi[k]
        E[i, j] -= a * phi[k]
        Jl[j, i] += b * phi[k]
        Jl[i, j] -= b * phi[k]
    return c, db, dc


@kernel
def hinge_rotation(axis: Array, angle: float, R: Array) -> None:
    """Write ``R = exp(axis^ angle)`` for an axis of unit length."""
    s, c = math.sin(angle), math.cos(angle)
    for i in range(3):
        for j in range(3):
            R[i, j] = (1.0 - c) * axis[i] * axis[j] + (c if i == j else 0.0)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        R[j, i] += s * axis[k]
        R[i, j] -= s * axis[k]


@kernel
def move_bodies(tree: BodyTree, ws: Workspace, x: Array, v: Array) -> None:
    """Compute mounts, velocities and bias accelerations of all bodies at coordinates ``x`` and rates ``v`` (h + K,)."""
    work = ws.scratch
    E, Jl, turn, hinged = work[0], work[1], work[2], work[3]
    phi, rate, sigma, sigmad = work[4, 0], work[4, 1], work[4, 2], work[5, 0]
    c, rhod, w, lin, ang = work[5, 1], work[5, 2], work[6, 0], work[6, 1], work[6, 2]
    arm, part = work[7, 0], work[7, 1]
    for i in range(len(tree.parent)):
        p, h, kind = tree.parent[i], tree.hinge[i], tree.kind[i]
        axis, rho, R, bias, vel = tree.axis[i], ws.rho[i], ws.R[i], ws.bias[i], ws.velocity[i]
        angle = x[h] if kind == REVOLUTE else 0.0
        for a in range(3):
            sigma[a] = 0.0
            sigmad[a] = 0.0
            rhod[a] = 0.0
            arm[a] = tree.offset[i, a]
            rho[a] = tree.node[i, a]
        if kind == PRISMATIC:
            for a in range(3):
                for b in range(3):
                    arm[a] += tree.turn[i, a, b] * axis[b] * x[h]
        if kind == REVOLUTE:
            hinge_rotation(axis, angle, hinged)
            for a in range(3):
                for b in range(3):
                    turn[a, b] = (
                        tree.turn[i, a, 0] * hinged[0, b]
                        + tree.turn[i, a, 1] * hinged[1, b]
                        + tree.turn[i, a, 2] * hinged[2, b]
                    )
        else:
            turn[:, :] = tree.turn[i]
        k = tree.modes[p] if p >= 0 else 0
        if k > 0:
            e = tree.first_mode[p]
            for a in range(3):
                phi[a] = 0.0
                rate[a] = 0.0
                for m in range(k):
                    phi[a] += tree.rotation[i, a, m] * x[e + m]
                    rate[a] += tree.rotation[i, a, m] * v[e + m]
                    rho[a] += tree.translation[i, a, m] * x[e + m]
                    rhod[a] += tree.translation[i, a, m] * v[e + m]
            third, db, dc = exponential(phi, E, Jl)
            along = phi[0] * rate[0] + phi[1] * rate[1] + phi[2] * rate[2]
            part[0] = phi[1] * rate[2] - phi[2] * rate[1]
            part[1] = phi[2] * rate[0] - phi[0] * rate[2]
            part[2] = phi[0] * rate[1] - phi[1] * rate[0]
            for a in range(3):
                sigma[a] = Jl[a, 0] * rate[0] + Jl[a, 1] * rate[1] + Jl[a, 2] * rate[2]
                sigmad[a] = db * along * part[a]
                c[a] = E[a, 0] * arm[0] + E[a, 1] * arm[1] + E[a, 2] * arm[2]
            cross_add(sigmad, dc * along, phi, part)
            cross_add(sigmad, third, rate, part)
            for a in range(3):
                for b in range(3):
                    R[a, b] = E[a, 0] * turn[0, b] + E[a, 1] * turn[1, b] + E[a, 2] * turn[2, b]
            cross_add(rhod, 1.0, sigma, c)
            Bt, Br = ws.Bt[i], ws.Br[i]
            for m in range(k):
                for a in range(3):
                    Br[a, m] = (
                        Jl[a, 0] * tree.rotation[i, 0, m]
                        + Jl[a, 1] * tree.rotation[i, 1, m]
                        + Jl[a, 2] * tree.rotation[i, 2, m]
                    )
                Bt[0, m] = tree.translation[i, 0, m] - c[1] * Br[2, m] + c[2] * Br[1, m]
                Bt[1, m] = tree.translation[i, 1, m] - c[2] * Br[0, m] + c[0] * Br[2, m]
                Bt[2, m] = tree.translation[i, 2, m] - c[0] * Br[1, m] + c[1] * Br[0, m]
        else:
            R[:, :] = turn
            for a in range(3):
                c[a] = arm[a]
        for a in range(3):
            rho[a] += c[a]
            w[a] = ws.velocity[p, 3 + a] if p >= 0 else 0.0
            lin[a] = rhod[a] + (ws.velocity[p, a] if p >= 0 else 0.0)
            ang[a] = w[a] + sigma[a]
        cross_add(lin, 1.0, w, rho)
        for a in range(3):  # rotate into the body's axes
            vel[a] = R[0, a] * lin[0] + R[1, a] * lin[1] + R[2, a] * lin[2]
            vel[3 + a] = R[0, a] * ang[0] + R[1, a] * ang[1] + R[2, a] * ang[2]
        for a in range(3):
            lin[a] = 0.0
            ang[a] = sigmad[a]
        part[0] = w[1] * rho[2] - w[2] * rho[1]
        part[1] = w[2] * rho[0] - w[0] * rho[2]
        part[2] = w[0] * rho[1] - w[1] * rho[0]
        cross_add(lin, 1.0, w, part)
        cross_add(lin, 2.0, w, rhod)
        cross_add(lin, 1.0, sigmad, c)
        part[0] = sigma[1] * c[2] - sigma[2] * c[1]
        part[1] = sigma[2] * c[0] - sigma[0] * c[2]
        part[2] = sigma[0] * c[1] - sigma[1] * c[0]
        cross_add(lin, 1.0, sigma, part)
        cross_add(ang, 1.0, w, sigma)
        for a in range(3):
            bias[a] = R[0, a] * lin[0] + R[1, a] * lin[1] + R[2, a] * lin[2]
            bias[3 + a] = R[0, a] * ang[0] + R[1, a] * ang[1] + R[2, a] * ang[2]
            ws.S[i, a] = axis[a] if kind == PRISMATIC else 0.0
            ws.S[i, 3 + a] = axis[a] if kind == REVOLUTE else 0.0
        if kind == REVOLUTE:
            cross_add(bias[3:], v[h], vel[3:], axis)
            for a in range(3):
                vel[3 + a] += axis[a] * v[h]
        elif kind == PRISMATIC:
            cross_add(bias[:3], 2.0 * v[h], vel[3:], axis)
            for a in range(3):
                vel[a] += axis[a] * v[h]


@kernel
def load_bodies(tree: BodyTree, ws: Workspace, x: Array, v: Array) -> None:
    """Compute modal mass matrix and bias forces of all bodies from the constant node sums: ``P, F, Ff, p, pf``.

    With a step ``t`` the modes are integrated implicitly by the trapezoidal rule, which is stable for any stiffness:
    ``Mff + t/2 C + t^2/4 K`` replaces ``Mff``, and ``K (eta + t/2 etad)`` replaces ``K eta``.
    """
    hinges, half = len(tree.stiffness), 0.5 * ws.step[0]
    for i in range(len(tree.parent)):
        k, e = tree.modes[i], tree.first_mode[i]
        P, p, w = ws.P[i], ws.p[i], ws.velocity[i, 3:]
        s0, s1, s2 = tree.s0[i, 0], tree.s0[i, 1], tree.s0[i, 2]
        for a in range(3):
            for b in range(3):
                P[3 + a, 3 + b] = tree.J0[i, a, b]
                P[a, b] = 0.0
            P[a, a] = tree.mass[i]
            p[a] = -ws.wrench[i, a]
            p[3 + a] = -ws.wrench[i, 3 + a]
        for m in range(k):
            eta = x[e + m]
            s0 += tree.S1[i, 0, m] * eta
            s1 += tree.S1[i, 1, m] * eta
            s2 += tree.S1[i, 2, m] * eta
            centrifugal = 0.0
            for a in range(3):
                ws.F[i, a, m] = tree.S1[i, a, m]
                ws.F[i, 3 + a, m] = tree.H0[i, a, m]
                for b in range(3):
                    N = tree.N0[i, m, a, b]
                    for n in range(k):
                        N += tree.N1[i, m, n, a, b] * x[e + n]
                    J = N + tree.N0[i, m, b, a]
                    P[3 + a, 3 + b] += J * eta
                    p[3 + a] += 2.0 * v[e + m] * N * w[b]
                    centrifugal += w[a] * N * w[b]
            load = -ws.force[e - hinges + m] - centrifugal
            for n in range(k):
                ws.Ff[i, m, n] = tree.Mff[i, m, n] + half * (tree.C[i, m, n] + half * tree.K[i, m, n])
                load += tree.K[i, m, n] * (x[e + n] + half * v[e + n]) + tree.C[i, m, n] * v[e + n]
                for a in range(3):
                    ws.F[i, 3 + a, m] += tree.Q[i, m, n, a] * x[e + n]
                    load += 2.0 * w[a] * tree.Q[i, m, n, a] * v[e + n]
            ws.pf[i, m] = load
        P[0, 4], P[0, 5], P[1, 3], P[1, 5], P[2, 3], P[2, 4] = s2, -s1, -s2, s0, s1, -s0
        P[0, 3], P[1, 4], P[2, 5] = 0.0, 0.0, 0.0
        for a in range(3):
            for b in range(3):
                P[3 + b, a] = P[a, 3 + b]
        # gyroscopic: w x (J w + R1 etad); centrifugal and Coriolis force: w x (w x s) + 2 w x S1 etad
        d0, d1, d2, h0, h1, h2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for m in range(k):
            d0 += tree.S1[i, 0, m] * v[e + m]
            d1 += tree.S1[i, 1, m] * v[e + m]
            d2 += tree.S1[i, 2, m] * v[e + m]
            h0 += tree.R1[i, 0, m] * v[e + m]
            h1 += tree.R1[i, 1, m] * v[e + m]
            h2 += tree.R1[i, 2, m] * v[e + m]
        h0 += P[3, 3] * w[0] + P[3, 4] * w[1] + P[3, 5] * w[2]
        h1 += P[4, 3] * w[0] + P[4, 4] * w[1] + P[4, 5] * w[2]
        h2 += P[5, 3] * w[0] + P[5, 4] * w[1] + P[5, 5] * w[2]
        d0 = 2.0 * d0 + w[1] * s2 - w[2] * s1
        d1 = 2.0 * d1 + w[2] * s0 - w[0] * s2
        d2 = 2.0 * d2 + w[0] * s1 - w[1] * s0
        p[0] += w[1] * d2 - w[2] * d1
        p[1] += w[2] * d0 - w[0] * d2
        p[2] += w[0] * d1 - w[1] * d0
        p[3] += w[1] * h2 - w[2] * h1
        p[4] += w[2] * h0 - w[0] * h2
        p[5] += w[0] * h1 - w[1] * h0
