r"""Pairs of postures, one at each tool position, between which the arm can move with little reaction.

If the base stays at rest, the coupling momentum of the arm stays zero, and so does its integral over any motion. From
random postures at both tool positions, the pairs that can be reached within the duration are taken; the best of these
have the smallest

    | integral W H_bm(q) q' ds |      along the straight joint line between them (Gauss, three points)

For translational base directions this is proportional to the displacement of the center of mass of the
arm, for any path.
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
    """A start posture and a goal posture.

    Attributes:
        start, goal: (n,) joint positions.
        transfer: norm of the integral above [sqrt(J) s^2].
    """

    start: Array
    goal: Array
    transfer: float


def pair_postures(
    momentum: CouplingMomentum, starts: Array, goals: Array, farthest: Array, count: int
) -> list[PosturePair]:
    """Return posture pairs, smallest integral first.

    Args:
        momentum: coupling momentum of the arm.
        starts: (s, n) start postures.
        goals: (g, n) goal postures.
        farthest: (n,) largest displacement of each joint that the duration allows.
        count: number of nearest pairs that are evaluated.
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
