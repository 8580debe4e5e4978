"""ReactionNullSpace: the joint motions of an arm that leave its elastic base at rest (Nenchev et al. 1999).

The base is at rest as long as the momentum that the arm gives it, ``S H_bm qd``, does not change. ``S`` are the base
motions that are to stay quiet.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import finite, flags
from flexarm_core.reaction_null_space.vibration.base_selection import AUTO, BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

SINGULAR = 1e-9  # singular values below this share of the largest count as zero


class ReactionNullSpace:
    """Projections of joint motions at a posture, with the base undeflected.

    Attributes:
        model: the arm.
        selection: the base motions that are to stay quiet.
    """

    def __init__(self, model: ArmModel, selection: tuple[str, ...] = (AUTO,)) -> None:
        """Choose the base motions.

        Args:
            model: the arm.
            selection: names of elastic joints, or ``("all",)``, or ``("auto",)`` for the soft modes of the base.

        Raises:
            ConfigError: unknown or repeated names, or as many motions as the arm has joints.
        """
        self.model, self.selection = model, BaseSelection(model, selection)

    def __repr__(self) -> str:
        return f"ReactionNullSpace({self.model!r}, quiet: {', '.join(self.selection.names)})"

    def coupling(self, position: Array) -> Array:
        """Return the coupling inertia ``S H_bm`` (k, n): joint velocities to momentum of the k quiet motions."""
        return self.selection.at(self.model.blocks(self._state(position)), 0.0, 0.0).coupling

    def projector(self, position: Array) -> Array:
        """Return the (n, n) orthogonal projector of joint velocities or accelerations to those without reaction."""
        coupling = self.coupling(position)
        projector: Array = np.eye(self.model.n) - np.linalg.pinv(coupling, rcond=SINGULAR) @ coupling
        return projector

    def joint_velocity(self, position: Array, twist: Array, axes: Array | None = None) -> Array:
        """Return the least joint velocity (n,) without reaction that moves the tool as near to a twist as possible.

        Args:
            position: (n,) joint positions.
            twist: (6,) twist ``[v; w]`` of the tool in the root link.
            axes: (6,) which of its rows matter; None: all.
        """
        rows = np.ones(6, dtype=bool) if axes is None else flags("axes", axes, 6)
        twist, projector = finite("twist", twist, 6), self.projector(position)
        J = self.model.tool_kinematics(self._state(position), self.model.world_frame).J_m[rows]
        velocity: Array = np.linalg.pinv(J @ projector, rcond=SINGULAR) @ twist[rows]
        return velocity

    def generalized_jacobian(self, position: Array) -> Array:
        """Return the tool's Jacobian (6, n) in the root link, for a base that floats and has no momentum.

        Without springs the momentum ``H_b xd_b + H_bm qd`` is constant. If it is zero, the base yields by ``xd_b =
        -H_b^-1 H_bm qd``, and the tool moves by ``J* qd`` with ``J* = J_m - J_b H_b^-1 H_bm`` (Umetani and Yoshida
        1989). Without reaction, ``H_bm qd = 0``, this is ``J_m qd``.
        """
        state = self._state(position)
        blocks, tool = self.model.blocks(state), self.model.tool_kinematics(state, self.model.world_frame)
        jacobian: Array = tool.J_m - tool.J_b @ np.linalg.solve(blocks.H_b, blocks.H_bm)
        return jacobian

    def tool_position(self, position: Array) -> Array:
        """Return the (3,) tool position in the base link frame at joint positions (n,) [m]."""
        return self.model.tool_kinematics(self._state(position), self.model.base_frame).position

    def _state(self, position: Array) -> ArmState:
        still, none = np.zeros(self.model.n), np.zeros(self.model.m)
        return ArmState(0, finite("position", position, self.model.n), still, none, none)
