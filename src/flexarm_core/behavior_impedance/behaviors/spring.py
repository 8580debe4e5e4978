"""Spring: pulls the tool to a pose with a limited force, without changing the set-point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.behavior_impedance.layout import view_parts
from flexarm_core.behavior_impedance.task_frame import FRAME_SETTINGS, TaskFrame
from flexarm_core.compiled import kernel
from flexarm_core.errors import ConfigError
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.settings import Setting
from flexarm_core.types import Array


class Spring(Behavior):
    """Spring and damper ``f = K (x_0 - x) - B v`` in the axes of a frame; the spring force and torque are limited."""

    KIND = "spring"
    SETTINGS = (
        Setting("position", "double[]", [],
            "rest position of the spring in the frame of the base link; empty: tool position when the behavior starts",
            "m"),
        Setting("orientation", "double[]", [],
            "rest orientation of the spring as roll, pitch, yaw; empty: tool orientation when the behavior starts",
            "rad"),
        Setting("stiffness", "double[]", [0.0] * 6,
            "stiffness of the spring along and about x y z", "N/m, N*m/rad", 0.0, size=6),
        Setting("damping", "double[]", [0.0] * 6,
            "damping of the spring along and about x y z", "N*s/m, N*m*s/rad", 0.0, size=6),
        Setting("max_force", "double", 100.0, "largest elastic force of the spring", "N", 0.0),
        Setting("max_torque", "double", 20.0, "largest elastic torque of the spring", "N*m", 0.0),
        *FRAME_SETTINGS,
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        for name in ("position", "orientation"):
            if len(settings[name]) not in (0, 3):
                raise ConfigError(f"{name} needs three numbers, or none, got {settings[name]}")
        given, rpy = settings["position"], settings["orientation"]
        self._position: Array | None = np.array(given) if given else None
        self._rotation: Array | None = (
            np.ascontiguousarray(Rotation.from_euler("xyz", rpy).as_matrix()) if rpy else None
        )
        most = (settings["max_force"], settings["max_torque"], 0.0, 0.0, 0.0, 0.0)
        self._table = np.array((settings["stiffness"], settings["damping"], most))
        self._frame = TaskFrame(settings)

    def begin(self, sample: MotionSample) -> None:
        """Use the present tool position or orientation where none is given."""
        if self._position is None:
            self._position = sample.tool_position.copy()
        if self._rotation is None:
            self._rotation = sample.tool_rotation.copy()

    def take_over(self, old: Behavior) -> None:
        """Keep the position or orientation of the old instance where none is given."""
        assert isinstance(old, Spring)
        self._position = old._position if self._position is None else self._position
        self._rotation = old._rotation if self._rotation is None else self._rotation

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write the force on the tool, its stiffness and its damping."""
        assert self._position is not None and self._rotation is not None
        error = np.empty(6)
        error[:3] = self._position - sample.tool_position
        rotation_error(self._rotation, sample.tool_rotation, error[3:])
        axes = self._frame.rotation(sample)
        out.measure[0] = _pull(axes, self._table, error, sample.tool_twist, out.row, sample.position.size)


@kernel
def _pull(R: Array, table: Array, error: Array, twist: Array, row: Array, n: int) -> float:
    """Write force, stiffness and damping of a spring in the axes ``R`` (3, 3); return its extension [m].

    The rows of ``table`` (3, 6) are stiffness, damping, and the limits: largest force and torque, then zeros. ``row``
    is the contribution for n joints, see :class:`Parts`.
    """
    part_of = view_parts(row, n)
    force, stiffness, damping = part_of.force, part_of.stiffness, part_of.damping
    for part in range(0, 6, 3):
        square = 0.0
        for i in range(3):
            pull = 0.0
            for j in range(3):
                k = b = 0.0
                for c in range(3):
                    k += R[i, c] * table[0, part + c] * R[j, c]
                    b += R[i, c] * table[1, part + c] * R[j, c]
                stiffness[part + i, part + j], damping[part + i, part + j] = k, b
                pull += k * error[part + j]
            force[part + i] = pull
            square += pull * pull
        most = table[2, part // 3]
        if square > most * most:  # saturated: the force is constant and has no stiffness
            for i in range(3):
                force[part + i] *= most / math.sqrt(square)
                for j in range(3):
                    stiffness[part + i, part + j] = 0.0
        for i in range(3):
            for j in range(3):
                force[part + i] -= damping[part + i, part + j] * twist[part + j]
    return math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
