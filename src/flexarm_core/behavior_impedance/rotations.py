"""SO(3) functions for the compiled law: exponential map and inverse left Jacobian."""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.types import Array


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
