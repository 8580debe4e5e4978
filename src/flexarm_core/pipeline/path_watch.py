r"""PathWatch: the deviation of the measured tool from its path, including the bending of the links.

The joints measure where rigid links would hold the tool, ``p(q)``; links that bend displace it by ``d``, as their modes
are estimated. Off its path by more than a tolerance, in the tracked axes, is an error that must be reported,
independent of the law and its estimates::

    e = p_r - p(q) - d                              p_r reference of the tool

The lasting part of the displacement, by weight and contact, is subtracted from the reference, so that the tool and not
its rigid image follows the path, at a bandwidth ``w`` far below the modes::

    p_r - c,    dc / dt = w (d - c)
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocate, kernel, views
from flexarm_core.flexible_dynamics.bent_tool import BentTool
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, CartesianReference, FlexibleState

RESUME = 0.5  # share of the tolerance below which an error that was reported is cleared
LATEST = 0.1  # [s] longest time between two samples; after a longer gap the displacement is found anew


class _Sample(NamedTuple):
    """A sample, and what is kept from one to the next."""

    taken: Annotated[Array, 3]  # off the reference, c [m]
    shift: Annotated[Array, 3]  # of the tool by bent links, d [m]
    rigid: Annotated[Array, 3]  # where the joints say that the tool is, p(q) [m]
    position: Annotated[Array, 3]  # of the reference, p_r [m]
    velocity: Annotated[Array, 6]  # of the reference [m/s, rad/s]
    axes: Annotated[Array, 3]  # whether x, y, z are tracked
    bandwidth: Annotated[Array, 1]  # w [rad/s]
    share: Annotated[Array, 1]  # of what c lacks, that it gains since the last sample


_view_sample = views(_Sample)


@kernel
def _take(memory: Array, out: Array) -> float:
    """Write ``p_r - c`` (3,) and its twist (6,) into ``out`` (9,); return how far the tool is from its path [m]."""
    x, square = _view_sample(memory), 0.0
    for i in range(3):
        beside, change = x.position[i] - x.rigid[i] - x.shift[i], x.shift[i] - x.taken[i]
        square += x.axes[i] * beside * beside
        x.taken[i] += x.share[0] * change
        out[i], out[3 + i] = x.position[i] - x.taken[i], x.velocity[i] - x.bandwidth[0] * change
        out[6 + i] = x.velocity[3 + i]
    return math.sqrt(square)


class PathWatch:
    """Judges the measured tool against its reference, and takes the bending of links off the reference.

    Attributes:
        off: why the tool is off its path; empty: it is not.
        modes: names of the modes that flexible states must give.
    """

    def __init__(self, model: ArmModel, bends: bool) -> None:
        """Bind it to an arm; ``bends``: whether the flexible state gives the modes of its links."""
        self._model = model
        bent = BentTool(model.description, model.tool_frame) if bends and model.description.flexible_links else None
        self._bent = bent if bent is not None and bent.modes else None
        self.modes = self._bent.modes if self._bent is not None else ()
        self._x: _Sample
        self._memory, self._x = allocate(_view_sample)
        self.reset()
        _take(self._memory, np.empty(9))  # loads the compiled code

    def reset(self) -> None:
        """Forget earlier samples."""
        self.off = ""
        self._memory[:] = 0.0
        self._stamp: int | None = None

    def take(
        self,
        flexible: FlexibleState | None,
        state: ArmState,
        tool: CartesianReference,
        tolerance: float,
        bandwidth: float,
    ) -> CartesianReference:
        """Judge the newest sample; return the tool reference without what lasts of the bending.

        Args:
            flexible: estimated modes; None: links count as rigid.
            state: measured state of arm and base.
            tool: tool reference.
            tolerance: distance from the path above which an error is reported [m]; 0: never.
            bandwidth: w [rad/s]; 0: the reference is not changed.

        Raises:
            InputError: the modes are not finite, or the frame is unknown.
        """
        elapsed = 0.0 if self._stamp is None else (state.stamp - self._stamp) * 1e-9
        x, self._stamp = self._x, state.stamp
        bends = self._bent is not None and bandwidth > 0.0
        if not (bends or tolerance > 0.0):
            self.off = ""
            return tool
        x.rigid[:] = self._model.tool_pose(state, tool.frame)[0]
        x.shift[:] = self._shift(flexible, state, tool.frame)
        x.position[:], x.velocity[:], x.axes[:] = tool.position, tool.velocity, tool.axes[:3]
        x.bandwidth[0] = bandwidth
        x.share[0] = -math.expm1(-bandwidth * elapsed) if 0.0 <= elapsed <= LATEST else 0.0
        out = np.empty(9)
        away = _take(self._memory, out)
        if tolerance > 0.0 and away > (RESUME * tolerance if self.off else tolerance):
            over = "" if away > tolerance else f", cleared below {1e3 * RESUME * tolerance:.3g} mm"
            self.off = f"the tool is {1e3 * away:.2g} mm from its path, tolerance {1e3 * tolerance:.3g} mm{over}"
        else:
            self.off = ""
        if not bends:
            return tool
        return CartesianReference(
            tool.stamp, tool.frame, out[:3], tool.rotation, out[3:], tool.acceleration, tool.axes
        )  # fmt: skip

    def _shift(self, flexible: FlexibleState | None, state: ArmState, frame: str) -> Array:
        """Return the displacement (3,) of the tool by bent links, in axes of the frame of the reference."""
        if self._bent is None or flexible is None:
            return np.zeros(3)
        if frame == self._model.base_frame:
            return self._bent.shift(state.position, flexible.modal_position, self._x.rigid)
        shift = self._bent.shift(state.position, flexible.modal_position)
        turned: Array = self._model.base_pose(state.deflection)[1] @ shift
        return turned
