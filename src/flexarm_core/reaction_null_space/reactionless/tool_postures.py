"""ToolPostures: joint positions within the limits that put the tool at a given position."""

from __future__ import annotations

import numpy as np

from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.types import Array

NEWTON_STEPS = 12
LONGEST_STEP = 0.4  # [rad | m] largest change of a joint in one Newton step
TOOL_TOLERANCE = 1e-6  # [m] largest error of each tool coordinate


class ToolPostures:
    """Postures for one tool position.

    Attributes:
        low, high: (n,) position limits minus an inset; limited to half a turn in each direction.
    """

    def __init__(self, motions: ReactionlessMotions, wanted: Array, inset: float = 0.0) -> None:
        """Bind to an arm and a tool position (a,) [m].

        Args:
            motions: reactionless motions of the arm.
            wanted: (a,) tracked axes of the tool position [m].
            inset: least distance of postures from the position limits [rad | m].
        """
        self._motions, self._wanted = motions, wanted
        self.low = np.maximum(motions.model.lower + inset, -np.pi)
        self.high = np.minimum(motions.model.upper - inset, np.pi)

    def near(self, position: Array) -> Array | None:
        """Return a posture (n,) near joint positions (n,), None if Newton's method does not converge."""
        q = np.clip(position, self.low, self.high)
        for _ in range(NEWTON_STEPS):
            tool, jacobian = self._motions.tool(q)
            error = self._wanted - tool
            if np.abs(error).max() < TOOL_TOLERANCE:
                return q
            square = jacobian @ jacobian.T
            step = jacobian.T @ np.linalg.solve(square + 1e-6 * np.trace(square) * np.eye(len(error)), error)
            q = np.clip(q + step * min(1.0, LONGEST_STEP / np.abs(step).max()), self.low, self.high)
        return None

    def random(self, generator: np.random.Generator, count: int) -> list[Array]:
        """Return up to ``count`` postures near random joint positions."""
        starts = generator.uniform(self.low, self.high, (count, len(self.low)))
        return [posture for start in starts if (posture := self.near(start)) is not None]
