"""Poses of all links of a robot, at one instant or at many."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flexarm_core.robot.description import Joint, RobotDescription
from flexarm_core.types import Array


def link_transforms(description: RobotDescription, positions: Mapping[str, float | Array]) -> dict[str, Array]:
    """Return the pose of every link in the root link, (4, 4), or (T, 4, 4) where it depends on many positions.

    Args:
        description: the robot.
        positions: positions of movable joints by name, each one or (T,); zero if not given [rad | m].
    """
    transforms = {description.root: np.eye(4)}
    for joint in description.joints.values():  # parents before children
        motion = _joint_motion(joint, joint.multiplier * np.asarray(positions.get(joint.driver, 0.0), dtype=float))
        transforms[joint.child] = transforms[joint.parent] @ joint.transform_child_to_parent @ motion
    return transforms


def _joint_motion(joint: Joint, position: Array) -> Array:
    """Return the transform (..., 4, 4) of a joint: translation along its axis, or rotation about it (Rodrigues)."""
    motion = np.zeros((*position.shape, 4, 4)) + np.eye(4)
    if joint.kind == "prismatic":
        motion[..., :3, 3] = position[..., None] * joint.axis
    elif joint.kind != "fixed":
        x, y, z = joint.axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        angle = position[..., None, None]
        motion[..., :3, :3] += np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
    return motion
