"""KinematicChain: serial chain of joints from a frame to a link, with compiled forward kinematics.

Joint frames are rotated so that every joint moves along or about its own z axis. With the fixed transforms ``T_i``
before joint ``i`` and ``T_end`` after the last joint, the pose of the link is ``T_1 Z(q_1) T_2 Z(q_2) ... T_end``.
A joint that follows another one (``<mimic>``) moves by its ratio times the coordinate of that joint.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from flexarm_core.compiled import inlined_kernel, kernel, view
from flexarm_core.entrance import ANY, finite
from flexarm_core.errors import InputError
from flexarm_core.robot.description import Joint, RobotDescription
from flexarm_core.types import Array

REVOLUTE, PRISMATIC = 0.0, 1.0
# Columns of ``links`` after rotation (9) and translation (3), and their number.
KIND, RATIO, PLACE, COLUMNS = 12, 13, 14, 15


@dataclass(frozen=True, slots=True)
class KinematicChain:
    """Joints that move a link, as arrays for compiled kernels.

    Attributes:
        links: (k + 1, 15) one row per joint and one for the link: rotation (9, row by row) and translation (3) [m] of
            the preceding fixed transform, the joint type (0 revolute, 1 prismatic), the motion of the joint per motion
            of its coordinate, and the index of that in the coordinate vector of the chain. The row of the link says
            instead of that motion whether joints share a coordinate.
    """

    links: Array

    def motion(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return position (3,), rotation (3, 3), twist (6,), Jacobian (6, N) and bias acceleration (6,) of the link.

        Args:
            q: (N,) coordinates [rad | m].
            v: (N,) velocities of the coordinates [rad/s | m/s].

        Raises:
            InputError: the shapes are wrong, or a number is not finite.
        """
        q, v = finite("q", q, ANY), finite("v", v, ANY)
        joints = self.links[:-1]
        if len(q) != len(v) or len(q) <= joints[:, PLACE].max(initial=-1.0):
            raise InputError(f"a chain of {len(joints)} joints was given {len(q)} coordinates and {len(v)} rates")
        return self.motion_of(q, v)

    def motion_of(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Compute :meth:`motion` without checks: q and v must be finite float64 arrays of shape (N,)."""
        rotation, J, vectors = np.empty((3, 3)), np.empty((6, len(q))), np.empty(15)
        _motion(self.links, q, v, rotation, J, vectors)
        return vectors[:3], rotation, vectors[3:9], J, vectors[9:]

    def pose_of(self, q: Array) -> tuple[Array, Array]:
        """Return position (3,) and rotation (3, 3) alone, to the same bits and without checks, as :meth:`motion_of`."""
        position, rotation = np.empty(3), np.empty((3, 3))
        link_pose(self.links, q, position, rotation)
        return position, rotation


def kinematic_chain(
    description: RobotDescription, link: str, coordinates: Sequence[str], begin: Array | None = None
) -> KinematicChain:
    """Return the chain from the root link to another link; joints that are not in ``coordinates`` stay at zero.

    Args:
        description: robot description.
        link: link at the end of the chain.
        coordinates: names of the joints in the coordinate vector of the chain.
        begin: (4, 4) pose of the root link in the start frame of the chain; None: the start frame is the root link.
    """
    path = joints_inboard(description, link, description.root)
    _, links = link_rows(path, coordinates, np.eye(4) if begin is None else begin)
    return KinematicChain(links)


def joints_inboard(description: RobotDescription, link: str, end: str) -> list[Joint]:
    """Return the joints between the link ``end`` and a link, from the base outward.

    If ``end`` is not an ancestor of the link, the path starts at the root link.
    """
    by_child = {joint.child: joint for joint in description.joints.values()}
    path: list[Joint] = []
    while link != end and link in by_child:
        path.insert(0, by_child[link])
        link = path[0].parent
    return path


def link_rows(path: Iterable[Joint], coordinates: Sequence[str], begin: Array) -> tuple[list[str], Array]:
    """Return the names of the moving joints of a path and the array ``links`` of a :class:`KinematicChain`."""
    names, rows, fixed = [], [], begin
    for joint in path:
        fixed = fixed @ joint.transform_child_to_parent
        if joint.kind != "fixed" and joint.driver in coordinates:
            turn = np.eye(4)
            turn[:3, :3] = _axis_to_z(joint.axis)
            kind = PRISMATIC if joint.kind == "prismatic" else REVOLUTE
            rows.append(_row(fixed @ turn, kind, joint.multiplier, coordinates.index(joint.driver)))
            names.append(joint.name)
            fixed = turn.T  # a pure rotation
    places = [row[PLACE] for row in rows]
    rows.append(_row(fixed, 0.0, float(len(set(places)) < len(places)), 0.0))
    return names, np.array(rows)


def _row(transform: Array, *last: float) -> Array:
    return np.concatenate((transform[:3, :3].ravel(), transform[:3, 3], last))


def _axis_to_z(axis: Array) -> Array:
    """Return a rotation matrix whose third column is the axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(axis, x), axis))


