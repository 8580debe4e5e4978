"""TaskFrame: the axes in which the vector settings of a behavior are expressed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import MotionSample
from flexarm_core.settings import Setting
from flexarm_core.types import Array

FRAMES = ("base", "tool")
FRAME_SETTINGS = (
    Setting("frame", "string", "base",
        "axes in which the values of the behavior are given: those of the base link, or of the commanded tool",
        choices=FRAMES),
    Setting("rpy", "double[]", [0.0, 0.0, 0.0],
        "rotation of the axes of the behavior in the selected frame: roll, pitch, yaw about fixed axes, as in URDF",
        "rad", size=3),
)  # fmt: skip


class TaskFrame:
    """Axes that are fixed to the base link or to the tool; the origin is the tool origin."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Read the :data:`FRAME_SETTINGS`."""
        self._turn: Array = np.ascontiguousarray(Rotation.from_euler("xyz", settings["rpy"]).as_matrix())
        self._with_tool = settings["frame"] == "tool"

    def angular_velocity(self, sample: MotionSample) -> Array | None:
        """Return the angular velocity (3,) of the axes in base link axes [rad/s]; None for axes fixed to the base."""
        return sample.tool_twist[3:] if self._with_tool else None

    def rotation(self, sample: MotionSample) -> Array:
        """Return the axes of the frame as columns (3, 3), in base link axes."""
        return sample.tool_rotation @ self._turn if self._with_tool else self._turn

    def vector(self, sample: MotionSample, spatial: Array) -> Array:
        """Transform a spatial vector (6,) from the axes of this frame to base link axes."""
        return (spatial.reshape(2, 3) @ self.rotation(sample).T).ravel()
