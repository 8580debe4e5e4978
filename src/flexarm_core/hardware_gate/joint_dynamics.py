"""JointDynamics: what efforts do to the joints of an arm, and how little of its base's swing they make up for."""

from __future__ import annotations

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array


class JointDynamics:
    """The equation of motion of the joints, over an elastic base that moves as they push it.

    ``tau = H qdd + c_m + D_m qd - H_bm^T H_b^-1 dH_bm/dt qd + p`` with ``H = H_m - H_bm^T H_b^-1 H_bm``, the inertia
    that joints feel over a free base, and the push ``p`` of a base that is deflected or swings by itself; over a rigid
    base only ``tau = H_m qdd + c_m + D_m qd`` is left. In some postures ``p`` is many times what the motors can give,
    and efforts that make up for it feed the swing as soon as they come late. Without it an effort with ``qdd = -k qd``
    takes energy from arm and base together: ``qd . H qdd = -k qd . H qd < 0``.
    """

    def __init__(self, model: ArmModel) -> None:
        """Of an arm."""
        self._model = model

    def effort(self, state: ArmState, acceleration: Array) -> Array:
        """Effort (n,) of accelerations (n,), but for what the base does by itself."""
        inertia, bias = self._terms(state)
        effort: Array = inertia @ acceleration + bias
        return effort

    def acceleration(self, state: ArmState, effort: Array) -> Array:
        """Accelerations (n,) of an effort (n,), but for what the base does by itself."""
        if not self._model.m:
            return self._model.forward_dynamics(state, effort)
        inertia, bias = self._terms(state)
        return np.linalg.solve(inertia, effort - bias).astype(np.float64, copy=False)

    def pushed(self, state: ArmState, effort: Array, most: Array) -> tuple[Array, Array]:
        """Accelerations (n,) of an effort (n,) and of the base, and ``H``; the base pushes by ``most`` (n,) at most."""
        inertia, bias = self._terms(state)
        accelerations = np.linalg.solve(inertia, effort - bias)
        push = self._model.forward_dynamics(state, effort) - accelerations
        return accelerations + push * min(1.0, float((most / np.maximum(np.abs(push), 1e-12)).min())), inertia

    def _terms(self, state: ArmState) -> tuple[Array, Array]:
        """``H`` (n, n) and the effort (n,) that keeps the velocity."""
        blocks = self._model.blocks(state)
        bias = blocks.c_m + self._model.D_m * state.velocity
        if not self._model.m:
            return blocks.H_m, bias
        moved = np.linalg.solve(blocks.H_b, np.column_stack((blocks.H_bm, blocks.dH_bm_qd)))
        return blocks.H_m - blocks.H_bm.T @ moved[:, :-1], bias - blocks.H_bm.T @ moved[:, -1]
