"""Good start postures: where the arm can move its tool every way without shaking the base, away from joint limits.

Random postures are brought to the tool position, the best of them climb within the postures of that position::

    score = min( sigma_min(Jbar) / reach, weight * sigma_min(A) / sigma_max(A), margin )

with ``reach`` half the width of what the tool reaches, and the margin the least distance of a
joint from its limits as share of half its range. Good postures have a score of 0.1 and more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.reactionless.motions import MotionSpace, ReactionlessMotions
from flexarm_core.reaction_null_space.reactionless.tool_postures import ToolPostures
from flexarm_core.types import Array

CLIMB_STEPS = 15
CLIMB_LENGTH, SHORTEST_CLIMB = 0.25, 0.01  # [rad | m] of a joint, in the first step uphill and in the last
SHARPNESS = 30.0  # of the soft minimum
DIFFERENCE = 1e-4  # [rad] for gradients
APART = 0.3  # [rad | m] by which two candidates differ at least
COUPLING_WEIGHT = 3.0  # good postures have sigma_min(A) / sigma_max(A) of about a third of the other shares
IDLE = 0.05  # share of the largest column of [A; J] below which a joint moves neither base nor tool


@dataclass(frozen=True, slots=True)
class PostureCandidate:
    """A posture for a tool position.

    Attributes:
        position: (n,) joint positions.
        score: as above, the larger the better.
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
        samples: random postures.
        refined: how many of them climb.
        seed: of the random numbers.
    """

    samples: int = 200
    refined: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if not 1 <= self.refined <= self.samples:
            raise ConfigError(f"refined {self.refined} must lie between 1 and samples {self.samples}")


def search_postures(
    motions: ReactionlessMotions, tool_position: Array, config: PostureSearchConfig | None = None
) -> list[PostureCandidate]:
    """Postures of a tool position (3,) in the base link's frame [m], best first.

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
    """One tool position."""

    def __init__(self, motions: ReactionlessMotions, wanted: Array) -> None:
        model = motions.model
        self._motions, self.postures = motions, ToolPostures(motions, wanted)
        self._low, self._high = self.postures.low, self.postures.high
        # half the width of what the tool reaches, by which sigma becomes a pure number
        random = np.random.default_rng(0).uniform(self._low, self._high, (50, model.n))
        self._reach = 0.5 * float(np.ptp([motions.tool(q)[0] for q in random], axis=0).max())

    def climb(self, candidate: PostureCandidate) -> PostureCandidate:
        """The best posture that steps uphill lead to."""
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
        """A posture with its score."""
        space = self._motions.at(position)
        shares = self._shares(space, position)
        sigma = float(space.tool_sigma[-1])
        return PostureCandidate(position, min(shares), sigma, space.coupling_conditioning, shares[2])

    def acts(self, position: Array) -> Array:
        """(n,) how much each joint matters to base or tool: 1, or less than that where next to nothing."""
        space = self._motions.at(position)
        columns = [np.linalg.norm(part, axis=0) / np.linalg.norm(part) for part in (space.coupling, space.jacobian)]
        most = np.maximum(*columns)
        return np.asarray(np.minimum(1.0, most / (IDLE * most.max())))

    def _uphill(self, position: Array) -> Array:
        """(n,) direction in which a smooth stand-in of the score rises, the tool held."""
        base = self._smooth(position)
        slopes = np.array([self._smooth(position + DIFFERENCE * unit) - base for unit in np.eye(len(position))])
        _, jacobian = self._motions.tool(position)
        return np.asarray(slopes - np.linalg.pinv(jacobian) @ (jacobian @ slopes))

    def _smooth(self, position: Array) -> float:
        """Soft minimum of the three shares: the minimum itself has kinks on which a climb sticks."""
        shares = np.array(self._shares(self._motions.at(position), position))
        return -float(np.log(np.exp(-SHARPNESS * shares).sum()))

    def _shares(self, space: MotionSpace, position: Array) -> tuple[float, float, float]:
        middle, half = 0.5 * (self._high + self._low), 0.5 * (self._high - self._low)
        margin = float((1.0 - np.abs(position - middle) / half).min())
        return float(space.tool_sigma[-1]) / self._reach, COUPLING_WEIGHT * space.coupling_conditioning, margin