class Rotation(NamedTuple):
    """Rotation of a frame in the start frame of a chain, as numbers: a small array takes longer than its use."""

    xx: float
    xy: float
    xz: float  # this, yz and zz: the z axis of the frame
    yx: float
    yy: float
    yz: float
    zx: float
    zy: float
    zz: float


class LinkMotion(NamedTuple):
    """Motion of the link at the end of a chain with N coordinates, in the start frame of the chain."""

    position: Array  # (3,) origin of the link [m]
    rotation: Array  # (3, 3)
    twist: Array  # (6,) twist ``[v; w]`` of the origin [m/s, rad/s]
    bias: Array  # (6,) ``dJ/dt v``, the acceleration ``[a; alpha]`` for zero joint accelerations
    J: Array  # (6, N) Jacobian; columns of coordinates that are not in the chain are zero


@inlined_kernel
def next_frame(links: Array, i: int, R: Rotation) -> Any:
    """Return offset (3) and rotation of the frame of joint ``i`` at 0, from the rotation before it.

    All in the axes of the start frame.
    """
    a, b, c = links[i, 9], links[i, 10], links[i, 11]
    offset = R.xx * a + R.xy * b + R.xz * c, R.yx * a + R.yy * b + R.yz * c, R.zx * a + R.zy * b + R.zz * c
    a, b, c = links[i, 0], links[i, 3], links[i, 6]
    d, e, f = links[i, 1], links[i, 4], links[i, 7]
    g, h, k = links[i, 2], links[i, 5], links[i, 8]
    return offset, Rotation(
        R.xx * a + R.xy * b + R.xz * c, R.xx * d + R.xy * e + R.xz * f, R.xx * g + R.xy * h + R.xz * k,
        R.yx * a + R.yy * b + R.yz * c, R.yx * d + R.yy * e + R.yz * f, R.yx * g + R.yy * h + R.yz * k,
        R.zx * a + R.zy * b + R.zz * c, R.zx * d + R.zy * e + R.zz * f, R.zx * g + R.zy * h + R.zz * k,
    )  # fmt: skip


@inlined_kernel
def turned_frame(R: Rotation, angle: float) -> Any:
    """Return a rotation after a turn about its z axis."""
    co, si = math.cos(angle), math.sin(angle)
    return Rotation(
        co * R.xx + si * R.xy, co * R.xy - si * R.xx, R.xz,
        co * R.yx + si * R.yy, co * R.yy - si * R.yx, R.yz,
        co * R.zx + si * R.zy, co * R.zy - si * R.zx, R.zz,
    )  # fmt: skip


@inlined_kernel
def put_column(J: Array, links: Array, i: int, p: Any, R: Rotation) -> None:
    """Put what joint ``i`` with the z axis of ``R`` through ``p`` (3) does per motion of its coordinate into a column.

    ``J`` is zero at first. The linear part of a turn needs the end of the chain: see :func:`end_columns`.
    """
    ratio, place, shared = links[i, RATIO], int(links[i, PLACE]), links[links.shape[0] - 1, RATIO] > 0.0
    a, b, c = p
    x, y, z = R.xz, R.yz, R.zz
    if links[i, KIND] == PRISMATIC:
        J[0, place] += ratio * x
        J[1, place] += ratio * y
        J[2, place] += ratio * z
    else:
        J[3, place] += ratio * x
        J[4, place] += ratio * y
        J[5, place] += ratio * z
        if shared:
            J[0, place] += ratio * (b * z - c * y)
            J[1, place] += ratio * (c * x - a * z)
            J[2, place] += ratio * (a * y - b * x)
        else:
            J[0, place], J[1, place], J[2, place] = a, b, c


@inlined_kernel
def end_columns(J: Array, links: Array, p: Any) -> None:
    """Complete a Jacobian ``[v; w]`` of the point ``p`` (3) at the end of the chain.

    The distance from the axis is taken first: its rounding errors are those of the arm's size. Only where joints share
    a coordinate, moments about the start are added up.
    """
    px, py, pz = p
    if links[links.shape[0] - 1, RATIO] > 0.0:
        for j in range(J.shape[1]):
            d, e, f = J[3, j], J[4, j], J[5, j]
            J[0, j] += e * pz - f * py
            J[1, j] += f * px - d * pz
            J[2, j] += d * py - e * px
        return
    for i in range(links.shape[0] - 1):
        if links[i, KIND] != PRISMATIC:
            j = int(links[i, PLACE])
            a, b, c = px - J[0, j], py - J[1, j], pz - J[2, j]
            d, e, f = J[3, j], J[4, j], J[5, j]
            J[0, j], J[1, j], J[2, j] = e * c - f * b, f * a - d * c, d * b - e * a


