"""Joint paths of least reaction between two tool positions, the tool free between them: many starts, halved in turn.

Minimisations begin at straight joint lines between pairs of postures that ask for little momentum; after each stage
the better half goes on. Then the best ones are bent at random and minimised again, round by round, which leads out of
local minima. In the end the selected motions of the base are made to count more.

A path is judged by the peak of its reaction, relative to that of resolved acceleration along the straight line from
the same posture, or to that of a typical start posture where that is less: a posture from which the straight line
would be wild is no merit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from flexarm_core.reaction_null_space.coupling.coupling_momentum import CouplingMomentum
from flexarm_core.reaction_null_space.reactionless.least_reaction import STAGES, LeastReaction
from flexarm_core.reaction_null_space.reactionless.line_search import FASTEST_RATE
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.reactionless.posture_pairs import PosturePair, pair_postures
from flexarm_core.reaction_null_space.reactionless.resolved_line import resolved_line
from flexarm_core.reaction_null_space.vibration.motion_limits import MotionBounds
from flexarm_core.types import Array

TYPICAL = 30  # start postures that say what is typical
APART = 0.4  # [rad | m] by which two pairs differ at least
SURVIVORS = (1.0, 0.5, 0.25, 0.17)  # share of the starts that enter each stage
EMPHASES = (10.0, 100.0)  # in turn, of the selected motions in the end: a law that keeps them quiet can follow the path
FINISHED = 3  # best paths for which that is done
BENT = 2  # best paths that are bent in a round
BEND = 0.3  # standard deviation [rad | m] of each joint's bend at the start, in the middle and at the goal
COORDINATES = np.linspace(0.0, 1.0, 41)


@dataclass(frozen=True, slots=True)
class FoundPath:
    """A joint path.

    Attributes:
        score: peak reaction as above, the smaller the better.
        coefficients: (c, n) of its spline.
        path: joint positions by the path coordinate from 0 to 1.
    """

    score: float
    coefficients: Array
    path: BSpline


@dataclass(frozen=True, slots=True)
class FreeSearch:
    """What is tried.

    Attributes:
        pairs: pairs of postures that are looked at.
        starts: minimisations to begin with.
        bends: minimisations in a round of bent paths.
        rounds: of bent paths, at most.
        good_score: at which nothing better is looked for.
        least_conditioning: ``sigma_min / sigma_max`` of the selected motions' coupling to have at the start.
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
        """The best paths, finished, and then the same ones as they were before: they may keep limits that these pass.

        None where no two postures are near enough for the time.

        Args:
            motions: of the arm.
            momentum: of the arm.
            ends: (a,), (a,) tool positions at start and goal [m].
            postures: (s, n), (g, n) at start and goal; where the start has only one, it is kept.
            duration: of the motion [s].
            bounds: of the joints.
            generator: of random numbers.
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

        def minimised(begun: Sequence[Array]) -> list[FoundPath]:
            found = [judged(each) for each in begun]
            for stage, share in zip(STAGES, SURVIVORS, strict=True):
                found = found[: max(1, round(share * len(begun)))]
                better = [judged(minimum.improve(each.coefficients, typical, stage)) for each in found]
                found = sorted(better, key=lambda each: each.score)
            return found

        pairs = pair_postures(momentum, *postures, bounds.velocity * duration / FASTEST_RATE, self.pairs)
        begun = [minimum.begin(np.linspace(pair.start, pair.goal, 9)) for pair in _different(pairs, self.starts)]
        best = minimised(begun) if begun else []
        for _ in range(self.rounds if begun else 0):
            if best[0].score <= self.good_score:
                break
            bent = [_bent(best[i % min(BENT, len(best))].coefficients, generator, fixed) for i in range(self.bends)]
            best = sorted([*best, *minimised(bent)], key=lambda each: each.score)
        return [*(finished(each) for each in best[:FINISHED]), *best[:FINISHED]]


def _bent(coefficients: Array, generator: np.random.Generator, fixed: bool) -> Array:
    """A path bent at random by a parabola in each joint, its start kept where it is fixed."""
    s = np.linspace(0.0, 1.0, len(coefficients))[:, None]
    start, goal, middle = BEND * generator.standard_normal((3, coefficients.shape[1]))
    return coefficients + (0.0 if fixed else 1.0) * (1.0 - s) * start + s * goal + 4.0 * s * (1.0 - s) * middle


def _different(pairs: Sequence[PosturePair], count: int) -> list[PosturePair]:
    """The first ones that begin or end apart from all before them."""
    kept: list[PosturePair] = []
    for pair in pairs:
        if len(kept) == count:
            break
        if all(
            max(np.abs(pair.start - other.start).max(), np.abs(pair.goal - other.goal).max()) > APART for other in kept
        ):
            kept.append(pair)
    return kept
