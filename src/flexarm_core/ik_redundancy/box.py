r"""Quadratic program with box constraints: ``min |u + y|^2 / 2  s.t.  G u = goal,  low <= u <= high`` (compiled).

For multipliers ``lambda`` the minimizer over the box is ``u = clip(G^T lambda - y)``, and the dual is concave with the
gradient ``goal - G u``. A semismooth Newton step solves for the joints that are not at a bound, and releases joints
from bounds where possible; a line search on the piecewise linear slope makes the method converge globally. A small
proximal term ``mu (lambda - center)^2 / 2`` keeps the step defined if too few joints are free, and vanishes because
``center`` follows ``lambda``. For soft rows ``center`` stays 0, which makes them ``min |goal - G u|^2 / (2 mu)``.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from flexarm_core.compiled import inlined_kernel, kernel, views
from flexarm_core.types import Array

HARD, SOFT = 1e-10, 1e-3  # proximal term, and weight of the objective relative to infeasible (soft) rows
PASSES, LOOKS = 40, 50  # maximum number of Newton steps, and of evaluations per line search


class Box(NamedTuple):
    """The program, its solution, and the memory of the solver; up to six rows are in use, counted from the first."""

    G: Annotated[Array, 6, "n"]  # rows
    goal: Annotated[Array, 6]  # right-hand sides
    low: Annotated[Array, "n"]  # lower bounds
    high: Annotated[Array, "n"]  # upper bounds
    u: Annotated[Array, "n"]  # solution
    lam: Annotated[Array, 6]  # multipliers
    center: Annotated[Array, 6]  # of the proximal term
    mu: Annotated[Array, 6]  # its weights
    g: Annotated[Array, 6]  # dual gradient
    p: Annotated[Array, 6]  # Newton step of the multipliers
    B: Annotated[Array, 6, 6]  # Cholesky factor of the dual Hessian
    way: Annotated[Array, "n"]  # motion of ``u`` along the step, as far as no bound holds it
    value: Annotated[Array, "n"]  # ``u`` without bounds


view_box = views(Box, "n")


@inlined_kernel
def _gradient(box: Box, rows: int, y: Array) -> float:
    """Compute the minimizer ``u`` over the box and the dual gradient ``g``; return its largest element."""
    n = box.u.shape[0]
    for i in range(n):
        value = -y[i]
        for k in range(rows):
            value += box.lam[k] * box.G[k, i]
        box.u[i] = min(max(value, box.low[i]), box.high[i])
    largest = 0.0
    for k in range(rows):
        value = box.goal[k] - box.mu[k] * (box.lam[k] - box.center[k])
        for i in range(n):
            value -= box.G[k, i] * box.u[i]
        box.g[k] = value
        largest = max(largest, abs(value))
    return largest


@inlined_kernel
def _newton(box: Box, rows: int) -> None:
    """Solve ``(G D G^T + mu) p = g`` by Cholesky; ``D`` selects the joints that are not at a bound."""
    G, B, p = box.G, box.B, box.p
    n = box.u.shape[0]
    for j in range(rows):
        for k in range(j + 1):
            total = box.mu[j] if j == k else 0.0
            for i in range(n):
                if box.low[i] < box.u[i] < box.high[i]:
                    total += G[j, i] * G[k, i]
            for i in range(k):
                total -= B[j, i] * B[k, i]
            B[j, k] = math.sqrt(max(total, 1e-30)) if j == k else total / B[k, k]
    for j in range(rows):
        total = box.g[j]
        for i in range(j):
            total -= B[j, i] * p[i]
        p[j] = total / B[j, j]
    for j in range(rows - 1, -1, -1):
        total = p[j]
        for i in range(j + 1, rows):
            total -= B[i, j] * p[i]
        p[j] = total / B[j, j]


@inlined_kernel
def _line_search(box: Box, rows: int, y: Array, slope: float) -> float:
    """Find the zero of the slope of the dual along ``p``, which is piecewise linear and falls from ``slope`` at 0."""
    p, way, value = box.p, box.way, box.value
    n = way.shape[0]
    fixed, rate = 0.0, 0.0
    for k in range(rows):
        fixed += p[k] * (box.goal[k] - box.mu[k] * (box.lam[k] - box.center[k]))
        rate += p[k] * p[k] * box.mu[k]
    for i in range(n):
        way[i], value[i] = 0.0, -y[i]
        for k in range(rows):
            way[i] += p[k] * box.G[k, i]
            value[i] += box.lam[k] * box.G[k, i]
    left, right, at_left, at_right, a = 0.0, math.inf, slope, 0.0, 1.0
    for _ in range(LOOKS):
        now = fixed - a * rate
        for i in range(n):
            now -= way[i] * min(max(value[i] + a * way[i], box.low[i]), box.high[i])
        if abs(now) <= 1e-3 * slope:
            break
        if now > 0.0:
            left, at_left = a, now
        else:
            right, at_right = a, now
        if right == math.inf:
            a = 4.0 * a
        else:  # mean of secant and bisection
            a = 0.5 * (left + (right - left) * at_left / (at_left - at_right)) + 0.25 * (left + right)
    return a


@kernel
def nearest_in_box(box: Box, rows: int, soft: int, y: Array, tolerance: float) -> bool:
    """Find the point ``u`` of the box nearest to ``-y`` that satisfies the rows; soft rows as closely as possible.

    Args:
        box: the program; its solution is written.
        rows: number of rows in use.
        soft: number of soft rows, which are the last of these.
        y: (n,) negative of the desired point.
        tolerance: largest error of a hard row.

    Returns:
        Whether the hard rows are satisfied.
    """
    lam, center, mu, g, p = box.lam, box.center, box.mu, box.g, box.p
    for k in range(6):
        lam[k], center[k], mu[k] = 0.0, 0.0, HARD if k < rows - soft else SOFT
    error = 0.0
    for _ in range(PASSES):
        largest = _gradient(box, rows, y)
        if largest <= 0.1 * tolerance:
            error = 0.0
            for k in range(rows - soft):
                error = max(error, abs(g[k] + mu[k] * (lam[k] - center[k])))
                center[k] = lam[k]
            if error <= tolerance:
                break
            largest = _gradient(box, rows, y)
        if soft == 0 and _out_of_reach(box, rows):
            break
        _newton(box, rows)
        slope = 0.0
        for k in range(rows):
            slope += p[k] * g[k]
        if not slope > 0.0:
            break
        a = _line_search(box, rows, y, slope)
        for k in range(rows):
            lam[k] += a * p[k]
    return _hard_error(box, rows - soft) <= tolerance


@inlined_kernel
def _out_of_reach(box: Box, rows: int) -> bool:
    """Return whether the multipliers prove infeasibility: ``lam . goal > max lam . G u`` over the box (Farkas)."""
    excess, size = 0.0, 0.0
    for k in range(rows):
        excess += box.lam[k] * box.goal[k]
        size += abs(box.lam[k])
    for i in range(box.low.shape[0]):
        pull = 0.0
        for k in range(rows):
            pull += box.lam[k] * box.G[k, i]
        if pull != 0.0:
            excess -= pull * (box.high[i] if pull > 0.0 else box.low[i])
    return excess > 1e-9 * size


@inlined_kernel
def _hard_error(box: Box, rows: int) -> float:
    """Return the largest error of the first ``rows`` rows."""
    largest = 0.0
    for k in range(rows):
        value = box.goal[k]
        for i in range(box.u.shape[0]):
            value -= box.G[k, i] * box.u[i]
        largest = max(largest, abs(value))
    return largest
