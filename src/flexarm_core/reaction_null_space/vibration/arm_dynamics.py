r"""Equation of motion of an arm on its elastic base, and wrench on the base, compiled over flat memory.

For ``n`` actuated and ``m`` elastic coordinates, with bodies ``k`` that move along or about their joint axis ``z_k``
through ``p_k``. All vectors are in axes of the root link; moments and linear velocities are those at the origin S of
the base link, so that bodies are added up without transformations::

    motion axis         s_k = [v_k; w_k] = [(p_k - S) x z_k; z_k]   revolute,      [z_k; 0]   prismatic
                        times its ratio for a joint that follows another one: several s_k are of one coordinate
    composite body      m, h = sum m c, J = sum (I + m (c^2 1 - c c^T))        of all bodies outboard, c seen from S
    its momentum        l = m v_k + w_k x h,    L = J w_k + h x v_k
    inertia             H_ik = s_i . [l; L]       i inboard of k
    bias forces         c_k = s_k . sum ([F; M] - [F_g; M_g])      outboard, with accelerations for qdd = 0

This is the composite-rigid-body algorithm (Featherstone 2008, chapter 6) and the Newton-Euler recursion of
``base_wrench``. ``ArmModel`` computes the same with Pinocchio, for everything that does not run in a tick.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.base_wrench.newton_euler import GRAVITY, INERTIAL, STATE, P, R, Z, load, place
from flexarm_core.base_wrench.sensed_bodies import (
    CENTER,
    COLUMNS,
    COORDINATE,
    INERTIA,
    KIND,
    MASS,
    PARENT,
    PRISMATIC,
    RATIO,
    build_bodies,
)
from flexarm_core.compiled import allocating_kernel, inlined_kernel, kernel, pack, views
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.kinematic_chain import COLUMNS as CHAIN
from flexarm_core.robot.kinematic_chain import LinkMotion, link_motion
from flexarm_core.types import Array

FIELDS = 5  # columns of the table ``structure``
# Columns of the work array of a body: those of ``newton_euler``, then its motion axis and its composite body.
AXIS, COMPOSITE, WORK = STATE, STATE + 6, STATE + 16


class Arm(NamedTuple):
    """Arm on its elastic base; made once."""

    n: int  # number of actuated joints
    m: int  # number of elastic joints
    bodies: int
    base: int  # index of the body that holds the base link
    from_base: int  # number of joints between base link and tool
    from_world: int  # number of joints between root link and tool
    base_pose: Annotated[Array, 3, 4]  # rotation and position of the base link in this body
    gravity: Annotated[Array, 16]  # gravity (3,) and zeros: the argument ``given`` of :func:`load`
    armature: Annotated[Array, "n"]
    links: Annotated[Array, "bodies", COLUMNS]  # this and ``structure``: see ``SensedBodies``
    structure: Annotated[NDArray[np.int64], "bodies", FIELDS]
    first: Annotated[Array, "bodies"]  # 1 if the joint of the body is the first actuated one on its path
    base_to_tool: Annotated[Array, "from_base + 1", CHAIN]  # this and the next: see ``KinematicChain.links``
    world_to_tool: Annotated[Array, "from_world + 1", CHAIN]


view_arm = views(Arm)


class ArmMotion(NamedTuple):
    """Positions and velocities of an arm on its elastic base."""

    q: Array  # (n,) joint positions [rad | m]
    v: Array  # (n,) joint velocities [rad/s | m/s]
    x: Array  # (m,) deflections of the base [m | rad]
    xd: Array  # (m,) their rates [m/s | rad/s]


class Terms(NamedTuple):
    """Terms of the equation of motion, as ``ArmModel.blocks`` and ``ArmModel.weight`` compute them."""

    H_b: Annotated[Array, "m", "m"]  # base inertia
    H_bm: Annotated[Array, "m", "n"]  # inertia coupling
    H_m: Annotated[Array, "n", "n"]  # arm inertia
    c_b: Annotated[Array, "m"]  # velocity and gravity terms of the base rows
    c_m: Annotated[Array, "n"]  # velocity and gravity terms of the arm rows
    dH_bm_qd: Annotated[Array, "m"]  # ``dH_bm/dt qd`` for a base at rest
    weight: Annotated[Array, "m"]  # gravity terms of the base rows


class ToolMotion(NamedTuple):
    """Motion of the tool, as ``ArmModel.tool_kinematics`` computes it."""

    position: Annotated[Array, 3]  # [m]
    rotation: Annotated[Array, 3, 3]
    twist: Annotated[Array, 6]  # [m/s, rad/s]
    bias: Annotated[Array, 6]  # ``dJ/dt v``
    J_m: Annotated[Array, 6, "n"]
    J_b: Annotated[Array, 6, "m"]


def pack_arm(model: ArmModel) -> tuple[Array, NDArray[np.int64]]:
    """Return :class:`Arm` as its two arrays."""
    links, structure, base, pose = build_bodies(model.description, model.base_frame)
    first, inboard = np.zeros(len(links)), np.zeros(len(links), dtype=bool)  # inboard: an actuated joint is
    for k in range(1, len(links)):
        parent, actuated = structure[k, PARENT], structure[k, COORDINATE] < model.n
        first[k] = float(actuated and not inboard[parent])
        inboard[k] = actuated or inboard[parent]
    to_tool, from_root = model.base_to_tool, model.world_to_tool
    numbers = model.n, model.m, len(links), base, len(to_tool.links) - 1, len(from_root.links) - 1
    given = np.concatenate((model.gravity, np.zeros(13)))
    none = np.empty(0, dtype=np.int64)  # structure lies in the other array
    arm = Arm(*numbers, pose[:3], given, model.armature, links, none, first, to_tool.links, from_root.links)
    return pack(arm), structure.ravel()


@inlined_kernel
def equation_of_motion(arm: Arm, moving: ArmMotion, terms: Terms) -> None:
    """Compute the terms of the equation of motion."""
    n, m, bodies = arm.n, arm.m, arm.links.shape[0]
    motion, work, rate = np.zeros((3, n + m)), np.empty((bodies, WORK)), 0.0
    terms.c_m[:] = 0.0
    motion[0, :n], motion[1, :n], motion[0, n:], motion[1, n:] = moving.q, moving.v, moving.x, moving.xd
    place(arm.links, arm.structure, motion, work)
    sx, sy, sz = _base_origin(arm, work)
    _find_axes(arm, work, sx, sy, sz)
    _composite(arm, work, sx, sy, sz)
    _inertia(arm, work, terms)
    for i in range(n):
        terms.H_m[i, i] += arm.armature[i]
    _wrenches(arm, work, sx, sy, sz)
    for k in range(1, bodies):
        here, at = work[k], arm.structure[k, COORDINATE]
        moved, pulled = _along(here, INERTIAL), -_along(here, GRAVITY)
        if at < n:
            terms.c_m[at] += moved + pulled
        else:
            terms.dH_bm_qd[at - n], terms.weight[at - n], terms.c_b[at - n] = moved, pulled, moved + pulled
            rate += moving.xd[at - n] * moving.xd[at - n]
    if rate > 0.0:
        motion[1, n:] = 0.0
        place(arm.links, arm.structure, motion, work)
        _wrenches(arm, work, sx, sy, sz)
        for k in range(1, bodies):
            at = arm.structure[k, COORDINATE]
            if at >= n:
                terms.dH_bm_qd[at - n] = _along(work[k], INERTIAL)


@allocating_kernel
def wrench_on_base(arm: Arm, moving: ArmMotion, qdd: Array, xdd: Array, out: Array) -> None:
    """Compute the wrench (6,) ``[f; n]`` of the arm on the base link, as ``ArmModel.wrench_on_base`` does.

    Args:
        arm: the arm.
        moving: its motion.
        qdd: (n,) joint accelerations [rad/s^2 | m/s^2].
        xdd: (m,) accelerations of the base [m/s^2 | rad/s^2].
        out: (6,) output, at the origin of the base link and in its axes [N, N*m].
    """
    n, m, bodies = arm.n, arm.m, arm.links.shape[0]
    motion, work, total = np.empty((3, n + m)), np.empty((bodies, WORK)), np.zeros(6)
    motion[0, :n], motion[1, :n], motion[2, :n] = moving.q, moving.v, qdd
    motion[0, n:], motion[1, n:], motion[2, n:] = moving.x, moving.xd, xdd
    place(arm.links, arm.structure, motion, work)
    sx, sy, sz = _base_origin(arm, work)
    _wrenches(arm, work, sx, sy, sz)
    for k in range(1, bodies):
        if arm.first[k] > 0.0:
            for i in range(6):
                total[i] += work[k, GRAVITY + i] - work[k, INERTIAL + i]
    held = work[arm.base]
    for i in range(3):  # column i of the base link's rotation
        a, b, c = arm.base_pose[0, i], arm.base_pose[1, i], arm.base_pose[2, i]
        x0 = held[R] * a + held[R + 1] * b + held[R + 2] * c
        x1 = held[R + 3] * a + held[R + 4] * b + held[R + 5] * c
        x2 = held[R + 6] * a + held[R + 7] * b + held[R + 8] * c
        out[i] = x0 * total[0] + x1 * total[1] + x2 * total[2]
        out[3 + i] = x0 * total[3] + x1 * total[4] + x2 * total[5]


@inlined_kernel
def tool_motion(arm: Arm, moving: ArmMotion, in_world: bool, tool: ToolMotion) -> None:
    """Compute the motion of the tool, expressed in the root link or, relative to it, in the base link."""
    n, m = arm.n, arm.m
    if not in_world:
        relative = LinkMotion(tool.position, tool.rotation, tool.twist, tool.bias, tool.J_m)
        link_motion(arm.base_to_tool, moving.q, moving.v, relative)
        for i in range(6):
            for j in range(m):
                tool.J_b[i, j] = 0.0
        return
    whole, rates, J = np.empty(n + m), np.empty(n + m), np.empty((6, n + m))
    whole[:n], whole[n:], rates[:n], rates[n:] = moving.q, moving.x, moving.v, moving.xd
    link_motion(arm.world_to_tool, whole, rates, LinkMotion(tool.position, tool.rotation, tool.twist, tool.bias, J))
    for i in range(6):
        for j in range(n):
            tool.J_m[i, j] = J[i, j]
        for j in range(m):
            tool.J_b[i, j] = J[i, n + j]


@kernel
def _base_origin(arm: Arm, work: Array) -> Any:
    """Return the origin of the base link in the root link frame."""
    held, pose = work[arm.base], arm.base_pose
    a, b, c = pose[0, 3], pose[1, 3], pose[2, 3]
    return (
        held[P] + held[R] * a + held[R + 1] * b + held[R + 2] * c,
        held[P + 1] + held[R + 3] * a + held[R + 4] * b + held[R + 5] * c,
        held[P + 2] + held[R + 6] * a + held[R + 7] * b + held[R + 8] * c,
    )


@inlined_kernel
def _find_axes(arm: Arm, work: Array, sx: float, sy: float, sz: float) -> None:
    """Write the motion axis ``[v; w]`` of every body."""
    for k in range(1, work.shape[0]):
        here = work[k]
        ratio = arm.links[k, RATIO]
        zx, zy, zz = ratio * here[Z], ratio * here[Z + 1], ratio * here[Z + 2]
        if arm.structure[k, KIND] == PRISMATIC:
            here[AXIS], here[AXIS + 1], here[AXIS + 2] = zx, zy, zz
            here[AXIS + 3], here[AXIS + 4], here[AXIS + 5] = 0.0, 0.0, 0.0
        else:
            x, y, z = here[P] - sx, here[P + 1] - sy, here[P + 2] - sz
            here[AXIS], here[AXIS + 1], here[AXIS + 2] = y * zz - z * zy, z * zx - x * zz, x * zy - y * zx
            here[AXIS + 3], here[AXIS + 4], here[AXIS + 5] = zx, zy, zz


@inlined_kernel
def _composite(arm: Arm, work: Array, sx: float, sy: float, sz: float) -> None:
    """Write the composite body of every body: m, h (3), and J as xx, xy, xz, yy, yz, zz."""
    bodies, o = work.shape[0], COMPOSITE
    for k in range(bodies):
        here, link = work[k], arm.links[k]
        m, i = link[MASS], INERTIA
        r00, r01, r02, r10, r11 = here[R], here[R + 1], here[R + 2], here[R + 3], here[R + 4]
        r12, r20, r21, r22 = here[R + 5], here[R + 6], here[R + 7], here[R + 8]
        a, b, c = link[CENTER], link[CENTER + 1], link[CENTER + 2]
        x = here[P] - sx + r00 * a + r01 * b + r02 * c
        y = here[P + 1] - sy + r10 * a + r11 * b + r12 * c
        z = here[P + 2] - sz + r20 * a + r21 * b + r22 * c
        # rows of R I, with a symmetric I
        a0 = r00 * link[i] + r01 * link[i + 1] + r02 * link[i + 2]
        a1 = r00 * link[i + 1] + r01 * link[i + 4] + r02 * link[i + 5]
        a2 = r00 * link[i + 2] + r01 * link[i + 5] + r02 * link[i + 8]
        b0 = r10 * link[i] + r11 * link[i + 1] + r12 * link[i + 2]
        b1 = r10 * link[i + 1] + r11 * link[i + 4] + r12 * link[i + 5]
        b2 = r10 * link[i + 2] + r11 * link[i + 5] + r12 * link[i + 8]
        c0 = r20 * link[i] + r21 * link[i + 1] + r22 * link[i + 2]
        c1 = r20 * link[i + 1] + r21 * link[i + 4] + r22 * link[i + 5]
        c2 = r20 * link[i + 2] + r21 * link[i + 5] + r22 * link[i + 8]
        here[o], here[o + 1], here[o + 2], here[o + 3] = m, m * x, m * y, m * z
        here[o + 4] = a0 * r00 + a1 * r01 + a2 * r02 + m * (y * y + z * z)
        here[o + 5] = a0 * r10 + a1 * r11 + a2 * r12 - m * x * y
        here[o + 6] = a0 * r20 + a1 * r21 + a2 * r22 - m * x * z
        here[o + 7] = b0 * r10 + b1 * r11 + b2 * r12 + m * (x * x + z * z)
        here[o + 8] = b0 * r20 + b1 * r21 + b2 * r22 - m * y * z
        here[o + 9] = c0 * r20 + c1 * r21 + c2 * r22 + m * (x * x + y * y)
    for k in range(bodies - 1, 0, -1):
        up = arm.structure[k, PARENT]
        for i in range(COMPOSITE, WORK):
            work[up, i] += work[k, i]


@inlined_kernel
def _inertia(arm: Arm, work: Array, terms: Terms) -> None:
    """Write the mass matrix."""
    n, H_b, H_bm, H_m = arm.n, terms.H_b, terms.H_bm, terms.H_m
    H_b[:, :], H_bm[:, :], H_m[:, :] = 0.0, 0.0, 0.0
    s, o = AXIS, COMPOSITE
    for k in range(work.shape[0] - 1, 0, -1):
        here, at = work[k], arm.structure[k, COORDINATE]
        vx, vy, vz, wx, wy, wz = here[s], here[s + 1], here[s + 2], here[s + 3], here[s + 4], here[s + 5]
        m, hx, hy, hz = here[o], here[o + 1], here[o + 2], here[o + 3]
        lx = m * vx + wy * hz - wz * hy
        ly = m * vy + wz * hx - wx * hz
        lz = m * vz + wx * hy - wy * hx
        mx = here[o + 4] * wx + here[o + 5] * wy + here[o + 6] * wz + hy * vz - hz * vy
        my = here[o + 5] * wx + here[o + 7] * wy + here[o + 8] * wz + hz * vx - hx * vz
        mz = here[o + 6] * wx + here[o + 8] * wy + here[o + 9] * wz + hx * vy - hy * vx
        i = k
        while i > 0:
            up, to = work[i], arm.structure[i, COORDINATE]
            value = up[s] * lx + up[s + 1] * ly + up[s + 2] * lz + up[s + 3] * mx + up[s + 4] * my + up[s + 5] * mz
            if at < n and to < n:
                H_m[at, to] += value
                if i != k:
                    H_m[to, at] += value
            elif at >= n and to >= n:
                H_b[at - n, to - n] = H_b[to - n, at - n] = value
            else:
                H_bm[max(at, to) - n, min(at, to)] += value
            i = arm.structure[i, PARENT]


@kernel
def _wrenches(arm: Arm, work: Array, sx: float, sy: float, sz: float) -> None:
    """Write the inertial and the gravity wrench about S of every body with all bodies outboard of it."""
    for k in range(1, work.shape[0]):
        load(arm.links[k], work[k], arm.gravity, sx, sy, sz)
    for k in range(work.shape[0] - 1, 0, -1):
        up = arm.structure[k, PARENT]
        if up > 0:
            for i in range(INERTIAL, STATE):
                work[up, i] += work[k, i]


@kernel
def _along(here: Array, wrench: int) -> float:
    """Return the part of a wrench of a body along its motion axis."""
    s, f = AXIS, wrench
    return float(
        here[s] * here[f] + here[s + 1] * here[f + 1] + here[s + 2] * here[f + 2]
        + here[s + 3] * here[f + 3] + here[s + 4] * here[f + 4] + here[s + 5] * here[f + 5]
    )  # fmt: skip
