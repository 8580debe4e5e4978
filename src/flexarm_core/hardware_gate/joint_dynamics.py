"""JointDynamics: maps efforts to joint accelerations, without the motion that the base makes by itself."""

from __future__ import annotations

import numpy as np

from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array


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
        self.model = model
        self._state: ArmState | None = None  # last requested state: one command evaluates the same state several times
        self._blocks: DynamicsBlocks | None = None
        self._terms: tuple[Array, Array] | None = None

    def effort(self, state: ArmState, acceleration: Array) -> Array:
        """Return the effort (n,) for joint accelerations (n,), without the effort ``p`` of the base and ``D_m qd``.

        A stop is the better for damping; where it is told but does not exist, its compensation would drive the joint.
        """
        inertia, bias = self.terms(state)
        effort: Array = inertia @ acceleration + bias
        return effort

    def acceleration(self, state: ArmState, effort: Array) -> Array:
        """Return the joint accelerations (n,) for an effort (n,), without the effort ``p`` of the base."""
        if not self.model.m:
            return self.model.forward_dynamics(state, effort)
        inertia, bias = self.terms(state)
        moving = effort - bias - self.model.D_m * state.velocity
        return np.linalg.solve(inertia, moving).astype(np.float64, copy=False)

    def terms(self, state: ArmState) -> tuple[Array, Array]:
        """Return ``H`` (n, n) and the effort (n,) at zero joint acceleration without damping; blocks overwrite both."""
        blocks = self.blocks(state)
        if self._terms is None:
            inertia, bias = blocks.H_m, blocks.c_m
            if self.model.m:
                moved = np.linalg.solve(blocks.H_b, np.column_stack((blocks.H_bm, blocks.dH_bm_qd)))
                inertia, bias = inertia - blocks.H_bm.T @ moved[:, :-1], bias - blocks.H_bm.T @ moved[:, -1]
            self._terms = inertia, bias
        return self._terms

    def blocks(self, state: ArmState) -> DynamicsBlocks:
        """Return the blocks of the equation of motion at a state; they are overwritten for the next one."""
        if self._blocks is None or state is not self._state:
            self._state, self._blocks, self._terms = state, self.model.blocks(state, self._blocks), None
        return self._blocks
