"""Conversion of trajectory_msgs/JointTrajectory to the JointTrajectory of the core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from flexarm_core.errors import InputError
from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.types import Array


def joint_trajectory_from_message(
    message: JointTrajectoryMessage, names: Sequence[str], start: Array
) -> JointTrajectory:
    """Return the trajectory with joints in the order of ``names``, beginning at the positions ``start`` (n,).

    Raises:
        InputError: the joint names differ, or the points are inconsistent.
    """
    given = list(message.joint_names)
    if sorted(given) != sorted(names):
        raise InputError(f"trajectory names {', '.join(given) or 'no joint'}; expected {', '.join(names)}")
    order = [given.index(name) for name in names]

    def rows(field: str) -> Array | None:
        listed = [list(getattr(point, field)) for point in message.points]
        if not any(listed):
            return None
        if any(len(row) != len(given) for row in listed):
            raise InputError(f"trajectory: every point needs {len(given)} {field}, or none may have any")
        return np.array(listed, dtype=float)[:, order]

    positions = rows("positions")
    if positions is None:
        raise InputError("trajectory has no points with positions")
    times = [point.time_from_start.sec + point.time_from_start.nanosec * 1e-9 for point in message.points]
    return JointTrajectory(start, times, positions, rows("velocities"), rows("accelerations"))
