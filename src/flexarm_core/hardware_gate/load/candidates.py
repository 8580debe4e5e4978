r"""Candidates for an undescribed load: small balls of all masses, each with the levers that explain the observations.

A ball of mass ``m`` with its center at ``c`` in the axes of the tool and the radius of gyration ``k`` has the
parameters ``theta(m, c, k) = [m, m c, I]``, ``I = m (|c|^2 1 - c c^T + k^2 1)``. With the information ``A`` and the sum
``s`` of all observations (:mod:`flexarm_core.hardware_gate.load.tool_load`), its cost, a negative log-likelihood, is

    1/2 theta . A theta - theta . s + 1/2 |c|^2 / LEVER^2 + 1/2 r^2 / SCALE^2 + 1/2 u^2 / ROUND^2

with ``r = log(m / m_k)`` and ``u = (k / BALL)^2 - 1``. The masses ``m_k`` stand on a logarithmic grid. The cost of the
candidate "no load" is 0. For each mass, several balls ``[c, r, u]`` are kept, each improved by steps of Gauss and
Newton, and one more is tried at each observation, from a point that no other one began at: very different loads may
explain the same observations; a wrist in free fall, for example, gives no information about a mass.

A load that is nearly a point hardly resists the rotation of a light wrist; as a ball of fixed radius it would cost
much. Radii are bounded: without, one would also explain a load that was lost.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocating_kernel, inlined_kernel, kernel, views
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.types import Array

MASSES, BALLS = 12, 5  # numbers of masses, and of balls for each
HEAVIEST, FACTOR = 0.96, 1.6  # largest mass, as a fraction of the arm's, and ratio of neighbors
REACH, BALL, LEVER = 0.25, 0.02, 0.1  # [m] farthest center, usual radius of gyration, standard deviation of ``c``
ROUND, SMALLEST, LARGEST = 3.0, -0.91, 4.0  # standard deviation and bounds of ``(k / BALL)^2 - 1``
SCALE = 0.25  # standard deviation of the logarithm of a mass about that of the grid
SPREAD = 0.15  # [m] centers are tried within this distance in each axis
STEPS = 3  # of Gauss and Newton for a new ball; a kept one makes one at each observation
TWINS = 0.005  # [m] balls of a mass with centers nearer to each other are one
NEVER = 1e30  # cost of a ball that is not used


class Candidates(NamedTuple):
    """Loads that may be there."""

    mass: Annotated[Array, 12]  # [kg] of the grid
    ball: Annotated[Array, 12, 5, 5]  # center [m] in the axes of the tool, log(m / m_k), and (k / BALL)^2 - 1
    cost: Annotated[Array, 12, 5]  # negative log-likelihood
    hand: Annotated[Array, 10]  # parameters of the told hand
    tried: Annotated[Array, 1]  # number of points that were tried


view_candidates = views(Candidates)


def begin(candidates: Candidates, arm_mass: float, hand: Array) -> None:
    """Forget all balls; ``arm_mass``: mass of the arm [kg], ``hand``: (6, 6) spatial inertia of the described hand."""
    candidates.hand[:4] = hand[0, 0], hand[1, 5], hand[2, 3], hand[0, 4]
    candidates.hand[4:] = hand[3, 3], hand[4, 4], hand[5, 5], hand[3, 4], hand[3, 5], hand[4, 5]
    candidates.mass[:] = HEAVIEST * arm_mass / FACTOR ** np.arange(MASSES)
    candidates.ball[:], candidates.cost[:], candidates.tried[:] = 0.0, NEVER, 0.0
    candidates.cost[:, 0] = 0.0


@inlined_kernel
def fit(candidates: Candidates, information: Array, seen: Array) -> None:
    """Improve all candidates, and try a new ball for each mass.

    Args:
        candidates: changed in place.
        information: (10, 10) sum of ``Y^T Y / variance`` over the observations.
        seen: (10,) sum of ``Y^T lacking / variance``.
    """
    start, new = np.zeros(5), np.empty(5)
    for _ in range(1 if candidates.tried[0] else BALLS):
        candidates.tried[0] += 1.0
        _halton(candidates.tried[0], start)
        for a in range(MASSES):
            _try(candidates, information, seen, a, start, new)


@inlined_kernel
def _halton(count: float, start: Array) -> None:
    """Write the center of a number of Halton's sequence into a ball (5,)."""
    for i in range(3):
        start[i], part, rest = 0.0, 1.0, count
        base = 2.0 if i == 0 else (3.0 if i == 1 else 5.0)
        while rest > 0.0:
            part, digit = part / base, rest % base
            start[i], rest = start[i] + part * digit, (rest - digit) / base
        start[i] = SPREAD * (2.0 * start[i] - 1.0)


