"""Search for joint paths of least reaction between two tool positions, with a free tool between them.

Optimizations start at straight joint lines between pairs of postures that need little momentum; after each stage only
the best continue. Then the best paths are varied at random and optimized again, round by round, to leave local minima.
Finally the weight of the selected base motions is increased.

The score of a path is the peak of its reaction, relative to the peak reaction of resolved acceleration along the
straight line from the same posture, or from a typical start posture if that is smaller: a posture with a very poor
straight line must not improve the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from flexarm_core.reaction_null_space.coupling.coupling_momentum import CouplingMomentum
from flexarm_core.reaction_null_space.reactionless.least_reaction import STAGES, LeastReaction
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.reactionless.posture_pairs import PosturePair, pair_postures
from flexarm_core.reaction_null_space.reactionless.resolved_line import resolved_line
from flexarm_core.reaction_null_space.reactionless.start_search import FASTEST_RATE
from flexarm_core.reaction_null_space.vibration.motion_limits import MotionBounds
from flexarm_core.types import Array

TYPICAL = 30  # number of start postures from which the typical reaction is computed
APART = 0.4  # [rad | m] least difference between two pairs
SURVIVORS = (1.0, 0.5, 0.25, 0.17)  # share of the starts that enter each stage
EMPHASES = (10.0, 100.0)  # final weights of the selected motions, in turn, so that the reactionless law can follow them
FINISHED = 3  # number of best paths for which these weights are applied
BENT = 2  # number of best paths that are varied in a round
BEND = 0.3  # standard deviation [rad | m] of the variation of each joint at the start, in the middle and at the goal
COORDINATES = np.linspace(0.0, 1.0, 41)


@dataclass(frozen=True, slots=True)
class FoundPath:
    """A joint path that the search has found.

    Attributes:
        score: relative peak reaction as defined in the module docstring; smaller is better.
        coefficients: (c, n) spline coefficients.
        path: joint positions as a function of a path coordinate from 0 to 1.
    """

    score: float
    coefficients: Array
    path: BSpline


@dataclass(frozen=True, slots=True)
class FreeSearch:
    """Effort and targets of the search.

    Attributes:
        pairs: number of posture pairs that are evaluated.
        starts: number of optimizations in the first round.
        bends: number of optimizations in a round of varied paths.
        rounds: largest number of rounds of varied paths.
        good_score: score at which the search stops.
        least_conditioning: least ``sigma_min / sigma_max`` of the selected coupling at the start.
    """

    pairs: int
    starts: int
    bends: int
    rounds: int
    good_score: float
    least_conditioning: float

    def run(
        self,
        motions: ReactionlessMotions,
        momentum: CouplingMomentum,
        ends: tuple[Array, Array],
        postures: tuple[Array, Array],
        duration: float,
        bounds: MotionBounds,
        generator: np.random.Generator,
    ) -> list[FoundPath]:
        """Return the best paths after the final optimization, followed by the same paths before it.

        The paths before the final optimization may satisfy limits that the final ones violate. The list is empty if no
        two postures are close enough for the duration.

        Args:
            motions: reactionless motions of the arm.
            momentum: coupling momentum of the arm.
            ends: (a,), (a,) tool positions at start and goal [m].
            postures: (s, n), (g, n) postures at start and goal; a single start posture is kept fixed.
            duration: duration of the motion [s].
            bounds: bounds of the joint motion.
            generator: random number generator.
        """
        fixed = len(postures[0]) == 1
        minimum = LeastReaction(motions, momentum, ends, duration, bounds, fixed, self.least_conditioning)

        def straight(posture: Array) -> float:
            return minimum.peak_reaction(minimum.begin(resolved_line(motions, posture, ends[1] - ends[0])(COORDINATES)))

        typical = float(np.median([straight(posture) for posture in postures[0][:TYPICAL]]))

        def judged(coefficients: Array) -> FoundPath:
            score = minimum.peak_reaction(coefficients) / min(typical, straight(coefficients[0]))
            return FoundPath(score, coefficients, minimum.path(coefficients))

        def finished(found: FoundPath) -> FoundPath:
            coefficients = found.coefficients
            for emphasis in EMPHASES:
                coefficients = minimum.improve(coefficients, typical, STAGES[-1], emphasis)
            return judged(coefficients)

        def minimized(begun: Sequence[Array]) -> list[FoundPath]:
            found = [judged(each) for each in begun]
            for stage, share in zip(STAGES, SURVIVORS, strict=True):
                found = found[: max(1, round(share * len(begun)))]
                better = [judged(minimum.improve(each.coefficients, typical, stage)) for each in found]
                found = sorted(better, key=lambda each: each.score)
            return found

        pairs = pair_postures(momentum, *postures, bounds.velocity * duration / FASTEST_RATE, self.pairs)
        begun = [minimum.begin(np.linspace(pair.start, pair.goal, 9)) for pair in _different(pairs, self.starts)]
        best = minimized(begun) if begun else []
        for _ in range(self.rounds if begun else 0):
            if best[0].score <= self.good_score:
                break
            bent = [_bent(best[i % min(BENT, len(best))].coefficients, generator, fixed) for i in range(self.bends)]
            best = sorted([*best, *minimized(bent)], key=lambda each: each.score)
        return [*(finished(each) for each in best[:FINISHED]), *best[:FINISHED]]


def _bent(coefficients: Array, generator: np.random.Generator, fixed: bool) -> Array:
    """Return a path varied by a random parabola in each joint; the start is kept if it is fixed."""
    s = np.linspace(0.0, 1.0, len(coefficients))[:, None]
    start, goal, middle = BEND * generator.standard_normal((3, coefficients.shape[1]))
    return coefficients + (0.0 if fixed else 1.0) * (1.0 - s) * start + s * goal + 4.0 * s * (1.0 - s) * middle


def _different(pairs: Sequence[PosturePair], count: int) -> list[PosturePair]:
    """Return the first pairs whose start or goal differs sufficiently from all previously kept pairs."""
    kept: list[PosturePair] = []
    for pair in pairs:
        if len(kept) == count:
            break
        if all(
            max(np.abs(pair.start - other.start).max(), np.abs(pair.goal - other.goal).max()) > APART for other in kept
        ):
            kept.append(pair)
    return kept
