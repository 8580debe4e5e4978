"""The start posture from which a straight line of the tool can best be followed without shaking the base.

Random postures of the start (and, run backwards, of the goal: a reactionless path is one either way) are tried; then
the best of them are varied by random steps that shrink from round to round, and what does better is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.reaction_null_space.reactionless.guided_motion import LineAttempt, ToolLine, follow_line
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.reactionless.tool_postures import ToolPostures
from flexarm_core.reaction_null_space.vibration.motion_limits import MotionBounds
from flexarm_core.types import Array

ROUNDS = (0.5, 0.3, 0.15, 0.3, 0.15)  # standard deviations of a joint, round by round [rad | m]
PARENTS = 6
FASTEST_RATE = 1.875  # largest rate of the fifth-order law times its duration


@dataclass(frozen=True, slots=True)
class LineSearch:
    """What is tried.

    Attributes:
        samples: random postures, of the start and of the goal together.
        variations: postures in each round.
        least_sigma: smallest singular value of ``Jbar`` that a line may meet [m].
        inset: by which postures keep off their limits [rad | m].
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
        """Attempts between two tool positions (a,), (a,) [m], best first; all go from start to goal."""
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
    """What gets furthest first; of what is done, what loads the other directions of the base least."""
    each = found[0]
    return -each.fraction, each.load if each.reason == "done" else each.speed