@inlined_kernel
def _try(candidates: Candidates, information: Array, seen: Array, a: int, start: Array, new: Array) -> None:
    """Improve the balls of a mass, and replace the worst one by a new one that began at ``start`` if it is better."""
    mass, worst = candidates.mass[a], 0
    for b in range(BALLS):
        if candidates.cost[a, b] >= NEVER:
            worst = b
            continue
        candidates.cost[a, b] = _improve(information, seen, mass, candidates.ball[a, b], 1)
        for other in range(b):
            if _near(candidates.ball[a, b], candidates.ball[a, other]):
                candidates.cost[a, b] = NEVER
        if candidates.cost[a, b] > candidates.cost[a, worst]:
            worst = b
    new[:] = start
    cost = _improve(information, seen, mass, new, STEPS)
    for b in range(BALLS):
        if candidates.cost[a, b] < NEVER and _near(new, candidates.ball[a, b]):
            worst = b
    if cost < candidates.cost[a, worst]:
        candidates.ball[a, worst], candidates.cost[a, worst] = new, cost


@kernel
def _near(one: Array, other: Array) -> bool:
    square = 0.0
    for i in range(3):
        square += (one[i] - other[i]) ** 2
    return bool(square < TWINS * TWINS)


@allocating_kernel
def _improve(information: Array, seen: Array, mass: float, ball: Array, steps: int) -> float:
    """Move a ball (5,) by a number of steps, each only if it costs less, and return its cost."""
    slope, H, new = np.empty(5), np.empty((5, 5)), np.empty(5)
    D, moved, theta, misfit = np.empty((10, 5)), np.empty((10, 5)), np.empty(10), np.empty(10)
    cost = _cost(information, seen, mass, ball, theta, misfit)
    for _ in range(steps):
        _derivative(theta, ball, D)
        for k in range(10):
            for i in range(5):
                moved[k, i] = 0.0
                for m in range(10):
                    moved[k, i] += information[k, m] * D[m, i]
        for i in range(5):
            weight = 1.0 / LEVER**2 if i < 3 else (1.0 / SCALE**2 if i == 3 else 1.0 / ROUND**2)
            slope[i] = -weight * ball[i]
            for k in range(10):
                slope[i] -= D[k, i] * misfit[k]
            for j in range(i + 1):
                H[i, j] = weight if i == j else 0.0
                for k in range(10):
                    H[i, j] += D[k, i] * moved[k, j]
        cholesky(H, 5)
        cholesky_solve(H, slope, 5)
        far = 0.0
        for i in range(3):
            new[i] = ball[i] + slope[i]
            far += new[i] * new[i]
        new[3] = min(max(ball[3] + slope[3], -np.log(FACTOR)), np.log(FACTOR))
        new[4] = min(max(ball[4] + slope[4], SMALLEST), LARGEST)
        if far > REACH * REACH:
            for i in range(3):
                new[i] *= REACH / np.sqrt(far)
        found = _cost(information, seen, mass, new, theta, misfit)
        if not found < cost:
            for i in range(5):  # too far
                new[i] = ball[i] + 0.25 * (new[i] - ball[i])
            found = _cost(information, seen, mass, new, theta, misfit)
        if not found < cost:
            break
        ball[:], cost = new, found
    return cost


