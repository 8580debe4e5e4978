"""One damped Newton step of the inverse kinematics search, within limits (compiled).

With the weighted error ``e`` and its Jacobian ``A``:

    dq = d + A^T y,    (A A^T + damping 1) y = e - A d

``d`` is zero, or a displacement towards the start. A joint whose step would cross a limit is set to
that limit, and the step is solved again for the other joints.
"""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.types import Array

SCALE, LOWER, UPPER, LOW, HIGH, ENDLESS = range(6)  # rows of ``joints``
FLOOR = 1e-9  # keeps the system solvable if rows are linearly dependent; too small to slow the last steps
# Share of the distance back to the start per step, and the largest such step [rad]: the full distance at once would not
# converge where the solution manifold is strongly curved.
SLIDE_PART, LONGEST_SLIDE = 0.5, 1.0


@kernel
def weigh(joints: Array, weight: Array, vector: Array, J: Array) -> None:
    """Convert the pose Jacobian in place to the Jacobian of the weighted error per unit of scaled joint motion."""
    a, b, c = vector[0], vector[1], vector[2]
    square = a * a + b * b + c * c
    angle = math.sqrt(square)
    # J_r^-1(v) = 1 + [v]x / 2 + k [v]x^2
    k = 1.0 / 12.0 if angle < 1e-3 else 1.0 / square - 0.5 / (angle * math.tan(0.5 * angle))
    for i in range(J.shape[1]):
        scale = joints[SCALE, i]
        x, y, z = J[3, i], J[4, i], J[5, i]
        u, v, w = b * z - c * y, c * x - a * z, a * y - b * x
        J[0, i] *= scale * weight[0]
        J[1, i] *= scale * weight[1]
        J[2, i] *= scale * weight[2]
        J[3, i] = scale * weight[3] * (x + 0.5 * u + k * (b * w - c * v))
        J[4, i] = scale * weight[4] * (y + 0.5 * v + k * (c * u - a * w))
        J[5, i] = scale * weight[5] * (z + 0.5 * w + k * (a * v - b * u))


@kernel
def damped_step(
    joints: Array,
    start: Array,
    damping: float,
    slide: bool,
    q: Array,
    e: Array,
    J: Array,
    A: Array,
    y: Array,
    dq: Array,
    held: Array,
) -> float:
    """Do one step of ``q`` within the limits; return the largest scaled joint motion. ``e`` is overwritten."""
    n, farthest = q.shape[0], 0.0
    low, high = (LOWER, UPPER) if slide else (LOW, HIGH)
    for i in range(n):
        held[i] = 0.0
        dq[i] = (start[i] - q[i]) / joints[SCALE, i] if slide else 0.0
        farthest = max(farthest, abs(dq[i]))
    if farthest > 0.0:
        part = min(SLIDE_PART, LONGEST_SLIDE / farthest)
        for i in range(n):
            dq[i] *= part
            for r in range(6):
                e[r] -= J[r, i] * dq[i]
    changed = True
    while changed:  # each iteration saturates at least one more joint
        for r in range(6):
            for k in range(r + 1):
                A[r, k] = damping if r == k else 0.0
        for i in range(n):
            if held[i] == 0.0:
                for r in range(6):
                    for k in range(r + 1):
                        A[r, k] += J[r, i] * J[k, i]
        for r in range(6):
            y[r] = e[r]
        cholesky(A, 6, FLOOR * FLOOR)
        cholesky_solve(A, y, 6)
        changed = False
        for i in range(n):
            if held[i] == 0.0:
                wish = dq[i]
                for r in range(6):
                    wish += J[r, i] * y[r]
                below, above = joints[low, i] - q[i], joints[high, i] - q[i]
                bounded = min(max(wish, below / joints[SCALE, i]), above / joints[SCALE, i])
                if bounded != wish:
                    held[i], changed = 1.0, True
                    for r in range(6):
                        e[r] -= J[r, i] * (bounded - dq[i])
                    dq[i] = bounded
    largest = 0.0
    for i in range(n):
        if held[i] == 0.0:
            for r in range(6):
                dq[i] += J[r, i] * y[r]
        q[i] = min(max(q[i] + joints[SCALE, i] * dq[i], joints[low, i]), joints[high, i])
        largest = max(largest, abs(dq[i]))
    return largest
