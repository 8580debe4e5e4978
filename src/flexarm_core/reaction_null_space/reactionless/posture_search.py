"""Search for good start postures: far from joint limits, and with reactionless tool motion in all directions.

Random postures are moved to the tool position; the best of them are improved by gradient ascent at this position::

    score = min( sigma_min(Jbar) / reach, weight * sigma_min(A) / sigma_max(A), margin )

Here ``reach`` is half the width of the region that the tool reaches, and the margin is the least distance of a joint
from its limits as a share of half its range. Good postures have a score of 0.1 or more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.reactionless.motions import MotionSpace, ReactionlessMotions
from flexarm_core.reaction_null_space.reactionless.tool_postures import ToolPostures
from flexarm_core.types import Array

CLIMB_STEPS = 15
CLIMB_LENGTH, SHORTEST_CLIMB = 0.25, 0.01  # [rad | m] largest joint change in the first and in the last ascent step
SHARPNESS = 30.0  # sharpness of the soft minimum
DIFFERENCE = 1e-4  # [rad | m] step of the finite differences for gradients
APART = 0.3  # [rad | m] least difference between two candidates
COUPLING_WEIGHT = 3.0  # in good postures sigma_min(A) / sigma_max(A) is about a third of the other two shares
IDLE = 0.05  # share of the largest joint effect on base or tool below which a joint counts as without effect


@dataclass(frozen=True, slots=True)
class PostureCandidate:
    """A posture for a tool position.

    Attributes:
        position: (n,) joint positions.
        score: as defined in the module docstring; larger is better.
        tool_sigma: ``sigma_min(Jbar)`` [m].
        coupling_conditioning: ``sigma_min(A) / sigma_max(A)``.
        margin: least distance from a joint limit as share of half the joint's range.
    """

    position: Array
    score: float
    tool_sigma: float
    coupling_conditioning: float
    margin: float


@dataclass(frozen=True, slots=True)
class PostureSearchConfig:
    """Settings of the search.

    Attributes:
        samples: number of random postures.
        refined: number of these that are improved by gradient ascent.
        seed: seed of the random numbers.
    """

    samples: int = 200
    refined: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise ConfigError for invalid values."""
        if not 1 <= self.refined <= self.samples:
            raise ConfigError(f"refined {self.refined} must lie between 1 and samples {self.samples}")


def search_postures(
    motions: ReactionlessMotions, tool_position: Array, config: PostureSearchConfig | None = None
) -> list[PostureCandidate]:
    """Return postures for a tool position (3,) in the base link frame [m], best first.

    Raises:
        InputError: the arm does not reach the position within its joint limits.
    """
    config = config or PostureSearchConfig()
    search = _Search(motions, motions.check_tool("wanted", tool_position))
    random = np.random.default_rng(config.seed)
    found = [search.rated(posture) for posture in search.postures.random(random, config.samples)]
    if not found:
        raise InputError(
            f"no posture within the joint limits reaches the tool position {np.round(tool_position, 4)} m from any of"
            f" {config.samples} random ones: the position is out of reach, or nearly so"
        )
    found.sort(key=lambda each: -each.score)
    climbed = sorted((search.climb(each) for each in found[: config.refined]), key=lambda each: -each.score)
    kept: list[PostureCandidate] = []
    for candidate in climbed:
        acts = search.acts(candidate.position)
        if all(np.abs(acts * (candidate.position - other.position)).max() > APART for other in kept):
            kept.append(candidate)
    return kept


class _Search:
    """Search for one tool position."""

    def __init__(self, motions: ReactionlessMotions, wanted: Array) -> None:
        model = motions.model
        self._motions, self.postures = motions, ToolPostures(motions, wanted)
        self._low, self._high = self.postures.low, self.postures.high
        # half the width of the region that the tool reaches; makes sigma dimensionless
        random = np.random.default_rng(0).uniform(self._low, self._high, (50, model.n))
        self._reach = 0.5 * float(np.ptp([motions.tool(q)[0] for q in random], axis=0).max())

    def climb(self, candidate: PostureCandidate) -> PostureCandidate:
        """Return the best posture that gradient ascent reaches."""
        length = CLIMB_LENGTH
        for _ in range(CLIMB_STEPS):
            step = self._uphill(candidate.position)
            size = float(np.abs(step).max())
            while length >= SHORTEST_CLIMB and size > 0.0:
                posture = self.postures.near(candidate.position + step * (length / size))
                better = None if posture is None else self.rated(posture)
                if better is not None and better.score > candidate.score:
                    candidate, length = better, 1.5 * length
                    break
                length *= 0.5
            else:
                break
        return candidate

    def rated(self, position: Array) -> PostureCandidate:
        """Return a posture with its score."""
        space = self._motions.at(position)
        shares = self._shares(space, position)
        sigma = float(space.tool_sigma[-1])
        return PostureCandidate(position, min(shares), sigma, space.coupling_conditioning, shares[2])

    def acts(self, position: Array) -> Array:
        """Return (n,) the effect of each joint on base or tool: 1, or less if the effect is negligible."""
        space = self._motions.at(position)
        columns = [np.linalg.norm(part, axis=0) / np.linalg.norm(part) for part in (space.coupling, space.jacobian)]
        most = np.maximum(*columns)
        return np.asarray(np.minimum(1.0, most / (IDLE * most.max())))

    def _uphill(self, position: Array) -> Array:
        """Return (n,) the ascent direction of the smoothed score at a fixed tool position."""
        base = self._smooth(position)
        slopes = np.array([self._smooth(position + DIFFERENCE * unit) - base for unit in np.eye(len(position))])
        _, jacobian = self._motions.tool(position)
        return np.asarray(slopes - np.linalg.pinv(jacobian) @ (jacobian @ slopes))

    def _smooth(self, position: Array) -> float:
        """Return the soft minimum of the three shares; the exact minimum has kinks at which an ascent stops early."""
        shares = np.array(self._shares(self._motions.at(position), position))
        return -float(np.log(np.exp(-SHARPNESS * shares).sum()))

    def _shares(self, space: MotionSpace, position: Array) -> tuple[float, float, float]:
        middle, half = 0.5 * (self._high + self._low), 0.5 * (self._high - self._low)
        margin = float((1.0 - np.abs(position - middle) / half).min())
        return float(space.tool_sigma[-1]) / self._reach, COUPLING_WEIGHT * space.coupling_conditioning, margin
