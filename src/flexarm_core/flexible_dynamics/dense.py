"""Inverse dynamics, dense mass matrix and kinetic energy of the same bodies (compiled)."""

from __future__ import annotations

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.composite import composite_mass_matrix
from flexarm_core.flexible_dynamics.kinematics import place_bodies
from flexarm_core.flexible_dynamics.propagation import handed_acceleration, push_force
from flexarm_core.flexible_dynamics.tree import BodyTree, Index, Workspace, view_tree, view_workspace
from flexarm_core.types import Array


@kernel
def load_at(integers: Index, constants: Array, memory: Array, x: Array, v: Array) -> None:
    """Compute motion and bias forces of every body at a state, without the inertia sweep."""
    place_bodies(view_tree(integers, constants), view_workspace(memory), x, v)


@kernel
def inverse_dynamics(integers: Index, constants: Array, memory: Array, x: Array, v: Array, acceleration: Array) -> None:
    """Compute the hinge efforts and modal forces for given accelerations by the recursive Newton-Euler method.

    Args:
        integers: integer array of the tree.
        constants: constant array of the tree.
        memory: workspace, which gets ``effort`` (includes springs and dampers of the modes, but not of the hinges),
            ``through``, and the accelerations ``a`` of the bodies.
        x: (h + K,) coordinates.
        v: (h + K,) rates.
        acceleration: (h + K,) accelerations.
    """
    tree = view_tree(integers, constants)
    ws = view_workspace(memory)
    place_bodies(tree, ws, x, v)
    inverse_sweep(tree, ws, acceleration)


@kernel
def inverse_sweep(tree: BodyTree, ws: Workspace, acceleration: Array) -> None:
    """Do the sweeps of :func:`inverse_dynamics` after :func:`load_at`; the result is affine in the accelerations."""
    effort, wrench = ws.effort, ws.through
    count = len(tree.parent)
    for i in range(count):
        a = ws.a[i]
        a[0], a[1], a[2], a[3], a[4], a[5] = handed_acceleration(tree, ws, i, acceleration)
        h, e = tree.hinge[i], tree.first_mode[i]
        for b in range(6):
            a[b] += ws.bias[i, b]
            if h >= 0:
                a[b] += ws.S[i, b] * acceleration[h]
        for b in range(6):
            s = ws.p[i, b]
            for c in range(6):
                s += ws.P[i, b, c] * a[c]
            for m in range(tree.modes[i]):
                s += ws.F[i, b, m] * acceleration[e + m]
            wrench[i, b] = s
        for m in range(tree.modes[i]):
            s = ws.pf[i, m]
            for n in range(tree.modes[i]):
                s += ws.Ff[i, m, n] * acceleration[e + n]
            for b in range(6):
                s += ws.F[i, b, m] * a[b]
            effort[e + m] = s
    for i in range(count - 1, -1, -1):
        f, p = wrench[i], tree.parent[i]
        if tree.hinge[i] >= 0:
            s = 0.0
            for b in range(6):
                s += ws.S[i, b] * f[b]
            effort[tree.hinge[i]] = s + tree.armature[tree.hinge[i]] * acceleration[tree.hinge[i]]
        if p >= 0:
            push_force(tree, ws, i, (f[0], f[1], f[2], f[3], f[4], f[5]), wrench[p], effort[tree.first_mode[p] :])


@kernel
def mass_matrix(integers: Index, constants: Array, memory: Array, x: Array, v: Array, M: Array) -> None:
    """Compute the dense mass matrix (h + K, h + K).

    Args:
        integers: integer array of the tree.
        constants: constant array of the tree.
        memory: workspace.
        x: (h + K,) coordinates.
        v: (h + K,) rates; the result does not depend on them.
        M: (h + K, h + K) output.
    """
    load_at(integers, constants, memory, x, v)
    tree = view_tree(integers, constants)
    ws = view_workspace(memory)
    composite_mass_matrix(tree, ws, M)


@kernel
def kinetic_energy(integers: Index, constants: Array, memory: Array, v: Array) -> float:
    """Compute ``sum_i [V_i; etad_i]^T M_i [V_i; etad_i] / 2 + sum_h J_a qd_h^2 / 2`` [J] after :func:`load_at`."""
    tree = view_tree(integers, constants)
    ws = view_workspace(memory)
    energy = 0.0
    for h in range(len(tree.armature)):
        energy += 0.5 * tree.armature[h] * v[h] * v[h]
    for i in range(len(tree.parent)):
        e = tree.first_mode[i]
        for a in range(6):
            for b in range(6):
                energy += 0.5 * ws.velocity[i, a] * ws.P[i, a, b] * ws.velocity[i, b]
            for m in range(tree.modes[i]):
                energy += ws.velocity[i, a] * ws.F[i, a, m] * v[e + m]
        for m in range(tree.modes[i]):
            for n in range(tree.modes[i]):
                energy += 0.5 * v[e + m] * ws.Ff[i, m, n] * v[e + n]
    return energy
