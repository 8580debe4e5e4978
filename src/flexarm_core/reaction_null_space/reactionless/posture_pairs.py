r"""Pairs of postures, one at each tool position, between which the arm may go with little reaction.

A base at rest keeps the momentum of the arm at zero, so the momentum of any quiet motion, integrated, vanishes. Of
random postures at both places those pairs are taken that lie within the time's reach of each other, and of these the
ones with the least

    | integral W H_bm(q) q' ds |      along the straight line of the joints between them (Gauss, three points)

For directions in which the base is pushed that is the way of the arm's centre of mass, whatever the path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.reaction_null_space.coupling.coupling_momentum import CouplingMomentum
from flexarm_core.types import Array

POINTS = (0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15))
WEIGHTS = (5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0)


@dataclass(frozen=True, slots=True)
class PosturePair:
    """A start and a goal.

    Attributes:
        start, goal: (n,) joint positions.
        transfer: size of the integral above [sqrt(J) s^2].
    """

    start: Array
    goal: Array
    transfer: float


def pair_postures(
    momentum: CouplingMomentum, starts: Array, goals: Array, farthest: Array, count: int
) -> list[PosturePair]:
    """Pairs, the least integral first.

    Args:
        momentum: of the arm.
        starts: (s, n) postures.
        goals: (g, n) postures.
        farthest: (n,) way of each joint that the time allows.
        count: pairs that are looked at, the nearest ones.
    """
    if not len(starts) or not len(goals):
        return []
    ways = np.abs((goals[None] - starts[:, None]) / farthest).max(axis=2)
    nearest = np.argsort(ways, axis=None)[:count]
    first, second = np.unravel_index(nearest[ways.ravel()[nearest] <= 1.0], ways.shape)
    q, way = starts[first], goals[second] - starts[first]
    total = sum(weight * momentum.at(q + s * way, way) for s, weight in zip(POINTS, WEIGHTS, strict=True))
    sizes = np.linalg.norm(total, axis=1)
    return [PosturePair(q[i], q[i] + way[i], float(sizes[i])) for i in np.argsort(sizes)]
