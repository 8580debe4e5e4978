"""Judge of distances: an arm moved by Pinocchio and measured by coal."""

from __future__ import annotations

import behavior_arms  # noqa: F401  (tells Python where the tests' support lies)
import coal
import numpy as np
from collision import REQUEST, CoalArm, rotation_of

from flexarm_core.types import Array


class Judge(CoalArm):
    """Least distance by coal, with all that stays the same in a link worked out beforehand."""

    def __init__(self, *arguments: object) -> None:
        """Prepare; see :class:`CoalArm`."""
        super().__init__(*arguments)
        ways = self._ends[:, 1] - self._ends[:, 0]
        axes = [rotation_of(way) if np.linalg.norm(way) > 1e-12 else np.eye(3) for way in ways]
        self._in_joint = [
            (int(row[0]), self._turns[int(row[0])] @ axis, self._turns[int(row[0])] @ ends.mean(axis=0), body)
            for row, axis, ends, body in zip(self.shape.capsules, axes, self._ends, self._bodies, strict=True)
        ]

    def least(self, position: Array) -> float:
        """Least distance of any capsule from any obstacle [m]."""
        frames, least = self.joint_frames(position), np.inf
        for i, turn, middle, body in self._in_joint:
            R = frames[i][:3, :3]
            place = coal.Transform3s(R @ turn, R @ middle + frames[i][:3, 3])
            for geometry, at in self._obstacles:
                least = min(least, coal.distance(body, place, geometry, at, REQUEST, coal.DistanceResult()))
        return float(least)
