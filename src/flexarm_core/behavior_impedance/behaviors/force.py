"""Force: the tool exerts a given wrench on the environment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.behavior_impedance.task_frame import FRAME_SETTINGS, TaskFrame
from flexarm_core.compiled import kernel
from flexarm_core.errors import ConfigError
from flexarm_core.settings import Setting
from flexarm_core.types import Array

AVERAGED = 3.0  # [s] time constant of the average that is compared with the tolerance
PATIENCE = 2.0  # [s] after the first contact, in which the wrench may be approached
TOUCH = 0.05  # fraction of the desired force above which the tool counts as in contact


class Force(Behavior):
    """Force control, ``f_b = f_d``, along the selected axes of a frame; the law's spring and the path do not act there.

    Along these axes the law is ``M a + D v = f_measured + f_d``. At rest the tool exerts exactly ``f_d``, for any
    stiffness of the environment; in free space it approaches at the velocity ``f_d / D``. On a surface of stiffness k
    the force settles as ``k / (M s^2 + D s + k)``, so D must be large enough for the delay in the loop: about
    ``D > 3 k T``, where T is the time from a command to the measurement of its effect.

    The norm of the wrench error is averaged since it was first within ``tolerance``, at the latest ``PATIENCE`` after
    the first contact. An average beyond ``tolerance`` is reported as an error.
    """

    KIND = "force"
    NEEDS_WRENCH = True
    SETTINGS = (
        Setting("wrench", "double[]", [0.0] * 6,
            "wrench (force, torque) that the tool exerts on its environment along the force-controlled axes",
            "N, N*m", size=6),
        Setting("axes", "bool[]", [False, False, True, False, False, False],
            "tool axes x y z rx ry rz that are force-controlled", size=6),
        Setting("damping", "double[]", [2000.0, 50.0],
            "damping of the tool motion along (first value) and about (second value) the force-controlled axes",
            "N*s/m, N*m*s/rad", 1e-6, size=2),
        Setting("tolerance", "double", 0.0,
            "norm of the error of the wrench, averaged over 3 s in contact, above which an error is reported; 0: never",
            "N | N*m", 0.0),
        *FRAME_SETTINGS,
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        axes = np.array(settings["axes"], dtype=float)
        if not axes.any():
            raise ConfigError("axes: one at least must be in force")
        self._table = np.array((np.array(settings["wrench"]) * axes, axes, axes * np.repeat(settings["damping"], 3)))
        self._frame, self._touches = TaskFrame(settings), False
        self._enough, self._allowed = TOUCH * float(self._table[0] @ self._table[0]), float(settings["tolerance"])
        self._touched, self._counts, self._error = 0.0, False, 0.0  # [s] since the first contact

    def take_over(self, old: Behavior) -> None:
        """Keep the average of the error."""
        assert isinstance(old, Force)
        self._touched, self._counts, self._error = old._touched, old._counts, old._error

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write the force on the tool, the freed directions and their damping."""
        R = self._frame.rotation(sample)
        along, out.measure[0] = _press(R, self._table, sample.wrench, out.force, out.freed, out.freed_damping)
        self._touches = along > self._enough
        error = float(out.measure[0])
        if self._touches or self._touched > 0.0:
            self._touched += sample.dt
            self._counts = self._counts or error <= self._allowed or self._touched > PATIENCE
        if self._counts:
            self._error += sample.dt / (AVERAGED + sample.dt) * (error - self._error)

    def note(self) -> str:
        """Return whether the tool is in contact."""
        return "in contact" if self._touches else "no contact"

    def complaint(self) -> str:
        """Return the average error if it is beyond the tolerance."""
        if not 0.0 < self._allowed < self._error:
            return ""
        return f"its wrench is off by {self._error:.2g} on average, tolerance {self._allowed:.2g} N | N*m"


@kernel
def _press(R: Array, table: Array, wrench: Array, force: Array, freed: Array, damping: Array) -> tuple[float, float]:
    """Transform force, freed directions and damping from the axes ``R`` (3, 3) to base link axes.

    ``table`` (3, 6) has the rows desired wrench, selected axes (0 or 1) and damping, in the axes ``R``.

    Returns:
        Scalar product of the exerted and the desired wrench; norm of the wrench error along the selected axes.
    """
    along = square = 0.0
    for part in range(0, 6, 3):
        for i in range(3):
            for k in range(3):
                force[part + i] += R[i, k] * table[0, part + k]
            for j in range(3):
                for k in range(3):
                    freed[part + i, part + j] += R[i, k] * table[1, part + k] * R[j, k]
                    damping[part + i, part + j] += R[i, k] * table[2, part + k] * R[j, k]
        for i in range(3):
            exerted = 0.0
            for j in range(3):
                exerted -= freed[part + i, part + j] * wrench[part + j]
            along += exerted * force[part + i]
            square += (force[part + i] - exerted) ** 2
    return along, math.sqrt(square)
