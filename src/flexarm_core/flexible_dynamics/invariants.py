r"""ModalInvariants: constant node sums of a flexible body, so that the cost per cycle is independent of the node count.

With node positions ``rho_j = r_j + Pi^t_j eta`` every node sum in the equations of motion is a polynomial in ``eta``,
whose coefficients are computed once here (``pi_jk``: column k of ``Pi^t_j``)::

    s0   = sum m_j r_j              S1_k  = sum m_j pi_jk                          first moment  s = s0 + S1 eta
    J0   = sum m_j ((r.r) 1 - r r^T) + I_j
    N0_k = sum m_j ((r_j.pi_jk) 1 - pi_jk r_j^T)
    N1_kl = sum m_j ((pi_jk.pi_jl) 1 - pi_jk pi_jl^T)             J = J0 + eta_k (N0 + N0^T)_k + eta_k eta_l N1_kl
    H0_k = sum m_j r_j x pi_jk + I_j Pi^r_jk     Q_kl = sum m_j pi_jl x pi_jk     rotation-mode  H_k = H0_k + eta_l Q_kl
    R1_k = sum I_j Pi^r_jk          Mff_kl = sum m_j pi_jk.pi_jl + Pi^r_jk^T I_j Pi^r_jl

The node inertias ``I_j`` are assumed constant in body axes, which conserves energy and angular momentum exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.robot.description import Link
from flexarm_core.types import Array

MASSLESS = 1e-3  # fraction of a link's mass that is treated as zero
INERTIA_TOLERANCE = 1e-2  # fraction of the link inertia by which the node inertia may exceed the link inertia


@dataclass(frozen=True, slots=True)
class ModalInvariants:
    """Sums over the nodes of one body with ``k`` modes (0 for a rigid body), in the notation of the module docstring.

    Attributes:
        mass: total mass [kg].
        s0: (3,) first moment [kg*m].
        J0: (3, 3) inertia about the body frame's origin [kg*m^2].
        S1: (3, k).
        H0: (3, k).
        R1: (3, k).
        N0: (k, 3, 3).
        N1: (k, k, 3, 3), with ``N1_lk = N1_kl^T``.
        Q: (k, k, 3).
        Mff: (k, k) modal mass.
        K: (k, k) modal stiffness.
        C: (k, k) modal damping.
    """

    mass: float
    s0: Array
    J0: Array
    S1: Array
    H0: Array
    R1: Array
    N0: Array
    N1: Array
    Q: Array
    Mff: Array
    K: Array
    C: Array


def rigid_body(mass: float, center_of_mass: Array, inertia: Array) -> ModalInvariants:
    """Make a body without modes from mass [kg], center of mass (3,) [m] and inertia (3, 3) about it [kg*m^2]."""
    c = center_of_mass
    J0 = inertia + mass * (c @ c * np.eye(3) - np.outer(c, c))
    none, empty = np.zeros((3, 0)), np.zeros((0, 0))
    return ModalInvariants(
        mass, mass * c, J0, none, none, none, np.zeros((0, 3, 3)), np.zeros((0, 0, 3, 3)), np.zeros((0, 0, 3)),
        empty, empty, empty,
    )  # fmt: skip


def flexible_body(link: Link, data: ModalData) -> ModalInvariants:
    """Make a body with modes from the nodes and the link's ``<inertial>``.

    Mass and inertia of ``<inertial>`` in excess of the nodes are rigidly attached to the clamped end. Lumped nodes have
    ``m L^2 / (6 n^2)`` more inertia than the rod that they represent, and removing it would make the mass matrix
    indefinite with many modes. Therefore negative excess moments of inertia are set to zero.

    Raises:
        RobotDescriptionError: the link has clearly less mass or inertia than its nodes.
    """
    m, r, pi, turn, inertia = data.mass, data.position, data.translation, data.rotation, data.inertia
    one = np.eye(3)
    own = rigid_body(0.0, np.zeros(3), inertia.sum(axis=0))
    J_nodes = own.J0 + np.einsum("j,ja,ja,bc->bc", m, r, r, one) - np.einsum("j,ja,jb->ab", m, r, r)
    rigid = _beyond_nodes(link, m.sum(), m @ r, J_nodes)
    R1 = np.einsum("jab,jbk->ak", inertia, turn)
    cross = np.stack([np.einsum("j,ja->a", m, np.cross(r, pi[:, :, k])) for k in range(pi.shape[2])], axis=1)
    outer = np.einsum("j,jak,jbl->klab", m, pi, pi)
    return ModalInvariants(
        mass=m.sum() + rigid.mass,
        s0=m @ r + rigid.s0,
        J0=J_nodes + rigid.J0,
        S1=np.einsum("j,jak->ak", m, pi),
        H0=cross + R1,
        R1=R1,
        N0=np.einsum("j,ja,jak,bc->kbc", m, r, pi, one) - np.einsum("j,jak,jb->kab", m, pi, r),
        N1=np.einsum("klaa,bc->klbc", outer, one) - outer,
        Q=np.einsum("j,jal,jbk,abc->klc", m, pi, pi, _LEVI_CIVITA),
        Mff=data.modal_mass,
        K=data.stiffness,
        C=data.damping,
    )


def _beyond_nodes(link: Link, mass: float, moment: Array, inertia: Array) -> ModalInvariants:
    """Compute the rigid body by which a link's ``<inertial>`` exceeds the sums over its nodes."""
    whole = rigid_body(link.mass, link.center_of_mass, link.inertia)
    left = whole.mass - mass
    if left <= MASSLESS * whole.mass:
        if left < -MASSLESS * whole.mass:
            raise RobotDescriptionError(
                f"flexible link '{link.name}': its <inertial> has {whole.mass:.6g} kg, its nodes have {mass:.6g} kg:"
                " <inertial> is that of the whole link"
            )
        left, center = 0.0, np.zeros(3)
    else:
        center = (whole.s0 - moment) / left
    J = whole.J0 - inertia - left * (center @ center * np.eye(3) - np.outer(center, center))
    moments, axes = np.linalg.eigh(J)
    size = np.trace(whole.J0)
    if moments[0] < -INERTIA_TOLERANCE * size:
        raise RobotDescriptionError(
            f"flexible link '{link.name}': its <inertial> has less inertia about its hinge than its nodes have, by"
            f" {-moments[0]:.3g} kg*m^2: <inertial> is that of the whole link"
        )
    return rigid_body(left, center, (axes * np.maximum(moments, 0.0)) @ axes.T)


_LEVI_CIVITA = np.zeros((3, 3, 3))
_LEVI_CIVITA[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1.0
_LEVI_CIVITA[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = -1.0
