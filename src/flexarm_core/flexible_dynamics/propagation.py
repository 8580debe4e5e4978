"""Quantities that a body passes to its neighbors: forces to its parent, accelerations to its children (compiled)."""

from __future__ import annotations

from flexarm_core.compiled import inlined_kernel
from flexarm_core.flexible_dynamics.tree import BodyTree, Workspace
from flexarm_core.types import Array

Six = tuple[float, float, float, float, float, float]


@inlined_kernel
def push_force(tree: BodyTree, ws: Workspace, i: int, force: Six, onto: Array, modal: Array) -> None:
    """Add a force on body ``i`` to its parent: to ``onto`` (6,) and, by ``B_d^T``, to the parent's ``modal`` forces."""
    R, rho, Bt, Br = ws.R, ws.rho, ws.Bt, ws.Br
    z0, z1, z2, z3, z4, z5 = force
    f0 = R[i, 0, 0] * z0 + R[i, 0, 1] * z1 + R[i, 0, 2] * z2
    f1 = R[i, 1, 0] * z0 + R[i, 1, 1] * z1 + R[i, 1, 2] * z2
    f2 = R[i, 2, 0] * z0 + R[i, 2, 1] * z1 + R[i, 2, 2] * z2
    n0 = R[i, 0, 0] * z3 + R[i, 0, 1] * z4 + R[i, 0, 2] * z5
    n1 = R[i, 1, 0] * z3 + R[i, 1, 1] * z4 + R[i, 1, 2] * z5
    n2 = R[i, 2, 0] * z3 + R[i, 2, 1] * z4 + R[i, 2, 2] * z5
    for m in range(tree.modes[tree.parent[i]]):
        s = Bt[i, 0, m] * f0 + Bt[i, 1, m] * f1 + Bt[i, 2, m] * f2
        modal[m] += s + Br[i, 0, m] * n0 + Br[i, 1, m] * n1 + Br[i, 2, m] * n2
    onto[0] += f0
    onto[1] += f1
    onto[2] += f2
    onto[3] += n0 + rho[i, 1] * f2 - rho[i, 2] * f1
    onto[4] += n1 + rho[i, 2] * f0 - rho[i, 0] * f2
    onto[5] += n2 + rho[i, 0] * f1 - rho[i, 1] * f0


@inlined_kernel
def handed_acceleration(tree: BodyTree, ws: Workspace, i: int, acceleration: Array) -> Six:
    """Return the acceleration of body ``i`` due to its parent, in the body's axes, without bias and hinge terms."""
    p, R, rho, a, Bt, Br = tree.parent[i], ws.R, ws.rho, ws.a, ws.Bt, ws.Br
    if p < 0:
        l0, l1, l2, r0, r1, r2 = tree.root[0], tree.root[1], tree.root[2], 0.0, 0.0, 0.0
    else:
        r0, r1, r2 = a[p, 3], a[p, 4], a[p, 5]
        l0 = a[p, 0] + r1 * rho[i, 2] - r2 * rho[i, 1]
        l1 = a[p, 1] + r2 * rho[i, 0] - r0 * rho[i, 2]
        l2 = a[p, 2] + r0 * rho[i, 1] - r1 * rho[i, 0]
        for m in range(tree.modes[p]):
            s = acceleration[tree.first_mode[p] + m]
            l0, l1, l2 = l0 + Bt[i, 0, m] * s, l1 + Bt[i, 1, m] * s, l2 + Bt[i, 2, m] * s
            r0, r1, r2 = r0 + Br[i, 0, m] * s, r1 + Br[i, 1, m] * s, r2 + Br[i, 2, m] * s
    return (
        R[i, 0, 0] * l0 + R[i, 1, 0] * l1 + R[i, 2, 0] * l2,
        R[i, 0, 1] * l0 + R[i, 1, 1] * l1 + R[i, 2, 1] * l2,
        R[i, 0, 2] * l0 + R[i, 1, 2] * l1 + R[i, 2, 2] * l2,
        R[i, 0, 0] * r0 + R[i, 1, 0] * r1 + R[i, 2, 0] * r2,
        R[i, 0, 1] * r0 + R[i, 1, 1] * r1 + R[i, 2, 1] * r2,
        R[i, 0, 2] * r0 + R[i, 1, 2] * r1 + R[i, 2, 2] * r2,
    )
