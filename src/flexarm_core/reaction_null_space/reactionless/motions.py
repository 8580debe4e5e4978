r"""ReactionlessMotions: joint motions at one posture that do not excite the selected base motions.

With the rows S (k, m) of a :class:`BaseSelection` at zero base deflection, joint velocities are reactionless if
``S H_bm(q) qd = 0`` holds at all times. The rows of soft modes change with the posture but span nearly the same space.
They are therefore first transformed to the rows S_0 of a middle posture and then weighted such that a reaction is
measured by the elastic energy that it would store if it were constant::

    A(q) = W^T (S S_0^+)^-1 S H_bm,     W W^T = (S_0 K_b S_0^T)^-1,     energy = 1/2 |d/dt (A qd)|^2

The tool velocity is then ``J N y``, where the columns of N (n, n - k) are a basis of the null space of A; the singular
values of ``J N`` are the relevant ones of ``Jbar = J P_RNS`` (Nenchev et al. 1999, equation 24).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array


@dataclass(frozen=True, slots=True)
class MotionSpace:
    """Reactionless motions at one posture.

    Attributes:
        tool: (a,) tracked axes of the tool position in the base link frame [m].
        jacobian: (a, n) Jacobian of the tracked axes.
        coupling: (k, n) A [sqrt(J) s^2].
        whole_coupling: (m, n) ``K_b^-1/2 H_bm``: weighted coupling of all base directions, including the stiff ones.
        null: (n, n - k) N, orthonormal basis of the null space of A.
        restricted: (a, n - k) ``J N``.
        tool_sigma: (a,) singular values of ``J N``, largest first [m].
        coupling_conditioning: smallest over largest singular value of A.
    """

    tool: Array
    jacobian: Array
    coupling: Array
    whole_coupling: Array
    null: Array
    restricted: Array
    tool_sigma: Array
    coupling_conditioning: float


class ReactionlessMotions:
    """Reactionless motions of one arm.

    Attributes:
        model: the arm.
        selection: selected base motions.
        axes: (a,) indices of the tracked axes of the tool position.
        spare: number of joints beyond those that tool and base need: ``n - k - a``.
        selected_loads: (m, m) projector of base loads, weighted by ``K_b^-1/2``, onto the part that acts on the
            selected motions.
    """

    def __init__(
        self, model: ArmModel, selection: BaseSelection, axes: tuple[bool, bool, bool] = (True, True, True)
    ) -> None:
        """Bind to an arm.

        Args:
            model: the arm.
            selection: selected base motions.
            axes: tracked axes x y z of the tool position in the base link frame.

        Raises:
            ConfigError: too few joints for the tool and the base, or no tracked axis.
        """
        model.description.require_springs("a map or plan of reactionless motions")
        self.model, self.selection = model, selection
        self.axes = np.flatnonzero(axes)
        self.spare = model.n - selection.count - len(self.axes)
        if len(axes) != 3 or not len(self.axes):
            raise ConfigError(f"axes must be three booleans (x y z), one of them true at least, got {axes}")
        if self.spare < 0:
            raise ConfigError(
                f"{model.n} joints cannot keep {selection.count} motions of the base quiet and move the tool along"
                f" {len(self.axes)} axes: select fewer of either"
            )
        self._still, self._none = np.zeros(model.n), np.zeros(model.m)
        middle = 0.5 * (np.maximum(model.lower, -np.pi) + np.minimum(model.upper, np.pi))
        blocks = model.blocks(ArmState(0, middle, self._still, self._none, self._none))
        rows = selection.at(blocks, 0.0, 1.0).rows
        self._reference_inverse = np.linalg.pinv(rows)
        values, vectors = np.linalg.eigh(model.K_b)
        self._softness = (vectors / np.sqrt(values)) @ vectors.T
        felt = rows @ np.linalg.inv(self._softness)
        self.selected_loads = np.linalg.pinv(felt) @ felt
        self._weight = np.linalg.cholesky(np.linalg.inv(rows @ model.K_b @ rows.T)).T

    def weighed_rows(self, rows: Array) -> Array:
        """Return (k, m) ``W^T (S S_0^+)^-1 S`` for rows S (k, m); maps a reaction (m,) [N | N*m] to sqrt(J)."""
        return np.asarray(self._weight @ np.linalg.solve(rows @ self._reference_inverse, rows))

    def coupling(self, position: Array) -> Array:
        """Return (k, n) A at joint positions (n,)."""
        return self._couplings(position)[0]

    def _couplings(self, position: Array) -> tuple[Array, Array]:
        blocks = self.model.blocks(ArmState(0, position, self._still, self._none, self._none))
        selected = self.selection.at(blocks, 0.0, 1.0)
        A = self._weight @ np.linalg.solve(selected.rows @ self._reference_inverse, selected.coupling)
        return A, self._softness @ blocks.H_bm

    def tool(self, position: Array) -> tuple[Array, Array]:
        """Return the tool position (a,) [m] and its Jacobian (a, n) at joint positions (n,)."""
        state = ArmState(0, position, self._still, self._none, self._none)
        kinematics = self.model.tool_kinematics(state, self.model.base_frame)
        return kinematics.position[self.axes], kinematics.J_m[self.axes]

    def at(self, position: Array) -> MotionSpace:
        """Return the reactionless motions at joint positions (n,)."""
        A, whole = self._couplings(position)
        tool, jacobian = self.tool(position)
        _, values, right = np.linalg.svd(A)
        null = right[len(A) :].T
        restricted = jacobian @ null
        sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(restricted @ restricted.T)[::-1], 0.0))
        least, most = float(values[-1]), float(values[0])
        conditioning = least / most if most > 0.0 else 0.0
        return MotionSpace(tool, jacobian, A, whole, null, restricted, sigma, conditioning)

    def check_tool(self, name: str, position: Array) -> Array:
        """Return the tracked axes (a,) of a tool position (3,).

        Raises:
            InputError: wrong length or not finite.
        """
        checked = np.array(position, dtype=float)
        if checked.shape != (3,) or not np.isfinite(checked).all():
            raise InputError(f"{name} tool position is {position}: give three finite numbers [m]")
        return np.asarray(checked[self.axes])
