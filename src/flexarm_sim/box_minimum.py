"""Minimum of a convex quadratic form in a box (compiled), for friction in a step and for saturated efforts."""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.types import Array


@kernel
def least_in_box(mobility: Array, offset: Array, work: Array, x: Array) -> None:
    """Minimize ``x^T W x / 2 + c^T x`` in a box, by a primal active-set method that starts at ``x``.

    Args:
        mobility: (n, n) W.
        offset: (n,) c.
        work: (n + 8, n) work array, rows n and n + 1 are the lower and upper bounds.
        x: (n,) start, overwritten with the result.
    """
    n = len(x)
    low, high, step, gradient, between = work[n], work[n + 1], work[n + 5], work[n + 6], work[n + 7]
    for i in range(n):
        x[i] = min(max(x[i], low[i]), high[i])
        between[i] = 1.0 if low[i] < x[i] < high[i] else 0.0
    for _ in range(20 * (n + 1)):
        slope(mobility, offset, x, gradient)
        newton(mobility, gradient, between, work, step)
        reach, blocked = 1.0, -1
        for i in range(n):
            if between[i] > 0.0 and not low[i] <= x[i] + step[i] <= high[i]:
                room = ((high[i] if step[i] > 0.0 else low[i]) - x[i]) / step[i]
                if room < reach:
                    reach, blocked = room, i
        for i in range(n):
            if between[i] > 0.0:
                x[i] = min(max(x[i] + reach * step[i], low[i]), high[i])
        if blocked >= 0:
            x[blocked] = high[blocked] if step[blocked] > 0.0 else low[blocked]
            between[blocked] = 0.0
            continue
        slope(mobility, offset, x, gradient)
        leaver, steepest = -1, 0.0
        for i in range(n):
            if between[i] == 0.0 and low[i] < high[i]:
                inward = gradient[i] if x[i] >= high[i] else -gradient[i]
                # compared as an effort; must exceed round-off
                if inward > steepest * mobility[i, i] and inward > 1e-13 * mobility[i, i] * high[i]:
                    leaver, steepest = i, inward / mobility[i, i]
        if leaver < 0:
            return
        between[leaver] = 1.0


@kernel
def slope(mobility: Array, offset: Array, x: Array, gradient: Array) -> None:
    """Write ``W x + c`` into ``gradient``."""
    for i in range(len(x)):
        rate = offset[i]
        for j in range(len(x)):
            rate += mobility[i, j] * x[j]
        gradient[i] = rate


@kernel
def newton(mobility: Array, gradient: Array, between: Array, work: Array, step: Array) -> None:
    """Compute the Newton step of the variables between their bounds, by Cholesky in ``work``; 0 for the others."""
    n = len(step)
    for i in range(n):
        if between[i] == 0.0:
            step[i] = 0.0
            continue
        rest = -gradient[i]
        for j in range(i):
            if between[j] > 0.0:
                entry = mobility[i, j]
                for k in range(j):
                    if between[k] > 0.0:
                        entry -= work[i, k] * work[j, k]
                work[i, j] = entry / work[j, j]
                rest -= work[i, j] * step[j]
        pivot = mobility[i, i]
        for k in range(i):
            if between[k] > 0.0:
                pivot -= work[i, k] * work[i, k]
        work[i, i] = math.sqrt(pivot)
        step[i] = rest / work[i, i]
    for i in range(n - 1, -1, -1):
        if between[i] > 0.0:
            rest = step[i]
            for j in range(i + 1, n):
                if between[j] > 0.0:
                    rest -= work[j, i] * step[j]
            step[i] = rest / work[i, i]
