r"""Hinges that follow others (``<mimic>``): reduced equations of motion, in place of the recursion (compiled).

The recursion absorbs the joints outboard of a hinge one after the other. Joints that share a coordinate cannot be
absorbed so: their equations are added up, and solved densely. With ``x = G x_r``, where ``G`` is constant::

    G^T M G a_r = G^T (T - bias)        a = G a_r

A hinge follows two coordinates: that of its driver, and the deflection of the driver's elastic drive, if it has one.
All arrays have the coordinates of the tree; the rows and columns of hinges that follow are those of the unit matrix.
"""

from __future__ import annotations

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.composite import composite_mass_matrix
from flexarm_core.flexible_dynamics.propagation import handed_acceleration, push_force
from flexarm_core.flexible_dynamics.tree import BodyTree, Workspace
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.types import Array


@kernel
def follow(tree: BodyTree, values: Array) -> None:
    """Set coordinates, rates or accelerations (h + K,) of the hinges that follow: ``G x_r``."""
    for f in range(tree.followers):
        one, other = tree.leaders[f, 0], tree.leaders[f, 1]
        values[tree.follower[f]] = tree.ratio[f, 0] * values[one] + tree.ratio[f, 1] * values[other]


@kernel
def gather(tree: BodyTree, forces: Array) -> None:
    """Add forces (h + K,) on the hinges that follow to those that they follow: ``G^T T``, 0 for those that follow."""
    for f in range(tree.followers):
        force = forces[tree.follower[f]]
        forces[tree.follower[f]] = 0.0
        forces[tree.leaders[f, 0]] += tree.ratio[f, 0] * force
        forces[tree.leaders[f, 1]] += tree.ratio[f, 1] * force


@kernel
def articulate_coupled(tree: BodyTree, ws: Workspace) -> None:
    """Compute and factor the reduced mass matrix, of an implicit step if there is one; input as in ``articulate``."""
    M, half = ws.reduced, 0.5 * ws.step[0]
    composite_mass_matrix(tree, ws, M)
    for h in range(tree.hinges):
        M[h, h] += half * (tree.damping[h] + half * tree.stiffness[h])
    for row in range(len(M)):
        gather(tree, M[row])
    for column in range(len(M)):
        gather(tree, M[:, column])
    for f in range(tree.followers):
        M[tree.follower[f], tree.follower[f]] = 1.0
    cholesky(M, len(M))


@kernel
def respond_coupled(tree: BodyTree, ws: Workspace, effort: Array, biased: bool, acceleration: Array) -> None:
    """Do what ``respond`` does, after :func:`articulate_coupled`: arguments as there."""
    count, S, z, zf = len(tree.parent), ws.S, ws.z, ws.zf
    acceleration[:] = 0.0
    move_out(tree, ws, biased, acceleration)
    for i in range(count):
        for b in range(6):
            z[i, b] = ws.p[i, b] if biased else 0.0
        for m in range(tree.modes[i]):
            zf[i, m] = ws.pf[i, m] if biased else 0.0
    for i in range(count - 1, -1, -1):  # ``P`` and ``F`` are those of the body with all that it carries
        e, h, parent = tree.first_mode[i], tree.hinge[i], tree.parent[i]
        for m in range(tree.modes[i]):
            s = effort[e + m] - zf[i, m]
            for b in range(6):
                s -= ws.F[i, b, m] * ws.a[i, b]
            acceleration[e + m] = s
        s = 0.0
        for b in range(6):
            handed, own = z[i, b], 0.0
            for c in range(6):
                bias = ws.bias[i, c] if biased else 0.0
                handed += ws.P[i, b, c] * ws.a[i, c]
                own += ws.P[i, b, c] * bias
            s += S[i, b] * handed
            z[i, b] += own
        if h >= 0:
            acceleration[h] = effort[h] - s
        if parent >= 0:
            push_force(tree, ws, i, (z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5]), z[parent], zf[parent])
    gather(tree, acceleration)
    cholesky_solve(ws.reduced, acceleration, len(acceleration))
    follow(tree, acceleration)
    move_out(tree, ws, biased, acceleration)


@kernel
def move_out(tree: BodyTree, ws: Workspace, biased: bool, acceleration: Array) -> None:
    """Compute the accelerations of the bodies, base to tip; without gravity and bias if not ``biased``."""
    for i in range(len(tree.parent)):
        a, h = ws.a[i], tree.hinge[i]
        a[0], a[1], a[2], a[3], a[4], a[5] = handed_acceleration(tree, ws, i, acceleration)
        for b in range(6):
            if not biased:
                a[b] = 0.0 if tree.parent[i] < 0 else a[b]
            else:
                a[b] += ws.bias[i, b]
            if h >= 0:
                a[b] += ws.S[i, b] * acceleration[h]
