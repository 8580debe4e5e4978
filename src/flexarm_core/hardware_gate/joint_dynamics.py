"""JointDynamics: what efforts do to the joints of an arm, apart from what its base does to them."""

from __future__ import annotations

import numpy as np

from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array

ANSWERED = 0.1  # [rad] of its phase by which the swing of a base may be answered late


class JointDynamics:
    """The equation of motion of the joints, over an elastic base that moves as they push it.

    ``tau = H qdd + c_m + D_m qd - H_bm^T H_b^-1 dH_bm/dt qd + p`` with ``H = H_m - H_bm^T H_b^-1 H_bm``, the inertia
    that joints feel over a free base, and the push ``p`` of a base that is deflected or swings by itself; over a rigid
    base only ``tau = H_m qdd + c_m + D_m qd`` is left. In some postures ``p`` is many times what the motors can give,
    and efforts that make up for it feed the swing of modes that are quick beside the time that they take. Without it an
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

    def push(self, state: ArmState, delay: float) -> tuple[Array, Array]:
        """Accelerations (n,) that the base adds to those, ``-H^-1 p``: what efforts may make up for, and the rest.

        ``p = -H_bm^T H_b^-1 f`` with the force ``f`` on the base that is not of the joints' own motion. It is taken
        apart by the modes of the base with joints that are held, ``K v = w^2 H_b v``: where these are, stiff modes only
        pass on what slow ones do. Of a mode efforts that act ``delay`` [s] after the state may make up for all where it
        turns by ANSWERED in that time, and for nothing at twice that.
        """
        model = self._model
        if not model.m:
            return np.zeros(model.n), np.zeros(model.n)
        blocks, (inertia, _) = self._blocks_of(state), self.terms(state)
        force = model.K_b @ state.deflection + model.D_b @ state.deflection_rate + blocks.c_b - blocks.dH_bm_qd
        root = np.linalg.cholesky(blocks.H_b)
        half = np.linalg.solve(root, np.column_stack((model.K_b, force)))
        squares, modes = np.linalg.eigh(np.linalg.solve(root, half[:, :-1].T))
        share = np.clip(2.0 - np.sqrt(np.maximum(squares, 0.0)) * delay / ANSWERED, 0.0, 1.0)
        modal = modes.T @ half[:, -1]
        moved = np.linalg.solve(root.T, np.column_stack((modes @ (share * modal), modes @ ((1.0 - share) * modal))))
        joints: Array = np.linalg.solve(inertia, blocks.H_bm.T @ moved).astype(np.float64, copy=False)
        return joints[:, 0], joints[:, 1]

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
