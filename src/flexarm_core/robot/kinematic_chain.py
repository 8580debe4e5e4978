"""KinematicChain: serial chain of joints from a frame to a link, with compiled forward kinematics.

Joint frames are rotated so that every joint moves along or about its own z axis. With the fixed transforms ``T_i``
before joint ``i`` and ``T_end`` after the last joint, the pose of the link is ``T_1 Z(q_1) T_2 Z(q_2) ... T_end``.
A joint that follows another one (``<mimic>``) moves by its ratio times the coordinate of that joint.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import inlined_kernel, kernel
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
        places: (k,) index of the coordinate of each joint.
    """

    links: Array
    places: NDArray[np.int64]

    def motion(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return position (3,), rotation (3, 3), twist (6,), Jacobian (6, N) and bias acceleration (6,) of the link.

        Args:
            q: (N,) coordinates [rad | m].
            v: (N,) velocities of the coordinates [rad/s | m/s].

        Raises:
            InputError: the shapes are wrong, or a number is not finite.
        """
        q, v = finite("q", q, ANY), finite("v", v, ANY)
        if len(q) != len(v) or (self.places.size and len(q) <= self.places.max()):
            raise InputError(f"a chain of {self.places.size} joints was given {len(q)} coordinates and {len(v)} rates")
        return self.motion_of(q, v)

    def motion_of(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Compute :meth:`motion` without checks: q and v must be finite float64 arrays of shape (N,)."""
        position, rotation, J = np.empty(3), np.empty((3, 3)), np.empty((6, len(q)))
        twist, bias = np.empty(6), np.empty(6)
        link_motion(self.links, self.places, q, v, position, rotation, twist, J, bias)
        return position, rotation, twist, J, bias

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
    return KinematicChain(links, links[:-1, PLACE].astype(np.int64))


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


@inlined_kernel
def next_frame(
    links: Array, i: int, xx: float, xy: float, xz: float, yx: float, yy: float, yz: float, zx: float, zy: float,
    zz: float,
) -> Any:  # fmt: skip
    """Return offset (3) and rotation (9, row by row) of the frame of joint ``i`` at 0, from the rotation before it.

    All in the axes of the start frame; scalars, because small arrays would take longer than the computation.
    """
    a, b, c = links[i, 9], links[i, 10], links[i, 11]
    rx, ry, rz = xx * a + xy * b + xz * c, yx * a + yy * b + yz * c, zx * a + zy * b + zz * c
    a, b, c = links[i, 0], links[i, 3], links[i, 6]
    d, e, f = links[i, 1], links[i, 4], links[i, 7]
    g, h, k = links[i, 2], links[i, 5], links[i, 8]
    return (
        rx, ry, rz,
        xx * a + xy * b + xz * c, xx * d + xy * e + xz * f, xx * g + xy * h + xz * k,
        yx * a + yy * b + yz * c, yx * d + yy * e + yz * f, yx * g + yy * h + yz * k,
        zx * a + zy * b + zz * c, zx * d + zy * e + zz * f, zx * g + zy * h + zz * k,
    )  # fmt: skip


@inlined_kernel
def turned_frame(angle: float, xx: float, xy: float, yx: float, yy: float, zx: float, zy: float) -> Any:
    """Return the first two columns (row by row) of a rotation after a turn about its third."""
    co, si = math.cos(angle), math.sin(angle)
    return (
        co * xx + si * xy, co * xy - si * xx, co * yx + si * yy, co * yy - si * yx, co * zx + si * zy, co * zy - si * zx
    )  # fmt: skip


@inlined_kernel
def put_column(
    J: Array, links: Array, i: int, place: int, a: float, b: float, c: float, x: float, y: float, z: float
) -> None:
    """Put what joint ``i`` with axis (x, y, z) through (a, b, c) does per motion of its coordinate into its column.

    ``J`` is zero at first. The linear part of a turn needs the end of the chain: see :func:`end_columns`.
    """
    ratio, shared = links[i, RATIO], links[links.shape[0] - 1, RATIO] > 0.0
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
def end_columns(J: Array, links: Array, px: float, py: float, pz: float) -> None:
    """Complete a Jacobian ``[v; w]`` of the point at the end of the chain.

    The distance from the axis is taken first: its rounding errors are those of the arm's size. Only where joints share
    a coordinate, moments about the start are added up.
    """
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


@kernel
def link_pose(links: Array, q: Array, p: Array, R: Array) -> None:
    """Compute ``p`` (3,) and ``R`` (3, 3) of :func:`link_motion` at coordinates ``q`` (N,)."""
    k = links.shape[0] - 1
    xx, xy, xz, yx, yy, yz, zx, zy, zz = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    for i in range(k + 1):
        rx, ry, rz, xx, xy, xz, yx, yy, yz, zx, zy, zz = next_frame(links, i, xx, xy, xz, yx, yy, yz, zx, zy, zz)
        moved = links[i, RATIO] * q[int(links[i, PLACE])] if i < k else 0.0
        if i < k and links[i, KIND] == PRISMATIC:
            rx, ry, rz = rx + moved * xz, ry + moved * yz, rz + moved * zz
        elif i < k:
            xx, xy, yx, yy, zx, zy = turned_frame(moved, xx, xy, yx, yy, zx, zy)
        px, py, pz = px + rx, py + ry, pz + rz
    p[0], p[1], p[2] = px, py, pz
    R[0, 0], R[0, 1], R[0, 2] = xx, xy, xz
    R[1, 0], R[1, 1], R[1, 2] = yx, yy, yz
    R[2, 0], R[2, 1], R[2, 2] = zx, zy, zz


@kernel
def link_motion(
    links: Array, places: NDArray[np.int64], q: Array, v: Array, p: Array, R: Array, twist: Array, J: Array, bias: Array
) -> None:
    """Compute the motion of the link at the end of a chain, in the start frame of the chain.

    Args:
        links: (k + 1, 15) see :class:`KinematicChain`.
        places: (k,) see :class:`KinematicChain`.
        q: (N,) coordinates [rad | m].
        v: (N,) velocities of the coordinates [rad/s | m/s].
        p: (3,) output: origin of the link [m].
        R: (3, 3) output: rotation of the link.
        twist: (6,) output: twist ``[v; w]`` of the origin [m/s, rad/s].
        J: (6, N) output: Jacobian; columns of coordinates that are not in the chain are zero.
        bias: (6,) output: ``dJ/dt v``, the acceleration ``[a; alpha]`` of the origin for zero joint accelerations.
    """
    k, size = places.shape[0], q.shape[0]
    for i in range(6):
        for j in range(size):
            J[i, j] = 0.0
    xx, xy, xz, yx, yy, yz, zx, zy, zz = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    # linear and angular velocity and acceleration at the point p, for the joints processed so far
    vx, vy, vz, wx, wy, wz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    ax, ay, az, bx, by, bz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(k + 1):
        rx, ry, rz, xx, xy, xz, yx, yy, yz, zx, zy, zz = next_frame(links, i, xx, xy, xz, yx, yy, yz, zx, zy, zz)
        slides = i < k and links[i, KIND] == PRISMATIC
        if slides:
            moved = links[i, RATIO] * q[places[i]]
            rx, ry, rz = rx + moved * xz, ry + moved * yz, rz + moved * zz
        ux, uy, uz = wy * rz - wz * ry, wz * rx - wx * rz, wx * ry - wy * rx
        ax += by * rz - bz * ry + wy * uz - wz * uy
        ay += bz * rx - bx * rz + wz * ux - wx * uz
        az += bx * ry - by * rx + wx * uy - wy * ux
        px, py, pz, vx, vy, vz = px + rx, py + ry, pz + rz, vx + ux, vy + uy, vz + uz
        if i == k:
            break
        place, ratio = places[i], links[i, RATIO]
        rate = ratio * v[place]
        ux, uy, uz = wy * zz - wz * yz, wz * xz - wx * zz, wx * yz - wy * xz
        put_column(J, links, i, place, px, py, pz, xz, yz, zz)
        if slides:
            vx, vy, vz = vx + rate * xz, vy + rate * yz, vz + rate * zz
            ax, ay, az = ax + 2.0 * rate * ux, ay + 2.0 * rate * uy, az + 2.0 * rate * uz
        else:
            wx, wy, wz = wx + rate * xz, wy + rate * yz, wz + rate * zz
            bx, by, bz = bx + rate * ux, by + rate * uy, bz + rate * uz
            xx, xy, yx, yy, zx, zy = turned_frame(ratio * q[place], xx, xy, yx, yy, zx, zy)
    end_columns(J, links, px, py, pz)
    p[0], p[1], p[2] = px, py, pz
    R[0, 0], R[0, 1], R[0, 2] = xx, xy, xz
    R[1, 0], R[1, 1], R[1, 2] = yx, yy, yz
    R[2, 0], R[2, 1], R[2, 2] = zx, zy, zz
    twist[0], twist[1], twist[2], twist[3], twist[4], twist[5] = vx, vy, vz, wx, wy, wz
    bias[0], bias[1], bias[2], bias[3], bias[4], bias[5] = ax, ay, az, bx, by, bz
