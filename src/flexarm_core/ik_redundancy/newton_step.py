"""One damped Newton step of the inverse kinematics search, within limits (compiled).

With the weighted error ``e`` and its Jacobian ``A``:

    dq = d + A^T y,    (A A^T + damping 1) y = e - A d

``d`` is zero, or a displacement towards the start. A joint whose step would cross a limit is set to
that limit, and the step is solved again for the other joints.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.types import Array

FLOOR = 1e-9  # keeps the system solvable if rows are linearly dependent; too small to slow the last steps
# Share of the distance back to the start per step, and the largest such step [rad]: the full distance at once would not
# converge where the solution manifold is strongly curved.
SLIDE_PART, LONGEST_SLIDE = 0.5, 1.0


class StepMemory(NamedTuple):
    """Problem and work array of one step."""

    e: Annotated[Array, 6]  # weighted error
    J: Annotated[Array, 6, "n"]  # its Jacobian A
    dq: Annotated[Array, "n"]  # input: displacement d; output: step, in units of ``scale``
    A: Annotated[Array, 6, 6]  # matrix of the system, then its Cholesky factor
    y: Annotated[Array, 6]  # its solution
    held: Annotated[Array, "n"]  # 1 for a joint that is set to a limit


@kernel
def weigh(scale: Array, weight: Array, vector: Array, J: Array) -> None:
    """Convert the pose Jacobian in place to the Jacobian of the weighted error per unit of scaled joint motion."""
    a, b, c = vector[0], vector[1], vector[2]
    square = a * a + b * b + c * c
    angle = math.sqrt(square)
    # J_r^-1(v) = 1 + [v]x / 2 + k [v]x^2
    k = 1.0 / 12.0 if angle < 1e-3 else 1.0 / square - 0.5 / (angle * math.tan(0.5 * angle))
    for i in range(J.shape[1]):
        x, y, z = J[3, i], J[4, i], J[5, i]
        u, v, w = b * z - c * y, c * x - a * z, a * y - b * x
        J[0, i] *= scale[i] * weight[0]
        J[1, i] *= scale[i] * weight[1]
        J[2, i] *= scale[i] * weight[2]
        J[3, i] = scale[i] * weight[3] * (x + 0.5 * u + k * (b * w - c * v))
        J[4, i] = scale[i] * weight[4] * (y + 0.5 * v + k * (c * u - a * w))
        J[5, i] = scale[i] * weight[5] * (z + 0.5 * w + k * (a * v - b * u))


@inlined_kernel
def slide(scale: Array, start: Array, q: Array, m: StepMemory) -> None:
    """Set the displacement of a step to a part of the way back to the start (n,), and the error to what remains."""
    farthest = 0.0
    for i in range(q.shape[0]):
        m.dq[i] = (start[i] - q[i]) / scale[i]
        farthest = max(farthest, abs(m.dq[i]))
    if farthest > 0.0:
        part = min(SLIDE_PART, LONGEST_SLIDE / farthest)
        for i in range(q.shape[0]):
            m.dq[i] *= part
            for r in range(6):
                m.e[r] -= m.J[r, i] * m.dq[i]


@inlined_kernel
def damped_step(scale: Array, bounds: Array, damping: float, q: Array, m: StepMemory) -> float:
    """Do one step of ``q`` (n,) within bounds (2, n); return the largest scaled joint motion.

    The error and the displacement of the memory are overwritten.
    """
    n, e, J, A, y, dq, held = q.shape[0], m.e, m.J, m.A, m.y, m.dq, m.held
    for i in range(n):
        held[i] = 0.0
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
                below, above = bounds[0, i] - q[i], bounds[1, i] - q[i]
                bounded = min(max(wish, below / scale[i]), above / scale[i])
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
        q[i] = min(max(q[i] + scale[i] * dq[i], bounds[0, i]), bounds[1, i])
        largest = max(largest, abs(dq[i]))
    return largest