@inlined_kernel
def put_frame(p: Any, R: Rotation, position: Array, rotation: Array) -> None:
    """Write the origin ``p`` (3) and the rotation of a frame to arrays (3,) and (3, 3)."""
    position[0], position[1], position[2] = p
    rotation[0, 0], rotation[0, 1], rotation[0, 2] = R.xx, R.xy, R.xz
    rotation[1, 0], rotation[1, 1], rotation[1, 2] = R.yx, R.yy, R.yz
    rotation[2, 0], rotation[2, 1], rotation[2, 2] = R.zx, R.zy, R.zz


@kernel
def link_pose(links: Array, q: Array, position: Array, rotation: Array) -> None:
    """Compute ``position`` (3,) and ``rotation`` (3, 3) of :class:`LinkMotion` at coordinates ``q`` (N,)."""
    k = links.shape[0] - 1
    R, px, py, pz = Rotation(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), 0.0, 0.0, 0.0
    for i in range(k + 1):
        (rx, ry, rz), R = next_frame(links, i, R)
        moved = links[i, RATIO] * q[int(links[i, PLACE])] if i < k else 0.0
        if i < k and links[i, KIND] == PRISMATIC:
            rx, ry, rz = rx + moved * R.xz, ry + moved * R.yz, rz + moved * R.zz
        elif i < k:
            R = turned_frame(R, moved)
        px, py, pz = px + rx, py + ry, pz + rz
    put_frame((px, py, pz), R, position, rotation)


@kernel
def link_motion(links: Array, q: Array, v: Array, motion: LinkMotion) -> None:
    """Compute the motion of the link at the end of a chain.

    Args:
        links: (k + 1, 15) see :class:`KinematicChain`.
        q: (N,) coordinates [rad | m].
        v: (N,) velocities of the coordinates [rad/s | m/s].
        motion: output.
    """
    k, J, twist, bias = links.shape[0] - 1, motion.J, motion.twist, motion.bias
    for i in range(6):
        for j in range(q.shape[0]):
            J[i, j] = 0.0
    R, px, py, pz = Rotation(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), 0.0, 0.0, 0.0
    # linear and angular velocity and acceleration at the point p, for the joints processed so far
    vx, vy, vz, wx, wy, wz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    ax, ay, az, bx, by, bz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(k + 1):
        (rx, ry, rz), R = next_frame(links, i, R)
        place = int(links[i, PLACE])
        slides = i < k and links[i, KIND] == PRISMATIC
        if slides:
            moved = links[i, RATIO] * q[place]
            rx, ry, rz = rx + moved * R.xz, ry + moved * R.yz, rz + moved * R.zz
        ux, uy, uz = wy * rz - wz * ry, wz * rx - wx * rz, wx * ry - wy * rx
        ax += by * rz - bz * ry + wy * uz - wz * uy
        ay += bz * rx - bx * rz + wz * ux - wx * uz
        az += bx * ry - by * rx + wx * uy - wy * ux
        px, py, pz, vx, vy, vz = px + rx, py + ry, pz + rz, vx + ux, vy + uy, vz + uz
        if i == k:
            break
        ratio = links[i, RATIO]
        rate = ratio * v[place]
        ux, uy, uz = wy * R.zz - wz * R.yz, wz * R.xz - wx * R.zz, wx * R.yz - wy * R.xz
        put_column(J, links, i, (px, py, pz), R)
        if slides:
            vx, vy, vz = vx + rate * R.xz, vy + rate * R.yz, vz + rate * R.zz
            ax, ay, az = ax + 2.0 * rate * ux, ay + 2.0 * rate * uy, az + 2.0 * rate * uz
        else:
            wx, wy, wz = wx + rate * R.xz, wy + rate * R.yz, wz + rate * R.zz
            bx, by, bz = bx + rate * ux, by + rate * uy, bz + rate * uz
            R = turned_frame(R, ratio * q[place])
    end_columns(J, links, (px, py, pz))
    put_frame((px, py, pz), R, motion.position, motion.rotation)
    twist[0], twist[1], twist[2], twist[3], twist[4], twist[5] = vx, vy, vz, wx, wy, wz
    bias[0], bias[1], bias[2], bias[3], bias[4], bias[5] = ax, ay, az, bx, by, bz


@kernel
def _motion(links: Array, q: Array, v: Array, rotation: Array, J: Array, vectors: Array) -> None:
    """Compute :func:`link_motion` with position, twist and bias in one array (15,): from Python, each takes time."""
    position, twist, bias = view(vectors, 0, (3,)), view(vectors, 3, (6,)), view(vectors, 9, (6,))
    link_motion(links, q, v, LinkMotion(position, rotation, twist, bias, J))
