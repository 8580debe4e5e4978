"""Coupling: joints that follow others in a MuJoCo model, and what forces do to a robot with them.

MuJoCo keeps a coordinate for each joint, and an equality constraint ``A qd = 0`` between them, which its mass matrix
does not know. Forces ``f`` accelerate by ``M^-1 (f - A^T l)`` with ``A M^-1 A^T l = A M^-1 f``.
"""

from __future__ import annotations

import mujoco
import numpy as np

from flexarm_core.compiled import allocating_kernel
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_sim.mujoco.follower_rotors import leaders
from flexarm_sim.mujoco.library import address, solve_inertia


@allocating_kernel
def respond(model: int, data: int, forces: Array, held: Array, out: Array) -> None:
    """Write the accelerations that forces cause, rows (k, nv) of ``out`` for rows of ``forces``.

    Args:
        model: address of the model.
        data: address of its data.
        forces: (k, nv) forces on the coordinates.
        held: (c, nv) ``A``.
        out: (k, nv) accelerations.
    """
    c = held.shape[0]
    solve_inertia(model, data, out.ctypes.data, forces.ctypes.data, out.shape[0])
    if c == 0:
        return
    pulled, square, pull = np.empty_like(held), np.empty((c, c)), np.empty(c)
    solve_inertia(model, data, pulled.ctypes.data, held.ctypes.data, c)
    for i in range(c):
        for j in range(c):
            square[i, j] = np.sum(held[i] * pulled[j])
    cholesky(square, c)
    for row in range(out.shape[0]):
        for i in range(c):
            pull[i] = np.sum(held[i] * out[row])
        cholesky_solve(square, pull, c)
        for i in range(c):
            out[row] -= pull[i] * pulled[i]


class Coupling:
    """Joints of one model that follow others.

    Attributes:
        any: whether there are such joints.
        held: (c, nv) ``A``.
    """

    def __init__(self, description: RobotDescription, model: mujoco.MjModel) -> None:
        """Find the coordinates of these joints in the compiled model of a robot."""
        self._model, following = model, description.coupled
        self._spread, self.held = np.eye(model.nv), np.zeros((len(following), model.nv))
        for row, joint in zip(self.held, following, strict=True):
            follower = int(model.joint(joint.name).dofadr[0])
            self._spread[follower, follower], row[follower] = 0.0, 1.0
            for name in leaders(description, joint):
                leader = int(model.joint(name).dofadr[0])
                self._spread[follower, leader], row[leader] = joint.multiplier, -joint.multiplier
        self.any = bool(following)

    def place(self, data: mujoco.MjData) -> None:
        """Set the joints that follow to the positions and velocities that they have by those of the others."""
        if self.any:
            data.qpos[:], data.qvel[:] = self._spread @ data.qpos, self._spread @ data.qvel

    def gathered(self, force: Array) -> Array:
        """Return forces (nv,) on all coordinates as forces on those that lead."""
        return self._spread.T @ force if self.any else force

    def respond(self, data: mujoco.MjData, forces: Array, out: Array) -> None:
        """Write the accelerations that forces cause, rows (k, nv) of ``out`` for rows of ``forces``."""
        respond(address(self._model), address(data), forces, self.held, out)
