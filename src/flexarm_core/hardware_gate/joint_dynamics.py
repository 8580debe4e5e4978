"""JointDynamics: what efforts do to the joints of an arm, apart from what its base does to them."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array

ANSWERED = 0.1  # [rad] of its phase by which the swing of a base may be answered late


class JointDynamics:
    """The equation of motion of the joints, over an elastic base that moves as they push it.

    ``tau = H qdd + c_m + D_m qd - H_bm^T H_b^-1 dH_bm/dt qd + p`` with ``H = H_m - H_bm^T H_b^-1 H_bm``, the inertia
    that joints feel over a free base, and the push ``p`` of a base that is deflected or swings by itself; over a rigid
    base only ``tau = H_m qdd + c_m + D_m qd`` is left. In some postures ``p`` is many times what the motors can give,
    and efforts that make up for it feed the swing of a base that is quick beside the time that they take. Without it an
    effort with ``qdd = -k qd`` takes energy from arm and base together: ``qd . H qdd = -k qd . H qd < 0``.
    """

    def __init__(self, model: ArmModel) -> None:
        """Of an arm."""
        self._model = model
        self._state: ArmState | None = None  # asked for last: a command asks for the same one several times
        self._blocks: DynamicsBlocks | None = None
        self._terms: tuple[Array, Array] | None = None

    def effort(self, state: ArmState, acceleration: Array) -> Array:
        """Effort (n,) of accelerations (n,), but for what the base does by itself."""
        inertia, bias = self.terms(state)
        effort: Array = inertia @ acceleration + bias
        return effort

    def acceleration(self, state: ArmState, effort: Array) -> Array:
        """Accelerations (n,) of an effort (n,), but for what the base does by itself."""
        if not self._model.m:
            return self._model.forward_dynamics(state, effort)
        inertia, bias = self.terms(state)
        return np.linalg.solve(inertia, effort - bias).astype(np.float64, copy=False)

    def push(self, state: ArmState) -> Array:
        """Accelerations (n,) that the base adds to those: ``-H^-1 p``."""
        none = np.zeros(self._model.n)
        if not self._model.m:
            return none
        return self._model.forward_dynamics(state, none) - self.acceleration(state, none)

    def answer(self, state: ArmState, delay: float) -> float:
        """Share of the push that efforts may make up for, which act ``delay`` [s] after the state.

        It is all of it where the base turns by ANSWERED in that time, in its quickest mode with free joints, of
        ``K v = w^2 (H_b - H_bm H_m^-1 H_bm^T) v``, and nothing at twice that; the root of the sum of all ``w^2`` is
        taken for the largest.
        """
        if not self._model.m:
            return 0.0
        blocks = self._blocks_of(state)
        free = blocks.H_b - blocks.H_bm @ np.linalg.solve(blocks.H_m, blocks.H_bm.T)
        quickest = math.sqrt(max(float(np.trace(np.linalg.solve(free, self._model.K_b))), 0.0))
        return min(max(2.0 - quickest * delay / ANSWERED, 0.0), 1.0)

    def terms(self, state: ArmState) -> tuple[Array, Array]:
        """``H`` (n, n) and the effort (n,) that keeps the velocity."""
        blocks = self._blocks_of(state)
        if self._terms is None:
            inertia, bias = blocks.H_m, blocks.c_m + self._model.D_m * state.velocity
            if self._model.m:
                moved = np.linalg.solve(blocks.H_b, np.column_stack((blocks.H_bm, blocks.dH_bm_qd)))
                inertia, bias = inertia - blocks.H_bm.T @ moved[:, :-1], bias - blocks.H_bm.T @ moved[:, -1]
            self._terms = inertia, bias
        return self._terms

    def _blocks_of(self, state: ArmState) -> DynamicsBlocks:
        if self._blocks is None or state is not self._state:
            self._state, self._blocks, self._terms = state, self._model.blocks(state), None
        return self._blocks