@kernel
def _cost(information: Array, seen: Array, mass: float, ball: Array, theta: Array, misfit: Array) -> float:
    """Return the cost of a ball (5,); also write its parameters (10,) and ``A theta - s`` (10,)."""
    parameters(mass, ball, theta)
    cost = 0.5 * (ball[0] * ball[0] + ball[1] * ball[1] + ball[2] * ball[2]) / LEVER**2
    cost += 0.5 * ball[3] * ball[3] / SCALE**2 + 0.5 * ball[4] * ball[4] / ROUND**2
    for k in range(10):
        misfit[k] = 0.0
        for m in range(10):
            misfit[k] += information[k, m] * theta[m]
        cost += theta[k] * (0.5 * misfit[k] - seen[k])
        misfit[k] -= seen[k]
    return cost


@kernel
def parameters(mass: float, ball: Array, theta: Array) -> None:
    """Write the parameters (10,) of a ball (5,): ``[m, m c, I_xx, I_yy, I_zz, I_xy, I_xz, I_yz]``."""
    m, c = mass * np.exp(ball[3]), ball
    theta[0] = m
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        theta[1 + i] = m * c[i]
        theta[4 + i] = m * (c[j] * c[j] + c[k] * c[k] + BALL * BALL * (1.0 + c[4]))
    theta[7], theta[8], theta[9] = -m * c[0] * c[1], -m * c[0] * c[2], -m * c[1] * c[2]


@inlined_kernel
def _derivative(theta: Array, c: Array, D: Array) -> None:
    """Write the derivative (10, 5) of the parameters (10,) by center and logarithm of the mass."""
    m = theta[0]
    for k in range(10):
        for i in range(3):
            D[k, i] = 0.0
        D[k, 3], D[k, 4] = theta[k], 0.0
    for i in range(3):
        D[1 + i, i], D[4 + i, 4] = m, m * BALL * BALL
        for j in range(3):
            if j != i:
                D[4 + i, j] = 2.0 * m * c[j]
    D[7, 0], D[7, 1] = -m * c[1], -m * c[0]
    D[8, 0], D[8, 2] = -m * c[2], -m * c[0]
    D[9, 1], D[9, 2] = -m * c[2], -m * c[1]


@allocating_kernel
def joint_inertia(mass: float, ball: Array, J: Array, L: Array) -> None:
    """Write the inertia (n, n) that a ball (5,) adds to the joints; ``J``: (6, n) Jacobian in the axes of the tool."""
    n, m = J.shape[1], mass * np.exp(ball[3])
    at = np.empty((3, n))  # Jacobian of the center: v + w x c
    for j in range(n):
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            at[i, j] = J[i, j] + J[3 + a, j] * ball[b] - J[3 + b, j] * ball[a]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(3):
                total += at[k, i] * at[k, j] + BALL * BALL * (1.0 + ball[4]) * J[3 + k, i] * J[3 + k, j]
            L[i, j] = L[j, i] = m * total


@inlined_kernel
def less_of_hand(candidates: Candidates, information: Array, seen: Array) -> tuple[float, float]:
    """Return slope and curvature of the cost ``slope x + curvature x^2 / 2`` of a share ``x`` that the hand lacks."""
    slope, curvature = 0.0, 0.0
    for k in range(10):
        slope += candidates.hand[k] * seen[k]
        for m in range(10):
            curvature += candidates.hand[k] * information[k, m] * candidates.hand[m]
    return slope, curvature


@inlined_kernel
def hand_inertia(candidates: Candidates, share: float, J: Array, L: Array) -> None:
    """Write the joint inertia (n, n) of a share of the described hand; ``J``: as in :func:`joint_inertia`."""
    n, p, moved = J.shape[1], candidates.hand, np.empty(6)
    for j in range(n):
        for i in range(3):  # m v + w x m c, and m c x v + I w
            a, b = (i + 1) % 3, (i + 2) % 3
            moved[i] = p[0] * J[i, j] + J[3 + a, j] * p[1 + b] - J[3 + b, j] * p[1 + a]
            moved[3 + i] = p[1 + a] * J[b, j] - p[1 + b] * J[a, j] + p[4 + i] * J[3 + i, j]
            moved[3 + i] += p[6 + i + a] * J[3 + a, j] + p[6 + i + b] * J[3 + b, j]
        for i in range(n):
            L[i, j] = 0.0
            for k in range(6):
                L[i, j] += share * J[k, i] * moved[k]
