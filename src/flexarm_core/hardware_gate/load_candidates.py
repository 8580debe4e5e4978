r"""Candidates for a load that nobody told: small balls of every mass, each with the levers that fit what was seen.

A ball of mass ``m`` with its center at ``c`` in the axes of the tool has the parameters ``theta(m, c) = [m, m c, I]``,
``I = m (|c|^2 1 - c c^T + BALL^2 1)``. With the information ``A`` and the sum ``s`` of all observations
(:mod:`flexarm_core.hardware_gate.tool_load`), its cost, a negative log-likelihood, is

    1/2 theta . A theta - theta . s + 1/2 |c|^2 / LEVER^2

No load costs 0. Masses stand on a logarithmic grid. For each, several centers are kept, each improved by steps of
Gauss and Newton, and one more is tried at each observation, from a point that no other one began at: what was seen may
be explained by several loads that differ much, as a wrist in free fall tells nothing of a mass.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import kernel, views
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.types import Array

MASSES, CENTERS = 9, 5  # numbers of masses, and of centers for each
HEAVIEST, FACTOR = 0.6, 1.6  # largest mass, as a fraction of the arm's, and ratio of neighbors
REACH, BALL, LEVER = 0.25, 0.02, 0.1  # [m] farthest center, radius of gyration, and standard deviation of ``c``
SPREAD = 0.15  # [m] centers are tried within this distance in each axis
STEPS = 3  # of Gauss and Newton for a new center; a kept one makes one at each observation
TWINS = 0.005  # [m] centers nearer to each other are one
NEVER = 1e30  # cost of a center that is not used


class Candidates(NamedTuple):
    """Loads that may be there."""

    mass: Annotated[Array, 9]  # [kg]
    center: Annotated[Array, 9, 5, 3]  # [m] in the axes of the tool
    cost: Annotated[Array, 9, 5]  # negative log-likelihood
    tried: Annotated[Array, 1]  # number of points that were tried


view_candidates = views(Candidates)


def begin(candidates: Candidates, arm_mass: float) -> None:
    """Forget all centers; ``arm_mass``: mass of the arm [kg]."""
    candidates.mass[:] = HEAVIEST * arm_mass / FACTOR ** np.arange(MASSES)
    candidates.center[:], candidates.cost[:], candidates.tried[:] = 0.0, NEVER, 0.0
    candidates.cost[:, 0] = 0.0


@kernel
def fit(candidates: Candidates, information: Array, seen: Array) -> None:
    """Improve all candidates, and try a new center for each mass.

    Args:
        candidates: changed in place.
        information: (10, 10) sum of ``Y^T Y / variance`` over the observations.
        seen: (10,) sum of ``Y^T lacking / variance``.
    """
    start, c, count = np.empty(3), np.empty(3), candidates.tried[0] + 1.0
    candidates.tried[0] = count
    for i in range(3):  # Halton's sequence
        start[i], part, rest = 0.0, 1.0, count
        base = 2.0 if i == 0 else (3.0 if i == 1 else 5.0)
        while rest > 0.0:
            part, digit = part / base, rest % base
            start[i], rest = start[i] + part * digit, (rest - digit) / base
        start[i] = SPREAD * (2.0 * start[i] - 1.0)
    for a in range(MASSES):
        mass, worst = candidates.mass[a], 0
        for b in range(CENTERS):
            if candidates.cost[a, b] >= NEVER:
                worst = b
                continue
            candidates.cost[a, b] = _improve(information, seen, mass, candidates.center[a, b], 1)
            for other in range(b):
                if _near(candidates.center[a, b], candidates.center[a, other]):
                    candidates.cost[a, b] = NEVER
            if candidates.cost[a, b] > candidates.cost[a, worst]:
                worst = b
        c[:] = start
        cost = _improve(information, seen, mass, c, STEPS)
        for b in range(CENTERS):
            if candidates.cost[a, b] < NEVER and _near(c, candidates.center[a, b]):
                worst = b
        if cost < candidates.cost[a, worst]:
            candidates.center[a, worst], candidates.cost[a, worst] = c, cost


@kernel
def _near(one: Array, other: Array) -> bool:
    square = 0.0
    for i in range(3):
        square += (one[i] - other[i]) ** 2
    return bool(square < TWINS * TWINS)


@kernel
def _improve(information: Array, seen: Array, mass: float, c: Array, steps: int) -> float:
    """Move a center (3,) by a number of steps, each only if it costs less, and return its cost."""
    slope, H, new = np.empty(3), np.empty((3, 3)), np.empty(3)
    D, moved, theta, misfit = np.empty((10, 3)), np.empty((10, 3)), np.empty(10), np.empty(10)
    cost = _cost(information, seen, mass, c, theta, misfit)
    for _ in range(steps):
        _derivative(mass, c, D)
        for k in range(10):
            for i in range(3):
                moved[k, i] = 0.0
                for m in range(10):
                    moved[k, i] += information[k, m] * D[m, i]
        for i in range(3):
            slope[i] = -c[i] / LEVER**2
            for k in range(1, 10):
                slope[i] -= D[k, i] * misfit[k]
            for j in range(i + 1):
                H[i, j] = 1.0 / LEVER**2 if i == j else 0.0
                for k in range(1, 10):
                    H[i, j] += D[k, i] * moved[k, j]
        cholesky(H, 3)
        cholesky_solve(H, slope, 3)
        far = 0.0
        for i in range(3):
            new[i] = c[i] + slope[i]
            far += new[i] * new[i]
        if far > REACH * REACH:
            for i in range(3):
                new[i] *= REACH / np.sqrt(far)
        found = _cost(information, seen, mass, new, theta, misfit)
        if not found < cost:
            for i in range(3):  # too far
                new[i] = c[i] + 0.25 * (new[i] - c[i])
            found = _cost(information, seen, mass, new, theta, misfit)
        if not found < cost:
            break
        c[:], cost = new, found
    return cost


@kernel
def _cost(information: Array, seen: Array, mass: float, c: Array, theta: Array, misfit: Array) -> float:
    """Return the cost of a ball; also write its parameters (10,) and ``A theta - s`` (10,)."""
    parameters(mass, c, theta)
    cost = 0.5 * (c[0] * c[0] + c[1] * c[1] + c[2] * c[2]) / LEVER**2
    for k in range(10):
        misfit[k] = 0.0
        for m in range(10):
            misfit[k] += information[k, m] * theta[m]
        cost += theta[k] * (0.5 * misfit[k] - seen[k])
        misfit[k] -= seen[k]
    return cost


@kernel
def parameters(mass: float, c: Array, theta: Array) -> None:
    """Write the parameters (10,) of a ball: ``[m, m c, I_xx, I_yy, I_zz, I_xy, I_xz, I_yz]``."""
    theta[0] = mass
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        theta[1 + i] = mass * c[i]
        theta[4 + i] = mass * (c[j] * c[j] + c[k] * c[k] + BALL * BALL)
    theta[7], theta[8], theta[9] = -mass * c[0] * c[1], -mass * c[0] * c[2], -mass * c[1] * c[2]


@kernel
def _derivative(mass: float, c: Array, D: Array) -> None:
    """Write the derivative (10, 3) of the parameters by the center."""
    D[:] = 0.0
    for i in range(3):
        D[1 + i, i] = mass
        for j in range(3):
            if j != i:
                D[4 + i, j] = 2.0 * mass * c[j]
    D[7, 0], D[7, 1] = -mass * c[1], -mass * c[0]
    D[8, 0], D[8, 2] = -mass * c[2], -mass * c[0]
    D[9, 1], D[9, 2] = -mass * c[2], -mass * c[1]


@kernel
def joint_inertia(mass: float, c: Array, J: Array, L: Array) -> None:
    """Write the inertia (n, n) that a ball adds to the joints; ``J``: (6, n) Jacobian in the axes of the tool."""
    n = J.shape[1]
    at = np.empty((3, n))  # Jacobian of the center: v + w x c
    for j in range(n):
        for i in range(3):
            k, m = (i + 1) % 3, (i + 2) % 3
            at[i, j] = J[i, j] + J[3 + k, j] * c[m] - J[3 + m, j] * c[k]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(3):
                total += at[k, i] * at[k, j] + BALL * BALL * J[3 + k, i] * J[3 + k, j]
            L[i, j] = L[j, i] = mass * total
