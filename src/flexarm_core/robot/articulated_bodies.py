r"""Articulated-body algorithm for a tree of rigid bodies (compiled; Featherstone 2008, section 7.3).

All spatial vectors ``[w; v]`` are taken at the origin of the root link, in its axes: so velocities, forces and inertias
of different bodies are added without transforming them. For body ``k`` with the motion subspace ``S`` of its joint::

    V = V_parent + S qd                c = V x S qd                p = V x* (I V)
    U = I^A S    D = S . U + armature    u = tau - S . p^A
    I^A_parent += I^A - U U^T / D        p^A_parent += p^A + (I^A - U U^T / D) c + U u / D
    a' = a_parent + c                    qdd = (u - U . a') / D      a = a' + S qdd

Gravity is an acceleration ``-g`` of the root link. Inertias and velocities are swept once for any number of efforts.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from flexarm_core.compiled import inlined_kernel, kernel, pack, view, views
from flexarm_core.types import Array

# First columns of the quantities of a body.
PARENT, PRISMATIC, PLACE, ROTATION, TRANSLATION, AXIS, MASS, CENTER, INERTIA, ARMATURE, COLUMNS = (
    0, 1, 2, 3, 12, 15, 18, 19, 22, 31, 32,
)  # fmt: skip
ROOT = -1


class Constants(NamedTuple):
    """Arm; made once."""

    n: int  # number of actuated joints
    m: int  # number of elastic joints
    gravity: Annotated[Array, 3]  # in the root link frame [m/s^2]
    # one row for each body, and thus for each joint, parents before children: index of the parent, whether its joint is
    # prismatic, index of its coordinate among actuated and elastic joints, rotation (9) and translation (3) of the
    # joint frame in the parent body, joint axis (3), mass, center of mass (3), inertia about it (9), armature of the
    # joint
    bodies: Annotated[Array, "n + m", COLUMNS]
    damping: Annotated[Array, "n"]  # viscous damping of the actuated joints
    K_b: Annotated[Array, "m", "m"]  # stiffness of the elastic joints
    D_b: Annotated[Array, "m", "m"]  # damping of the elastic joints


view_constants = views(Constants)


class Sweep(NamedTuple):
    """Results of the sweeps, a row for each body."""

    R: Annotated[Array, "bodies", 9]
    p: Annotated[Array, "bodies", 3]
    S: Annotated[Array, "bodies", 6]
    V: Annotated[Array, "bodies", 6]
    c: Annotated[Array, "bodies", 6]
    inertia: Annotated[Array, "bodies", 6, 6]  # articulated inertia
    bias: Annotated[Array, "bodies", 6]  # velocity terms of the force
    U: Annotated[Array, "bodies", 6]
    D: Annotated[Array, "bodies"]
    carried: Annotated[Array, "bodies", 6]  # (I^A - U U^T / D) c
    force: Annotated[Array, "bodies", 6]  # p^A with an effort
    u: Annotated[Array, "bodies"]
    a: Annotated[Array, "bodies", 6]


view_sweep = views(Sweep, "bodies")


def pack_constants(model: Any, ids: list[int], axes: list[Array], damping: Array, K_b: Array, D_b: Array) -> Array:
    """Return :class:`Constants` as one array.

    Args:
        model: Pinocchio model, one joint for each coordinate.
        ids: Pinocchio's index of each actuated, then each elastic joint.
        axes: axis (3,) of each of them.
        damping: (n,) viscous damping of the actuated joints.
        K_b: (m, m) stiffness of the elastic joints.
        D_b: (m, m) damping of the elastic joints.
    """
    order, rows = sorted(ids), []  # Pinocchio numbers parents before children
    armature = getattr(model, "armature", np.zeros(model.nv))
    for joint in order:
        parent, placed, inertia = model.parents[joint], model.jointPlacements[joint], model.inertias[joint]
        prismatic = model.joints[joint].shortname().startswith("JointModelP")
        place = ids.index(joint)
        head = (order.index(parent) if parent else ROOT, prismatic, place)
        parts = (
            head, placed.rotation, placed.translation, axes[place], inertia.mass, inertia.lever, inertia.inertia,
            armature[model.joints[joint].idx_v],
        )  # fmt: skip
        rows.append(np.concatenate([np.ravel(part) for part in parts]))
    return pack(Constants(len(damping), len(K_b), model.gravity.linear, np.array(rows), damping, K_b, D_b))


@kernel
def accelerate(constants: Array, memory: Array, inputs: Array, accelerations: Array) -> None:
    """Write the accelerations of the actuated joints, a row for each row of efforts.

    Args:
        constants: see :class:`Constants`.
        memory: see :class:`Sweep`.
        inputs: (2 (n + m) + k n,) positions of actuated and elastic joints, their velocities, and k times the efforts
            of the actuated joints [rad | m, rad/s | m/s, N*m | N].
        accelerations: (k, n) output [rad/s^2 | m/s^2].
    """
    c = view_constants(constants)
    count = c.n + c.m
    s = view_sweep(memory, count)
    q, v, rows = view(inputs, 0, (count,)), view(inputs, count, (count,)), len(accelerations)
    efforts = view(inputs, 2 * count, (rows, c.n))
    for k in range(count):
        _move(c, s, q, v, k)
    for k in range(count - 1, -1, -1):
        _articulate(c, s, k)
    for row in range(rows):
        for k in range(count):
            for i in range(6):
                s.force[k, i] = s.bias[k, i]
        for k in range(count - 1, -1, -1):
            place = int(c.bodies[k, PLACE])
            if place < c.n:
                u = efforts[row, place] - c.damping[place] * v[place]
            else:
                u = 0.0
                for j in range(len(c.K_b)):
                    u -= c.K_b[place - c.n, j] * q[c.n + j] + c.D_b[place - c.n, j] * v[c.n + j]
            for i in range(6):
                u -= s.S[k, i] * s.force[k, i]
            s.u[k] = u
            up = int(c.bodies[k, PARENT])
            if up >= 0:
                for i in range(6):
                    s.force[up, i] += s.force[k, i] + s.carried[k, i] + s.U[k, i] * (u / s.D[k])
        for k in range(count):
            up, place = int(c.bodies[k, PARENT]), int(c.bodies[k, PLACE])
            qdd = s.u[k]
            for i in range(6):
                root = -c.gravity[i - 3] if i >= 3 else 0.0
                s.a[k, i] = (s.a[up, i] if up >= 0 else root) + s.c[k, i]
                qdd -= s.U[k, i] * s.a[k, i]
            qdd /= s.D[k]
            for i in range(6):
                s.a[k, i] += s.S[k, i] * qdd
            if place < c.n:
                accelerations[row, place] = qdd


@inlined_kernel
def _move(c: Constants, s: Sweep, q: Array, v: Array, k: int) -> None:
    """Write pose, velocity, velocity terms and inertia of a body."""
    b, up, place = c.bodies[k], int(c.bodies[k, PARENT]), int(c.bodies[k, PLACE])
    R, p, S, V = s.R[k], s.p[k], s.S[k], s.V[k]
    slides = b[PRISMATIC] > 0.0
    co, si = (1.0, 0.0) if slides else (math.cos(q[place]), math.sin(q[place]))
    ve = 1.0 - co
    ux, uy, uz = b[AXIS], b[AXIS + 1], b[AXIS + 2]
    for row in range(3):
        if up >= 0:
            d, e, f = s.R[up, 3 * row], s.R[up, 3 * row + 1], s.R[up, 3 * row + 2]
            at = s.p[up, row]
        else:
            d, e, f = 1.0 if row == 0 else 0.0, 1.0 if row == 1 else 0.0, 1.0 if row == 2 else 0.0
            at = 0.0
        x = d * b[ROTATION] + e * b[ROTATION + 3] + f * b[ROTATION + 6]
        y = d * b[ROTATION + 1] + e * b[ROTATION + 4] + f * b[ROTATION + 7]
        z = d * b[ROTATION + 2] + e * b[ROTATION + 5] + f * b[ROTATION + 8]
        along = x * ux + y * uy + z * uz
        S[row] = along
        p[row] = at + d * b[TRANSLATION] + e * b[TRANSLATION + 1] + f * b[TRANSLATION + 2]
        if slides:
            p[row] += q[place] * along
        # Rodrigues' formula: row of R_parent R_joint times the rotation about the joint axis
        R[3 * row] = co * x + si * (y * uz - z * uy) + ve * along * ux
        R[3 * row + 1] = co * y + si * (z * ux - x * uz) + ve * along * uy
        R[3 * row + 2] = co * z + si * (x * uy - y * ux) + ve * along * uz
    zx, zy, zz = S[0], S[1], S[2]
    if slides:
        S[0], S[1], S[2], S[3], S[4], S[5] = 0.0, 0.0, 0.0, zx, zy, zz
    else:
        S[3], S[4], S[5] = p[1] * zz - p[2] * zy, p[2] * zx - p[0] * zz, p[0] * zy - p[1] * zx
    for i in range(6):
        V[i] = (s.V[up, i] if up >= 0 else 0.0) + S[i] * v[place]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    rate = v[place]
    s.c[k, 0] = (wy * S[2] - wz * S[1]) * rate
    s.c[k, 1] = (wz * S[0] - wx * S[2]) * rate
    s.c[k, 2] = (wx * S[1] - wy * S[0]) * rate
    s.c[k, 3] = (wy * S[5] - wz * S[4] + vy * S[2] - vz * S[1]) * rate
    s.c[k, 4] = (wz * S[3] - wx * S[5] + vz * S[0] - vx * S[2]) * rate
    s.c[k, 5] = (wx * S[4] - wy * S[3] + vx * S[1] - vy * S[0]) * rate
    _load(s, b, k)


@inlined_kernel
def _load(s: Sweep, b: Array, k: int) -> None:
    """Write inertia and velocity terms ``V x* (I V)`` of a body about the origin of the root link."""
    R, A, V, m = s.R[k], s.inertia[k], s.V[k], b[MASS]
    g = (
        s.p[k, 0] + R[0] * b[CENTER] + R[1] * b[CENTER + 1] + R[2] * b[CENTER + 2],
        s.p[k, 1] + R[3] * b[CENTER] + R[4] * b[CENTER + 1] + R[5] * b[CENTER + 2],
        s.p[k, 2] + R[6] * b[CENTER] + R[7] * b[CENTER + 1] + R[8] * b[CENTER + 2],
    )
    square = g[0] * g[0] + g[1] * g[1] + g[2] * g[2]
    for i in range(3):
        x = R[3 * i] * b[INERTIA] + R[3 * i + 1] * b[INERTIA + 3] + R[3 * i + 2] * b[INERTIA + 6]
        y = R[3 * i] * b[INERTIA + 1] + R[3 * i + 1] * b[INERTIA + 4] + R[3 * i + 2] * b[INERTIA + 7]
        z = R[3 * i] * b[INERTIA + 2] + R[3 * i + 1] * b[INERTIA + 5] + R[3 * i + 2] * b[INERTIA + 8]
        for j in range(3):
            A[i, j] = x * R[3 * j] + y * R[3 * j + 1] + z * R[3 * j + 2] - m * g[i] * g[j]
            A[i, 3 + j] = A[3 + i, j] = 0.0
            A[3 + i, 3 + j] = m if i == j else 0.0
        A[i, i] += m * square
    A[0, 4], A[0, 5], A[1, 3], A[1, 5], A[2, 3], A[2, 4] = (
        -m * g[2], m * g[1], m * g[2], -m * g[0], -m * g[1], m * g[0]
    )  # fmt: skip
    A[4, 0], A[5, 0], A[3, 1], A[5, 1], A[3, 2], A[4, 2] = A[0, 4], A[0, 5], A[1, 3], A[1, 5], A[2, 3], A[2, 4]
    wx, wy, wz, vx, vy, vz = V[0], V[1], V[2], V[3], V[4], V[5]
    # momentum: linear m v_G, angular I V
    px = m * (vx + wy * g[2] - wz * g[1])
    py = m * (vy + wz * g[0] - wx * g[2])
    pz = m * (vz + wx * g[1] - wy * g[0])
    hx = A[0, 0] * wx + A[0, 1] * wy + A[0, 2] * wz + A[0, 4] * vy + A[0, 5] * vz
    hy = A[1, 0] * wx + A[1, 1] * wy + A[1, 2] * wz + A[1, 3] * vx + A[1, 5] * vz
    hz = A[2, 0] * wx + A[2, 1] * wy + A[2, 2] * wz + A[2, 3] * vx + A[2, 4] * vy
    s.bias[k, 0] = wy * hz - wz * hy + vy * pz - vz * py
    s.bias[k, 1] = wz * hx - wx * hz + vz * px - vx * pz
    s.bias[k, 2] = wx * hy - wy * hx + vx * py - vy * px
    s.bias[k, 3] = wy * pz - wz * py
    s.bias[k, 4] = wz * px - wx * pz
    s.bias[k, 5] = wx * py - wy * px


@inlined_kernel
def _articulate(c: Constants, s: Sweep, k: int) -> None:
    """Write ``U``, ``D`` and what a body carries, and add its articulated inertia to that of its parent."""
    A, S, U, up = s.inertia[k], s.S[k], s.U[k], int(c.bodies[k, PARENT])
    D = c.bodies[k, ARMATURE]
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += A[i, j] * S[j]
        U[i] = total
        D += S[i] * total
    s.D[k] = D
    if up < 0:
        return
    for i in range(6):
        share, total = U[i] / D, 0.0
        for j in range(6):
            left = A[i, j] - share * U[j]
            total += left * s.c[k, j]
            s.inertia[up, i, j] += left
        s.carried[k, i] = total
