r"""Quadratic program with box constraints: ``min |u + y|^2 / 2  s.t.  G u = goal,  low <= u <= high`` (compiled).

For multipliers ``lambda`` the minimizer over the box is ``u = clip(G^T lambda - y)``, and the dual is concave with the
gradient ``goal - G u``. A semismooth Newton step solves for the joints that are not at a bound, and releases joints
from bounds where possible; a line search on the piecewise linear slope makes the method converge globally. A small
proximal term ``mu (lambda - center)^2 / 2`` keeps the step defined if too few joints are free, and vanishes because
``center`` follows ``lambda``. For soft rows ``center`` stays 0, which makes them ``min |goal - G u|^2 / (2 mu)``.
"""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel, view
from flexarm_core.types import Array

HARD, SOFT = 1e-10, 1e-3  # proximal term, and weight of the objective relative to infeasible (soft) rows
PASSES, LOOKS = 40, 50  # maximum number of Newton steps, and of evaluations per line search


@kernel
def _gradient(
    G: Array, goal: Array, rows: int, y: Array, low: Array, high: Array, lam: Array, center: Array, mu: Array,
    u: Array, out: Array,
) -> float:  # fmt: skip
    """Write the minimizer over the box to ``u`` and the dual gradient to ``out``; return its largest element."""
    n = u.shape[0]
    for i in range(n):
        value = -y[i]
        for k in range(rows):
            value += lam[k] * G[k, i]
        u[i] = min(max(value, low[i]), high[i])
    largest = 0.0
    for k in range(rows):
        value = goal[k] - mu[k] * (lam[k] - center[k])
        for i in range(n):
            value -= G[k, i] * u[i]
        out[k] = value
        largest = max(largest, abs(value))
    return largest


@kernel
def _newton(G: Array, rows: int, low: Array, high: Array, u: Array, mu: Array, g: Array, B: Array, p: Array) -> None:
    """Solve ``(G D G^T + mu) p = g`` by Cholesky; ``D`` selects the joints that are not at a bound."""
    n = u.shape[0]
    for j in range(rows):
        for k in range(j + 1):
            total = mu[j] if j == k else 0.0
            for i in range(n):
                if low[i] < u[i] < high[i]:
                    total += G[j, i] * G[k, i]
            for i in range(k):
                total -= B[j, i] * B[k, i]
            B[j, k] = math.sqrt(max(total, 1e-30)) if j == k else total / B[k, k]
    for j in range(rows):
        total = g[j]
        for i in range(j):
            total -= B[j, i] * p[i]
        p[j] = total / B[j, j]
    for j in range(rows - 1, -1, -1):
        total = p[j]
        for i in range(j + 1, rows):
            total -= B[i, j] * p[i]
        p[j] = total / B[j, j]


@kernel
def _line_search(
    G: Array, goal: Array, rows: int, y: Array, low: Array, high: Array, lam: Array, center: Array, mu: Array, p: Array,
    slope: float, way: Array, value: Array,
) -> float:  # fmt: skip
    """Find the zero of the slope of the dual along ``p``, which is piecewise linear and falls from ``slope`` at 0."""
    n = way.shape[0]
    fixed, rate = 0.0, 0.0
    for k in range(rows):
        fixed += p[k] * (goal[k] - mu[k] * (lam[k] - center[k]))
        rate += p[k] * p[k] * mu[k]
    for i in range(n):
        way[i], value[i] = 0.0, -y[i]
        for k in range(rows):
            way[i] += p[k] * G[k, i]
            value[i] += lam[k] * G[k, i]
    left, right, at_left, at_right, a = 0.0, math.inf, slope, 0.0, 1.0
    for _ in range(LOOKS):
        now = fixed - a * rate
        for i in range(n):
            now -= way[i] * min(max(value[i] + a * way[i], low[i]), high[i])
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
def nearest_in_box(
    G: Array, goal: Array, rows: int, soft: int, y: Array, low: Array, high: Array, memory: Array, tolerance: float,
    u: Array,
) -> bool:  # fmt: skip
    """Find the point ``u`` (n,) of the box nearest to ``-y`` that satisfies the rows; soft rows as closely as possible.

    Args:
        G: (6, n) rows.
        goal: (6,) right-hand sides.
        rows: number of rows in use, counted from the first.
        soft: number of soft rows, which are the last of these.
        y: (n,) negative of the desired point.
        low: (n,) lower bounds.
        high: (n,) upper bounds.
        memory: (72 + 2 n,) work array.
        tolerance: largest error of a hard row.
        u: (n,) output.

    Returns:
        Whether the hard rows are satisfied.
    """
    lam, center = view(memory, 0, (6,)), view(memory, 6, (6,))
    n = u.shape[0]
    g, p = view(memory, 12, (6,)), view(memory, 18, (6,))
    way, value = view(memory, 72, (n,)), view(memory, 72 + n, (n,))
    B, mu = view(memory, 30, (6, 6)), view(memory, 66, (6,))
    for k in range(6):
        lam[k], center[k], mu[k] = 0.0, 0.0, HARD if k < rows - soft else SOFT
    error = 0.0
    for _ in range(PASSES):
        largest = _gradient(G, goal, rows, y, low, high, lam, center, mu, u, g)
        if largest <= 0.1 * tolerance:
            error = 0.0
            for k in range(rows - soft):
                error = max(error, abs(g[k] + mu[k] * (lam[k] - center[k])))
                center[k] = lam[k]
            if error <= tolerance:
                break
            largest = _gradient(G, goal, rows, y, low, high, lam, center, mu, u, g)
        if soft == 0 and _out_of_reach(G, goal, rows, low, high, lam):
            break
        _newton(G, rows, low, high, u, mu, g, B, p)
        slope = 0.0
        for k in range(rows):
            slope += p[k] * g[k]
        if not slope > 0.0:
            break
        a = _line_search(G, goal, rows, y, low, high, lam, center, mu, p, slope, way, value)
        for k in range(rows):
            lam[k] += a * p[k]
    return _hard_error(G, goal, rows - soft, u) <= tolerance


@kernel
def _out_of_reach(G: Array, goal: Array, rows: int, low: Array, high: Array, lam: Array) -> bool:
    """Return whether the multipliers prove infeasibility: ``lam . goal > max lam . G u`` over the box (Farkas)."""
    excess, size = 0.0, 0.0
    for k in range(rows):
        excess += lam[k] * goal[k]
        size += abs(lam[k])
    for i in range(low.shape[0]):
        pull = 0.0
        for k in range(rows):
            pull += lam[k] * G[k, i]
        if pull != 0.0:
            excess -= pull * (high[i] if pull > 0.0 else low[i])
    return excess > 1e-9 * size


@kernel
def _hard_error(G: Array, goal: Array, rows: int, u: Array) -> float:
    """Return the largest error of the first ``rows`` rows."""
    largest = 0.0
    for k in range(rows):
        value = goal[k]
        for i in range(u.shape[0]):
            value -= G[k, i] * u[i]
        largest = max(largest, abs(value))
    return largest
