r"""PathWatch: where a measured tool is beside its path, with what bent links do to it.

The joints measure where rigid links would hold the tool, ``p(q)``; links that bend displace it by ``d``, as their modes
are estimated. Off its path by more than a tolerance, in the tracked axes, is an error that has to be said, whatever law
leads the arm and whatever it believes::

    e = p_r - p(q) - d                              p_r reference of the tool

What lasts of the displacement, by weight and contact, is taken off the reference, so that the tool and not its rigid
image follows the path, at a bandwidth ``w`` far below the modes::

    p_r - c,    dc / dt = w (d - c)
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.flexible_dynamics.bent_tool import BentTool
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, CartesianReference, FlexibleState

RESUME = 0.5  # share of the tolerance below which an error that was reported is cleared
LATEST = 0.1  # [s] longest time between two samples; after a longer gap the displacement is found anew


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
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples."""
        self.off = ""
        self._taken = np.zeros(3)
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
            tolerance: distance from the path that is an error [m]; 0: none is.
            bandwidth: w [rad/s]; 0: the reference is not changed.

        Raises:
            InputError: the modes are not finite, or the frame is unknown.
        """
        elapsed = 0.0 if self._stamp is None else (state.stamp - self._stamp) * 1e-9
        self._stamp = state.stamp
        shift = self._shift(flexible, state, tool.frame)
        if tolerance > 0.0:
            position, _ = self._model.tool_pose(state, tool.frame)
            beside = (tool.position - position - shift)[tool.axes[:3]]
            away = math.sqrt(beside.dot(beside))
            if away > (RESUME * tolerance if self.off else tolerance):
                over = "" if away > tolerance else f", cleared below {1e3 * RESUME * tolerance:.3g} mm"
                self.off = f"the tool is {1e3 * away:.2g} mm from its path, tolerance {1e3 * tolerance:.3g} mm{over}"
            else:
                self.off = ""
        else:
            self.off = ""
        if bandwidth == 0.0 or self._bent is None:
            return tool
        share = -math.expm1(-bandwidth * elapsed) if 0.0 <= elapsed <= LATEST else 0.0
        rate = bandwidth * (shift - self._taken)
        self._taken += share * (shift - self._taken)
        velocity = tool.velocity.copy()
        velocity[:3] -= rate
        position = tool.position - self._taken
        return CartesianReference(
            tool.stamp, tool.frame, position, tool.rotation, velocity, tool.acceleration, tool.axes
        )  # fmt: skip

    def _shift(self, flexible: FlexibleState | None, state: ArmState, frame: str) -> Array:
        """Return the displacement (3,) of the tool by bent links, in axes of the frame of the reference."""
        if self._bent is None or flexible is None:
            return np.zeros(3)
        shift = self._bent.shift(state.position, flexible.modal_position)
        if frame == self._model.base_frame:
            return shift
        turned: Array = self._model.base_pose(state.deflection)[1] @ shift
        return turned
