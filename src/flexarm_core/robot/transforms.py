"""Rotations in the URDF convention."""

from __future__ import annotations

import numpy as np

from flexarm_core.types import Array


def roll_pitch_yaw_to_rotation(roll: float, pitch: float, yaw: float) -> Array:
    """Return the rotation matrix (3, 3) ``Rz(yaw) Ry(pitch) Rx(roll)`` of fixed-axis angles [rad] (URDF ``rpy``)."""
    cr, sr, cp, sp, cy, sy = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch), np.cos(yaw), np.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
