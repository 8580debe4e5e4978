"""JointDynamics: maps efforts to joint accelerations, without the motion that the base makes by itself."""

from __future__ import annotations

import numpy as np

from flexarm_core.compiled import allocating_kernel
from flexarm_core.entrance import finite
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
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

        Real damping improves a stop. Damping that is described but does not exist would be compensated by an effort
        that drives the joint.
        """
        inertia, bias = self.terms(state)
        effort: Array = inertia @ acceleration + bias
        return effort

    def acceleration(self, state: ArmState, effort: Array) -> Array:
        """Return the joint accelerations (n,) for an effort (n,), without the effort ``p`` of the base."""
        if not self.model.m:
            return self.model.forward_dynamics(state, effort)
        inertia, bias = self.terms(state)
        moving: Array = finite("effort", effort, bias.size) - bias - self.model.D_m * state.velocity
        divide(inertia, moving[None])
        return moving

    def terms(self, state: ArmState) -> tuple[Array, Array]:
        """Return ``H`` (n, n) and the effort (n,) at zero joint acceleration without damping; blocks overwrite both."""
        blocks = self.blocks(state)
        if self._terms is None:
            self._terms = blocks.H_m, blocks.c_m
            if self.model.m:
                self._terms = blocks.H_m.copy(), blocks.c_m.copy()
                free_base(blocks.H_b, blocks.H_bm, blocks.dH_bm_qd, *self._terms)
        return self._terms

    def blocks(self, state: ArmState) -> DynamicsBlocks:
        """Return the blocks of the equation of motion at a state; they are overwritten for the next one."""
        if self._blocks is None or state is not self._state:
            self._state, self._blocks, self._terms = state, self.model.blocks(state, self._blocks), None
        return self._blocks


@allocating_kernel
def divide(inertia: Array, rows: Array) -> None:
    """Replace efforts, rows of (k, n), by the accelerations that they cause with an inertia (n, n)."""
    factor = inertia.copy()
    cholesky(factor, factor.shape[0])
    for k in range(rows.shape[0]):
        cholesky_solve(factor, rows[k], factor.shape[0])


@allocating_kernel
def free_base(H_b: Array, H_bm: Array, dH_bm_qd: Array, inertia: Array, bias: Array) -> None:
    """Turn ``H_m`` (n, n) and ``c_m`` (n,) into ``H`` and the effort at zero joint acceleration; see the class."""
    m, n = H_bm.shape
    factor, moved = H_b.copy(), np.empty((n + 1, m))
    cholesky(factor, m)
    for i in range(m):
        moved[n, i] = dH_bm_qd[i]
        for j in range(n):
            moved[j, i] = H_bm[i, j]
    for k in range(n + 1):
        cholesky_solve(factor, moved[k], m)
    for i in range(n):
        for k in range(m):
            bias[i] -= H_bm[k, i] * moved[n, k]
        for j in range(n):
            for k in range(m):
                inertia[i, j] -= H_bm[k, i] * moved[j, k]
