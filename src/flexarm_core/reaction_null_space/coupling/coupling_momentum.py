r"""CouplingMomentum: momentum that moving joints have along each base direction, and the gravity load on the base.

Values are weighted with ``W = K_b^-1/2``: the weighted reaction ``W d/dt(H_bm qd)`` of a slow motion stores the elastic
energy ``1/2 |W d/dt(H_bm qd)|^2`` in the base, over all directions. Stiff directions contribute little, but not zero.

The derivative of the momentum with respect to the joint positions is exact: ``H_bm(q) qd`` is the base part of inverse
dynamics with acceleration qd, zero velocity and zero gravity, which Pinocchio differentiates (Carpentier, Mansard
2018). The derivative of the gravity load, if there is one, is a finite difference.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from flexarm_core.entrance import ANY, finite
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

DIFFERENCE = 1e-6  # step of the finite difference [rad | m]


class CouplingMomentum:
    """Weighted coupling momenta of one arm at zero base deflection.

    Attributes:
        weighs: whether gravity loads the base directions.
    """

    def __init__(self, model: ArmModel) -> None:
        """Bind to an arm with an elastic base."""
        self._arm = model
        self._model = pin.buildModelFromXML(model.description.text)
        self._model.gravity.linear = np.zeros(3)
        self._data = self._model.createData()
        following = model.description.coupled
        moving = (*model.joint_names, *(joint.name for joint in following))
        self._base, self._joints = (
            np.array([self._model.joints[self._model.getJointId(name)].idx_v for name in names])
            for names in (model.elastic_joint_names, moving)
        )
        # Pinocchio fills only the upper triangle of the inertia matrix.
        rows, columns = np.meshgrid(self._base, self._joints, indexing="ij")
        self._coupling = np.minimum(rows, columns), np.maximum(rows, columns)
        self._turning = np.ix_(self._base, self._joints)
        self._none, self._still = np.zeros(model.m), np.zeros(self._model.nv)
        values, vectors = np.linalg.eigh(model.K_b)
        self._weight = (vectors / np.sqrt(values)) @ vectors.T
        self._at_rest = np.zeros(model.n)
        postures = np.random.default_rng(0).uniform(-1.0, 1.0, (5, model.n))
        self.weighs = bool(self.weights(postures).any())

    def _checked(self, positions: Array, velocities: Array) -> tuple[Array, Array]:
        positions = finite("positions", positions, ANY, self._arm.n)
        return positions, finite("velocities", velocities, *positions.shape)

    def at(self, positions: Array, velocities: Array) -> Array:
        """Return (t, m) ``W H_bm qd`` at joint positions (t, n) and velocities (t, n) [sqrt(J) s]."""
        positions, velocities = self._checked(positions, velocities)
        found = np.empty((len(positions), len(self._base)))
        for i, (q, qd) in enumerate(zip(positions, velocities, strict=True)):
            configuration, motion = self._arm.configuration(q, self._none), self._arm.velocity(qd, self._none)
            found[i] = pin.rnea(self._model, self._data, configuration, self._still, motion)[self._base]
        return found @ self._weight

    def derivatives(self, positions: Array, velocities: Array) -> tuple[Array, Array, Array]:
        """Return ``W H_bm qd`` (t, m) and its derivatives (t, m, n) with respect to positions and velocities."""
        positions, velocities = self._checked(positions, velocities)
        t, m, n = len(positions), len(self._base), len(self._joints)
        found, turning, coupling = np.empty((t, m)), np.empty((t, m, n)), np.empty((t, m, n))
        for i, (q, qd) in enumerate(zip(positions, velocities, strict=True)):
            configuration, motion = self._arm.configuration(q, self._none), self._arm.velocity(qd, self._none)
            pin.computeRNEADerivatives(self._model, self._data, configuration, self._still, motion)
            found[i] = self._data.tau[self._base]
            turning[i] = self._data.dtau_dq[self._turning]
            coupling[i] = self._data.M[self._coupling]
        if self._arm.spread is not None:
            turning, coupling = turning @ self._arm.spread, coupling @ self._arm.spread
        return found @ self._weight, self._weight @ turning, self._weight @ coupling

    def weights(self, positions: Array) -> Array:
        """Return (t, m) ``W g_b``, the weighted gravity load on the base, at joint positions (t, n) [sqrt(J)]."""
        states = (ArmState(0, q, self._at_rest, self._none, self._none) for q in positions)
        return np.array([self._arm.weight(state) for state in states]) @ self._weight

    def weight_derivatives(self, positions: Array) -> tuple[Array, Array]:
        """Return ``W g_b`` (t, m) and its derivative (t, m, n) with respect to the joint positions."""
        found = self.weights(positions)
        moved = [self.weights(positions + DIFFERENCE * unit) for unit in np.eye(positions.shape[1])]
        return found, (np.stack(moved, axis=2) - found[:, :, None]) / DIFFERENCE
