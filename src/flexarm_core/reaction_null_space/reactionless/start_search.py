"""Search for the start posture from which the tool can best follow a straight line without exciting the base.

Random postures are tried at the start and, with the line reversed, at the goal (a reactionless path stays reactionless
when it is reversed). Then the best of them are varied by random steps in several rounds, and improvements are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.reaction_null_space.reactionless.guided_motion import LineAttempt, ToolLine, follow_line
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.reactionless.tool_postures import ToolPostures
from flexarm_core.reaction_null_space.vibration.motion_limits import MotionBounds
from flexarm_core.types import Array

ROUNDS = (0.5, 0.3, 0.15, 0.3, 0.15)  # standard deviation of the joint variation in each round [rad | m]
PARENTS = 6  # number of best postures that are varied in each round
FASTEST_RATE = 1.875  # largest rate of the fifth-order time law, times its duration


@dataclass(frozen=True, slots=True)
class StartSearch:
    """Effort and limits of the search.

    Attributes:
        samples: number of random postures, half of them at the start and half at the goal.
        variations: number of postures in each round.
        least_sigma: smallest singular value of ``Jbar`` allowed on a line [m].
        inset: least distance of postures from the position limits [rad | m].
    """

    samples: int
    variations: int
    least_sigma: float
    inset: float

    def run(
        self,
        motions: ReactionlessMotions,
        ends: tuple[Array, Array],
        duration: float,
        bounds: MotionBounds,
        generator: np.random.Generator,
    ) -> list[LineAttempt]:
        """Return attempts between two tool positions (a,), (a,) [m], best first; all run from start to goal."""
        places = [ToolPostures(motions, end, self.inset) for end in ends]
        fastest = bounds.velocity * duration / FASTEST_RATE
        limits = (bounds.lower, bounds.upper)

        def attempt(posture: Array, line: ToolLine, way: int) -> tuple[LineAttempt, int]:
            return follow_line(motions, posture, line, limits, fastest, self.least_sigma), way

        line = ToolLine(ends[0], ends[1] - ends[0])
        lines = (line, line.reversed())
        found = [
            attempt(posture, lines[way], way)
            for way, place in enumerate(places)
            for posture in place.random(generator, self.samples // 2)
        ]
        found.sort(key=_rank)
        for spread in ROUNDS if found else ():
            parents = found[:PARENTS]
            for i in range(self.variations):
                tried, way = parents[i % len(parents)]
                varied = places[way].near(tried.positions[0] + spread * generator.standard_normal(motions.model.n))
                if varied is not None:
                    found.append(attempt(varied, lines[way], way))
            found.sort(key=_rank)
        return [
            replace(each, path=each.path.reversed(), positions=each.positions[::-1]) if way else each
            for each, way in found
        ]


def _rank(found: tuple[LineAttempt, int]) -> tuple[float, float]:
    """Rank by the completed fraction; complete lines by their base load, incomplete lines by their joint speed."""
    each = found[0]
    return -each.fraction, each.load if each.reason == "done" else each.speed
