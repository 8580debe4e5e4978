"""External wrenches on the bodies of an arm, added to the memory of the recursions (compiled)."""

from __future__ import annotations

import numpy as np

from flexarm_core.compiled import allocating_kernel
from flexarm_core.flexible_dynamics.kinematics import cross_add, exponential
from flexarm_core.flexible_dynamics.tree import Index, view_tree, view_workspace
from flexarm_core.types import Array


@allocating_kernel
def body_pose(integers: Index, constants: Array, memory: Array, body: int, position: Array, rotation: Array) -> None:
    """Compute a body's ``position`` (3,) and ``rotation`` (3, 3) in the inertial frame; requires ``move_bodies``."""
    tree, ws = view_tree(integers, constants), view_workspace(memory)
    moved, turned = np.empty(3), np.empty((3, 3))
    position[:] = 0.0
    rotation[:] = np.eye(3)
    while body >= 0:
        for r in range(3):
            moved[r] = ws.rho[body, r]
            for j in range(3):
                moved[r] += ws.R[body, r, j] * position[j]
                turned[r, j] = 0.0
                for c in range(3):
                    turned[r, j] += ws.R[body, r, c] * rotation[c, j]
        position[:] = moved
        rotation[:] = turned
        body = tree.parent[body]


@allocating_kernel
def add_wrench(integers: Index, constants: Array, memory: Array, body: int, applied: Array, influence: Array) -> None:
    """Convert a wrench at a mount to a wrench at the body's origin and modal forces ``B^T w``.

    Args:
        integers: integer array of the tree.
        constants: constant array of the tree.
        memory: workspace after :func:`~.dense.load_at`; the result is added to its ``wrench`` and ``force``.
        body: index of the body with the mount.
        applied: (4, 3) where and what: position of the mount's node on the body, offset of the mount from the node [m];
            force and moment in axes of the inertial frame [N, N*m].
        influence: (6, k) modal influence at the node, translation and rotation.
    """
    tree, ws = view_tree(integers, constants), view_workspace(memory)
    position, rotation = np.empty(3), np.empty((3, 3))
    body_pose(integers, constants, memory, body, position, rotation)
    k, first = tree.modes[body], tree.first_mode[body] - tree.hinges
    eta = ws.x[tree.first_mode[body] :]
    force, moment, c, rho, phi = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    E, Jl = np.eye(3), np.eye(3)
    for r in range(3):
        for j in range(3):
            force[r] += rotation[j, r] * applied[2, j]
            moment[r] += rotation[j, r] * applied[3, j]
        for mode in range(k):
            phi[r] += influence[3 + r, mode] * eta[mode]
    exponential(phi, E, Jl)
    for r in range(3):
        for j in range(3):
            c[r] += E[r, j] * applied[1, j]
        rho[r] = applied[0, r] + c[r]
        for mode in range(k):
            rho[r] += influence[r, mode] * eta[mode]
    at_node = moment.copy()
    cross_add(at_node, 1.0, c, force)
    cross_add(moment, 1.0, rho, force)
    for mode in range(k):
        for r in range(3):
            ws.force[first + mode] += influence[r, mode] * force[r]
            for j in range(3):
                ws.force[first + mode] += Jl[r, j] * influence[3 + j, mode] * at_node[r]
    for r in range(3):
        ws.wrench[body, r] += force[r]
        ws.wrench[body, 3 + r] += moment[r]
