"""JointDynamics: maps efforts to joint accelerations, without the motion that the base makes by itself."""

from __future__ import annotations

import numpy as np

from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array

ANSWERED = 0.1  # [rad] largest phase delay at which base oscillations are fully compensated


class JointDynamics:
    """Equation of motion of the joints on an elastic base that reacts to their motion.

    ``tau = H qdd + c_m + D_m qd - H_bm^T H_b^-1 dH_bm/dt qd + p`` with ``H = H_m - H_bm^T H_b^-1 H_bm``, the joint
    inertia over a free base, and the effort ``p`` due to the deflection and the vibration of the base; on a rigid base
    ``tau = H_m qdd + c_m + D_m qd``. In some postures ``p`` is many times the effort limit, and efforts that compensate
    it excite base modes that are fast compared with the delay of the control loop. Without ``p``, an effort with
    ``qdd = -k qd`` dissipates the energy of arm and base together: ``qd . H qdd = -k qd . H qd < 0``.
    """

    def __init__(self, model: ArmModel) -> None:
        """Use the dynamics of an arm model."""
        self._model = model
        self._state: ArmState | None = None  # last requested state: one command evaluates the same state several times
        self._blocks: DynamicsBlocks | None = None
        self._terms: tuple[Array, Array] | None = None

    def effort(self, state: ArmState, acceleration: Array) -> Array:
        """Return the effort (n,) for joint accelerations (n,), without the effort ``p`` of the base."""
        inertia, bias = self.terms(state)
        effort: Array = inertia @ acceleration + bias
        return effort

    def acceleration(self, state: ArmState, effort: Array) -> Array:
        """Return the joint accelerations (n,) for an effort (n,), without the effort ``p`` of the base."""
        if not self._model.m:
            return self._model.forward_dynamics(state, effort)
        inertia, bias = self.terms(state)
        return np.linalg.solve(inertia, effort - bias).astype(np.float64, copy=False)

    def push(self, state: ArmState, delay: float) -> tuple[Array, Array]:
        """Return the accelerations (n,) due to the base, ``-H^-1 p``: a part to compensate, and the rest.

        ``p = -H_bm^T H_b^-1 f`` with the force ``f`` on the base that is not due to the joint accelerations. It is
        split into the modes of the base with fixed joints, ``K v = w^2 H_b v``, where stiff modes only transmit the
        motion of slow modes. Efforts that act ``delay`` [s] after the state may compensate a mode fully if its phase
        advances by at most ANSWERED in that time, and not at all if it advances by twice that.
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
        """Return ``H`` (n, n) and the effort (n,) at zero joint acceleration."""
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
