r"""Newton-Euler recursion from a base force/torque sensor to the joints (compiled): US 5,767,648, claims 6, 14.

``(F, M)`` is the wrench that the robot exerts on its base, with moments about the sensor origin ``S`` and all vectors
in the root link frame; ``g`` is gravity. Each body ``j`` above the sensor has mass ``m``, center of mass ``G`` with
absolute acceleration ``a_G``, and inertia ``I`` about ``G``::

    inertial wrench   F_j = m a_G                      M_j = I alpha + w x I w + SG x m a_G
    gravity wrench    F_g = sum_j m g                  M_g = sum_j SG x m g                          (claims 3 and 4)
    dynamic wrench    F_d = F - F_g                    M_d = M - M_g                                 (claim 2)
    revolute joint    tau_i = -z_i . [ M_d + sum_{j inboard of i} M_j ] about O_i             (claim 6)
    prismatic joint   f_i   = -z_i . [ F_d + sum_{j inboard of i} F_j ]                              (claim 14)

Inboard of a joint are all bodies that the sensor carries and the joint does not; in a tree this includes the other
branches. If no body is inboard of the first joint, its torque needs no inertial wrenches. A moving base is included by
absolute accelerations, with the mass of the base above the sensor as the first body above the sensor.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from numpy.typing import NDArray

from flexarm_core.base_wrench.sensed_bodies import (
    ABOVE,
    AXIS,
    CENTER,
    COORDINATE,
    FIRST_MOMENT,
    INERTIA,
    KIND,
    MASS,
    PARENT,
    PRISMATIC,
    RATIO,
    ROTATION,
    SENSED,
    TRANSLATION,
    WEIGHT,
)
from flexarm_core.compiled import kernel, views
from flexarm_core.types import Array

# Columns of a body in the work array: rotation, origin, joint axis, angular velocity, angular and linear acceleration;
# then inertial and gravity wrench.
R, P, Z, W, ALPHA, A = 0, 9, 12, 15, 18, 21
INERTIAL, GRAVITY = 24, 30
STATE = 36
# Rows of the output array.
TORQUE, GRAVITY_TORQUE, MODEL_TORQUE, WRENCHES, ROWS = 0, 1, 2, 3, 4
# First columns of the wrenches in their row, and width of the row.
GRAVITY_WRENCH, RESIDUAL_WRENCH, WIDTH = 0, 6, 12


class Sensing(NamedTuple):
    """What is known of the arm at an instant, and what follows from it."""

    # index of the body that holds the sensor (1); rotation (9) and translation (3) of the sensor frame in this body
    sensor: Annotated[Array, 13]
    motion: Annotated[Array, 3, "size"]  # positions, velocities and accelerations of the N coordinates
    # gravity (3) in the root link frame [m/s^2]; measured wrench (6) of the robot on the base in the sensor frame;
    # whether a gravity wrench is given (1); gravity wrench (6) in the sensor frame [N, N*m]
    given: Annotated[Array, 16]
    work: Annotated[Array, "bodies", STATE]
    # Rows by coordinate: torque on the link without gravity, torque that compensates gravity, and torque without
    # gravity from the model. Last row: gravity wrench (6) and residual wrench (6, measured minus modeled) of the robot
    # on the base in the sensor frame.
    out: Annotated[Array, ROWS, f"max(size, {WIDTH})"]


view_sensing = views(Sensing, "size", "bodies")


@kernel
def newton_euler_at(links: Array, structure: NDArray, memory: Array, size: int) -> None:
    """Do :func:`newton_euler` with :class:`Sensing` of ``size`` coordinates in a flat array."""
    newton_euler(links, structure, view_sensing(memory, size, len(links)))


@kernel
def newton_euler(links: Array, structure: NDArray, sensing: Sensing) -> None:
    """Compute the torques at all joints above a sensor from the wrench that the sensor measures.

    Args:
        links: (B, 33) see ``SensedBodies``.
        structure: (B, 5) see ``SensedBodies``.
        sensing: gets the torques and wrenches ``out``.
    """
    sensor, motion, given, work, out = sensing
    bodies = len(links)
    place(links, structure, motion, work)
    whole = work[int(sensor[0])]  # the wrenches of all bodies above the sensor are summed here
    sx = whole[P] + whole[R] * sensor[10] + whole[R + 1] * sensor[11] + whole[R + 2] * sensor[12]
    sy = whole[P + 1] + whole[R + 3] * sensor[10] + whole[R + 4] * sensor[11] + whole[R + 5] * sensor[12]
    sz = whole[P + 2] + whole[R + 6] * sensor[10] + whole[R + 7] * sensor[11] + whole[R + 8] * sensor[12]
    for k in range(bodies):
        here = work[k]
        for i in range(INERTIAL, STATE):
            here[i] = 0.0
        if structure[k, ABOVE]:
            load(links[k], here, given, sx, sy, sz)
    for k in range(bodies - 1, 0, -1):  # sum the wrenches of all bodies outboard of each joint
        if structure[k, ABOVE]:
            parent = work[structure[k, PARENT]]
            for i in range(INERTIAL, STATE):
                parent[i] += work[k, i]
    weight, rest = out[WRENCHES, GRAVITY_WRENCH : GRAVITY_WRENCH + 6], out[WRENCHES, RESIDUAL_WRENCH:WIDTH]
    # transform from the sensor frame to the root link frame, column by column of R_body R_sensor
    f0 = f1 = f2 = n0 = n1 = n2 = 0.0
    for c in range(3):
        x = whole[R] * sensor[1 + c] + whole[R + 1] * sensor[4 + c] + whole[R + 2] * sensor[7 + c]
        y = whole[R + 3] * sensor[1 + c] + whole[R + 4] * sensor[4 + c] + whole[R + 5] * sensor[7 + c]
        z = whole[R + 6] * sensor[1 + c] + whole[R + 7] * sensor[4 + c] + whole[R + 8] * sensor[7 + c]
        f0, f1, f2 = f0 + x * given[3 + c], f1 + y * given[3 + c], f2 + z * given[3 + c]
        n0, n1, n2 = n0 + x * given[6 + c], n1 + y * given[6 + c], n2 + z * given[6 + c]
        g, m = GRAVITY, GRAVITY + 3
        weight[c] = x * whole[g] + y * whole[g + 1] + z * whole[g + 2]
        weight[3 + c] = x * whole[m] + y * whole[m + 1] + z * whole[m + 2]
        g, m = INERTIAL, INERTIAL + 3
        rest[c] = x * whole[g] + y * whole[g + 1] + z * whole[g + 2]
        rest[3 + c] = x * whole[m] + y * whole[m + 1] + z * whole[m + 2]
    if given[9] > 0.0:  # use the given gravity wrench
        for c in range(6):
            weight[c] = given[10 + c]
    for c in range(3):
        x = whole[R] * sensor[1 + c] + whole[R + 1] * sensor[4 + c] + whole[R + 2] * sensor[7 + c]
        y = whole[R + 3] * sensor[1 + c] + whole[R + 4] * sensor[4 + c] + whole[R + 5] * sensor[7 + c]
        z = whole[R + 6] * sensor[1 + c] + whole[R + 7] * sensor[4 + c] + whole[R + 8] * sensor[7 + c]
        f0, f1, f2 = f0 - x * weight[c], f1 - y * weight[c], f2 - z * weight[c]
        n0, n1, n2 = n0 - x * weight[3 + c], n1 - y * weight[3 + c], n2 - z * weight[3 + c]
    for c in range(6):  # wrench on the base by the model: gravity wrench minus inertial wrench
        rest[c] = given[3 + c] - weight[c] + rest[c]
    for k in range(1, bodies):
        if structure[k, SENSED]:
            at = structure[k, COORDINATE]
            out[TORQUE, at] = out[GRAVITY_TORQUE, at] = out[MODEL_TORQUE, at] = 0.0
    for k in range(1, bodies):
        if not structure[k, SENSED]:
            continue
        here, at, ratio = work[k], structure[k, COORDINATE], links[k, RATIO]
        zx, zy, zz = here[Z], here[Z + 1], here[Z + 2]
        # dynamic wrench plus the inertial wrenches of all inboard bodies
        u0, u1, u2 = (
            f0 + whole[INERTIAL] - here[INERTIAL],
            f1 + whole[INERTIAL + 1] - here[INERTIAL + 1],
            f2 + whole[INERTIAL + 2] - here[INERTIAL + 2],
        )
        if structure[k, KIND] == PRISMATIC:
            out[TORQUE, at] -= ratio * (zx * u0 + zy * u1 + zz * u2)
            out[GRAVITY_TORQUE, at] -= ratio * (zx * here[GRAVITY] + zy * here[GRAVITY + 1] + zz * here[GRAVITY + 2])
            out[MODEL_TORQUE, at] += ratio * (zx * here[INERTIAL] + zy * here[INERTIAL + 1] + zz * here[INERTIAL + 2])
            continue
        rx, ry, rz = sx - here[P], sy - here[P + 1], sz - here[P + 2]  # vector from the joint to the sensor
        # z . (M + r x F) = z . M + (z x r) . F
        ax, ay, az = zy * rz - zz * ry, zz * rx - zx * rz, zx * ry - zy * rx
        v0, v1, v2 = (
            n0 + whole[INERTIAL + 3] - here[INERTIAL + 3],
            n1 + whole[INERTIAL + 4] - here[INERTIAL + 4],
            n2 + whole[INERTIAL + 5] - here[INERTIAL + 5],
        )
        out[TORQUE, at] -= ratio * (zx * v0 + zy * v1 + zz * v2 + ax * u0 + ay * u1 + az * u2)
        g = GRAVITY
        out[GRAVITY_TORQUE, at] -= ratio * (
            zx * here[g + 3] + zy * here[g + 4] + zz * here[g + 5] + ax * here[g] + ay * here[g + 1] + az * here[g + 2]
        )
        g = INERTIAL
        out[MODEL_TORQUE, at] += ratio * (
            zx * here[g + 3] + zy * here[g + 4] + zz * here[g + 5] + ax * here[g] + ay * here[g + 1] + az * here[g + 2]
        )


@kernel
def place(links: Array, structure: NDArray, motion: Array, work: Array) -> None:
    """Write pose, angular velocity and accelerations of every body to ``work``, in the root link frame."""
    root = work[0]
    for i in range(INERTIAL):
        root[i] = 0.0
    root[R], root[R + 4], root[R + 8] = 1.0, 1.0, 1.0
    for k in range(1, len(links)):
        link, up, here = links[k], work[structure[k, PARENT]], work[k]
        at = structure[k, COORDINATE]
        ratio = link[RATIO]
        q, rate, acceleration = ratio * motion[0, at], ratio * motion[1, at], ratio * motion[2, at]
        ux, uy, uz = link[AXIS], link[AXIS + 1], link[AXIS + 2]
        turns = structure[k, KIND] != PRISMATIC
        co, si = (math.cos(q), math.sin(q)) if turns else (1.0, 0.0)
        ve = 1.0 - co
        for row in range(3):
            a, b, c = up[R + 3 * row], up[R + 3 * row + 1], up[R + 3 * row + 2]
            # rows of R_parent R_joint
            x = a * link[ROTATION] + b * link[ROTATION + 3] + c * link[ROTATION + 6]
            y = a * link[ROTATION + 1] + b * link[ROTATION + 4] + c * link[ROTATION + 7]
            z = a * link[ROTATION + 2] + b * link[ROTATION + 5] + c * link[ROTATION + 8]
            along = x * ux + y * uy + z * uz
            here[Z + row] = along
            slid = 0.0 if turns else q * along
            here[P + row] = (
                up[P + row] + a * link[TRANSLATION] + b * link[TRANSLATION + 1] + c * link[TRANSLATION + 2] + slid
            )
            # Rodrigues' formula: row of R_parent R_joint times the rotation about the joint axis
            here[R + 3 * row] = co * x + si * (y * uz - z * uy) + ve * along * ux
            here[R + 3 * row + 1] = co * y + si * (z * ux - x * uz) + ve * along * uy
            here[R + 3 * row + 2] = co * z + si * (x * uy - y * ux) + ve * along * uz
        zx, zy, zz = here[Z], here[Z + 1], here[Z + 2]
        rx, ry, rz = here[P] - up[P], here[P + 1] - up[P + 1], here[P + 2] - up[P + 2]
        wx, wy, wz = up[W], up[W + 1], up[W + 2]
        ex, ey, ez = up[ALPHA], up[ALPHA + 1], up[ALPHA + 2]
        vx, vy, vz = wy * rz - wz * ry, wz * rx - wx * rz, wx * ry - wy * rx
        here[A] = up[A] + ey * rz - ez * ry + wy * vz - wz * vy
        here[A + 1] = up[A + 1] + ez * rx - ex * rz + wz * vx - wx * vz
        here[A + 2] = up[A + 2] + ex * ry - ey * rx + wx * vy - wy * vx
        bx, by, bz = (wy * zz - wz * zy) * rate, (wz * zx - wx * zz) * rate, (wx * zy - wy * zx) * rate
        if turns:
            here[W], here[W + 1], here[W + 2] = wx + zx * rate, wy + zy * rate, wz + zz * rate
            here[ALPHA] = ex + zx * acceleration + bx
            here[ALPHA + 1] = ey + zy * acceleration + by
            here[ALPHA + 2] = ez + zz * acceleration + bz
        else:
            here[W], here[W + 1], here[W + 2] = wx, wy, wz
            here[ALPHA], here[ALPHA + 1], here[ALPHA + 2] = ex, ey, ez
            here[A] += zx * acceleration + 2.0 * bx
            here[A + 1] += zy * acceleration + 2.0 * by
            here[A + 2] += zz * acceleration + 2.0 * bz


@kernel
def load(link: Array, here: Array, given: Array, sx: float, sy: float, sz: float) -> None:
    """Write inertial and gravity wrench of one body about the sensor origin to its row ``here``."""
    cx = here[R] * link[CENTER] + here[R + 1] * link[CENTER + 1] + here[R + 2] * link[CENTER + 2]
    cy = here[R + 3] * link[CENTER] + here[R + 4] * link[CENTER + 1] + here[R + 5] * link[CENTER + 2]
    cz = here[R + 6] * link[CENTER] + here[R + 7] * link[CENTER + 1] + here[R + 8] * link[CENTER + 2]
    wx, wy, wz = here[W], here[W + 1], here[W + 2]
    ex, ey, ez = here[ALPHA], here[ALPHA + 1], here[ALPHA + 2]
    vx, vy, vz = wy * cz - wz * cy, wz * cx - wx * cz, wx * cy - wy * cx
    m = link[MASS]
    fx = m * (here[A] + ey * cz - ez * cy + wy * vz - wz * vy)
    fy = m * (here[A + 1] + ez * cx - ex * cz + wz * vx - wx * vz)
    fz = m * (here[A + 2] + ex * cy - ey * cx + wx * vy - wy * vx)
    # I alpha + w x I w, with both vectors transformed to the body frame
    p0 = here[R] * ex + here[R + 3] * ey + here[R + 6] * ez
    p1 = here[R + 1] * ex + here[R + 4] * ey + here[R + 7] * ez
    p2 = here[R + 2] * ex + here[R + 5] * ey + here[R + 8] * ez
    o0 = here[R] * wx + here[R + 3] * wy + here[R + 6] * wz
    o1 = here[R + 1] * wx + here[R + 4] * wy + here[R + 7] * wz
    o2 = here[R + 2] * wx + here[R + 5] * wy + here[R + 8] * wz
    i = INERTIA
    h0 = link[i] * o0 + link[i + 1] * o1 + link[i + 2] * o2
    h1 = link[i + 3] * o0 + link[i + 4] * o1 + link[i + 5] * o2
    h2 = link[i + 6] * o0 + link[i + 7] * o1 + link[i + 8] * o2
    t0 = link[i] * p0 + link[i + 1] * p1 + link[i + 2] * p2 + o1 * h2 - o2 * h1
    t1 = link[i + 3] * p0 + link[i + 4] * p1 + link[i + 5] * p2 + o2 * h0 - o0 * h2
    t2 = link[i + 6] * p0 + link[i + 7] * p1 + link[i + 8] * p2 + o0 * h1 - o1 * h0
    dx, dy, dz = here[P] + cx - sx, here[P + 1] + cy - sy, here[P + 2] + cz - sz
    here[INERTIAL], here[INERTIAL + 1], here[INERTIAL + 2] = fx, fy, fz
    here[INERTIAL + 3] = here[R] * t0 + here[R + 1] * t1 + here[R + 2] * t2 + dy * fz - dz * fy
    here[INERTIAL + 4] = here[R + 3] * t0 + here[R + 4] * t1 + here[R + 5] * t2 + dz * fx - dx * fz
    here[INERTIAL + 5] = here[R + 6] * t0 + here[R + 7] * t1 + here[R + 8] * t2 + dx * fy - dy * fx
    weight = link[WEIGHT]
    qx, qy, qz = link[FIRST_MOMENT], link[FIRST_MOMENT + 1], link[FIRST_MOMENT + 2]
    gx, gy, gz = given[0], given[1], given[2]
    dx = here[R] * qx + here[R + 1] * qy + here[R + 2] * qz + weight * (here[P] - sx)
    dy = here[R + 3] * qx + here[R + 4] * qy + here[R + 5] * qz + weight * (here[P + 1] - sy)
    dz = here[R + 6] * qx + here[R + 7] * qy + here[R + 8] * qz + weight * (here[P + 2] - sz)
    g = GRAVITY
    here[g], here[g + 1], here[g + 2] = weight * gx, weight * gy, weight * gz
    here[g + 3], here[g + 4], here[g + 5] = dy * gz - dz * gy, dz * gx - dx * gz, dx * gy - dy * gx
