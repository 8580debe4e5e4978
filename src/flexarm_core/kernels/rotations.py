"""SO(3) functions: test, difference of poses, exponential map and inverse left Jacobian (compiled)."""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.types import Array


@kernel
def is_rotation(R: Array, tolerance: float) -> bool:
    """Return whether a matrix (3, 3) is a rotation: ``|R R^T - 1| < tolerance`` in every entry, and no reflection."""
    for i in range(3):
        for j in range(3):
            entry = -1.0 if i == j else 0.0
            for k in range(3):
                entry += R[i, k] * R[j, k]
            if not abs(entry) < tolerance:
                return False
    x, y = R[0, 1] * R[1, 2] - R[0, 2] * R[1, 1], R[0, 2] * R[1, 0] - R[0, 0] * R[1, 2]
    z = R[0, 0] * R[1, 1] - R[0, 1] * R[1, 0]
    return bool(x * R[2, 0] + y * R[2, 1] + z * R[2, 2] > 0.0)


@kernel
def rotation_error(wanted: Array, present: Array, out: Array) -> None:
    """Write the rotation vector (3,) from ``present`` to ``wanted``: ``log(R_wanted R_present^T)``, base axes [rad]."""
    e00 = e01 = e02 = e10 = e11 = e12 = e20 = e21 = e22 = 0.0
    for k in range(3):
        e00 += wanted[0, k] * present[0, k]
        e01 += wanted[0, k] * present[1, k]
        e02 += wanted[0, k] * present[2, k]
        e10 += wanted[1, k] * present[0, k]
        e11 += wanted[1, k] * present[1, k]
        e12 += wanted[1, k] * present[2, k]
        e20 += wanted[2, k] * present[0, k]
        e21 += wanted[2, k] * present[1, k]
        e22 += wanted[2, k] * present[2, k]
    x, y, z = 0.5 * (e21 - e12), 0.5 * (e02 - e20), 0.5 * (e10 - e01)
    sine, cosine = math.sqrt(x * x + y * y + z * z), 0.5 * (e00 + e11 + e22 - 1.0)
    angle = math.atan2(sine, cosine)
    if sine > 1e-6:
        scale = angle / sine
        out[0], out[1], out[2] = scale * x, scale * y, scale * z
    elif cosine > 0.0:
        out[0], out[1], out[2] = x, y, z
    else:  # half a turn: the axis is the largest column of (E + 1) / 2
        x, y = math.sqrt(max(0.5 * (e00 + 1.0), 0.0)), math.sqrt(max(0.5 * (e11 + 1.0), 0.0))
        z = math.sqrt(max(0.5 * (e22 + 1.0), 0.0))
        if x >= y and x >= z:
            y, z = 0.25 * (e01 + e10) / x, 0.25 * (e02 + e20) / x
        elif y >= z:
            x, z = 0.25 * (e01 + e10) / y, 0.25 * (e12 + e21) / y
        else:
            x, y = 0.25 * (e02 + e20) / z, 0.25 * (e12 + e21) / z
        norm = math.sqrt(x * x + y * y + z * z)
        out[0], out[1], out[2] = angle * x / norm, angle * y / norm, angle * z / norm


@kernel
def pose_error(position: Array, rotation: Array, p: Array, R: Array, out: Array) -> None:
    """Write translation and rotation vector from pose ``p`` (3,), ``R`` (3, 3) to another pose to ``out`` (6,)."""
    for i in range(3):
        out[i] = position[i] - p[i]
    rotation_error(rotation, R, out[3:])


@kernel
def rotation_of(vector: Array, out: Array) -> None:
    """Compute the rotation matrix ``exp(vector^)`` (3, 3) of a rotation vector (3,) [rad] (Rodrigues)."""
    x, y, z = vector[0], vector[1], vector[2]
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    if angle > 1e-4:
        a, b = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
    else:
        a, b = 1.0 - square / 6.0, 0.5 - square / 24.0
    c = 1.0 - b * square
    out[0, 0], out[0, 1], out[0, 2] = c + b * x * x, b * x * y - a * z, b * x * z + a * y
    out[1, 0], out[1, 1], out[1, 2] = b * x * y + a * z, c + b * y * y, b * y * z - a * x
    out[2, 0], out[2, 1], out[2, 2] = b * x * z - a * y, b * y * z + a * x, c + b * z * z


@kernel
def rate_map(vector: Array, out: Array) -> None:
    """Compute the inverse left Jacobian ``J_l^-1(vector)`` (3, 3) of a rotation vector (3,) [rad].

    It maps the angular velocity, in fixed axes, to the rate of the rotation vector.
    ``J_l^-1 = 1 - v^/2 + (1/|v|^2 - (1 + cos|v|) / (2 |v| sin|v|)) v^ v^``; it is unbounded near a full turn.
    """
    x, y, z = vector[0], vector[1], vector[2]
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    if angle > 1e-3:
        half = 0.5 * angle
        c = (1.0 - half * math.cos(half) / math.sin(half)) / square
    else:
        c = 1.0 / 12.0 + square / 720.0
    d = 1.0 - c * square
    out[0, 0], out[0, 1], out[0, 2] = d + c * x * x, c * x * y + 0.5 * z, c * x * z - 0.5 * y
    out[1, 0], out[1, 1], out[1, 2] = c * x * y - 0.5 * z, d + c * y * y, c * y * z + 0.5 * x
    out[2, 0], out[2, 1], out[2, 2] = c * x * z + 0.5 * y, c * y * z - 0.5 * x, d + c * z * z
