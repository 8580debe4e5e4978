"""PlannedPath: joint positions along a tool path, and over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import ROW_NAMES
from flexarm_core.ik_redundancy.solver import RedundancyStatus
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.path.joint_path import JointPath
from flexarm_core.path.path_timing import PathTiming
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class JointsAlongPath:
    """Joint positions along a path.

    Attributes:
        grid: (g,) path coordinates [m].
        position: (g, n) joint positions [rad | m].
        error: (g, 6) remaining pose error, `[m; rad]`.
        share: (g, 6) realized share of each row.
        reason: why the solution ends before the end of the path, or empty.
    """

    grid: Array
    position: Array
    error: Array
    share: Array
    reason: str


class PlannedPath:
    """Joint positions over time along a tool path.

    Attributes:
        timing: time law along the path.
        duration: duration of the motion [s].
        remark: note for the user, or empty.
    """

    def __init__(
        self, path: PosePath, chain: Chain, timing: PathTiming, joints: JointsAlongPath, remark: str = ""
    ) -> None:
        """Combine the time law and the joint positions along the path."""
        self._path, self._chain, self._joints, self.remark = path, chain, joints, remark
        self.timing, self.duration = timing, timing.duration

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration (n,) of the joints at a time [s]; at rest beyond both ends."""
        return self.timing.joints(time)

    def fraction(self, time: float) -> float:
        """Return the completed fraction of the path at a time [s]."""
        return self.timing.at(time)[0] / self._path.length

    def status(self, time: float) -> RedundancyStatus:
        """Return the pose error and the dropped and damped tool axes at a time [s]."""
        s = self.timing.at(time)[0]
        wanted, R_wanted = self._path.pose(s)
        reached, R = self._chain.pose(self.sample(time)[0])
        turn = np.empty(3)
        rotation_error(R_wanted, R, turn)
        share = self._joints.share[min(int(np.searchsorted(self._joints.grid, s)), len(self._joints.grid) - 1)]
        return RedundancyStatus(
            position_error=wanted - reached,
            rotation_error=turn,
            dropped=tuple(name for name, part in zip(ROW_NAMES, share, strict=True) if part == 0.0),
            damped=tuple(name for name, part in zip(ROW_NAMES, share, strict=True) if 0.0 < part < 1.0),
        )

    def stopped(self, time: float) -> PlannedPath:
        """Return a copy that, from a time [s] on, stops on the path as fast as the limits allow."""
        return PlannedPath(self._path, self._chain, self.timing.stopped(time), self._joints)


def smooth_joint_path(path: PosePath, grid: Array, position: Array) -> JointPath:
    """Interpolate joints (g, n) at coordinates (g,); second derivatives are continuous between breaks of the path."""
    sections = []
    for begin, end in zip(path.breaks[:-1], path.breaks[1:], strict=True):
        slack = 1e-12 * path.length
        inside = (grid >= begin - slack) & (grid <= end + slack)
        s, q = grid[inside], position[inside]
        curve = CubicSpline(s, q) if len(s) > 3 else CubicSpline(s, q, bc_type="natural")
        sections.append((s, q, curve(s, 1), curve(s, 2)))
    return JointPath(*(np.concatenate(parts) for parts in zip(*sections, strict=True)))
