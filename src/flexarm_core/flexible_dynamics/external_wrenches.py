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
def add_wrench(
    integers: Index,
    constants: Array,
    memory: Array,
    body: int,
    place: Array,
    influence: Array,
    eta: Array,
    first: int,
    wrench: Array,
) -> None:
    """Convert a wrench at a mount to a wrench at the body's origin and modal forces ``B^T w``.

    Requires ``move_bodies``.

    Args:
        integers: integer array of the tree.
        constants: constant array of the tree.
        memory: workspace; the result is added to its ``wrench`` and ``force``.
        body: index of the body with the mount.
        place: (2, 3) node position of the mount on the body, and offset of the mount from the node [m].
        influence: (6, k) modal influence at the node, translation and rotation.
        eta: (k,) modal coordinates of the body.
        first: index of the body's first mode among all modes.
        wrench: (6,) ``[f; n]`` in axes of the inertial frame.
    """
    ws = view_workspace(memory)
    position, rotation = np.empty(3), np.empty((3, 3))
    body_pose(integers, constants, memory, body, position, rotation)
    k = len(eta)
    force, moment, c, rho, phi = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    E, Jl = np.eye(3), np.eye(3)
    for r in range(3):
        for j in range(3):
            force[r] += rotation[j, r] * wrench[j]
            moment[r] += rotation[j, r] * wrench[3 + j]
        for mode in range(k):
            phi[r] += influence[3 + r, mode] * eta[mode]
    exponential(phi, E, Jl)
    for r in range(3):
        for j in range(3):
            c[r] += E[r, j] * place[1, j]
        rho[r] = place[0, r] + c[r]
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
