r"""Torque law of the reaction null space (Nenchev et al. 1999, equation 16), for selected motions and with gravity.

::

    tau = H_m A^+ (G xd_b - S b_b) + c_m + D_m qd - H_m G_m qd + H_m P_RNS u              A = S H_bm,  A P_RNS = 0

Printed (20) has slips in its signs. From the dynamics (1), with ``c_b = b_b + g_b`` (velocity terms, gravity):

* the arm's row under tau leaves ``qdd = A^+ (G xd_b - S b_b) - G_m qd + P_RNS u - H_m^-1 H_bm^T xdd_b``;
* in the base's row, ``H_b xdd_b + H_bm qdd + D_b xd_b + K_b x_b + c_b = 0``, multiplied by S, ``A A^+ = 1`` lets G in
  and takes ``S b_b`` out, and u does not show::

    S [M xdd_b + D_b xd_b + K_b x_b + g_b] + G xd_b = A G_m qd        M = H_b - H_bm H_m^-1 H_bm^T

With every direction selected and G_m = 0 that is ``M xdd_b + (D_b + G) xd_b + K_b x_b + g_b = 0``: the arm is not made
to follow accelerations, so the base swings with the smaller inertia M, that of a base whose arm gives way. What G takes
out of the swing is ``xd_b^T G xd_b``. Where little but the base's own mass is left in M, the swing is fast, and so must
the control be.

Three departures from the print. Only ``b_b`` is made up for, not ``g_b``: an arm holds a weight up by accelerating only
until its way ends; the springs must bear it. ``D_m qd`` is made up for, and ``G_m`` multiplied by ``H_m``, so that the
gain is a rate [1/s] as in the acceleration law, and the right-hand side is ``G_m L``.

G is a damping [N*s/m | N*m*s/rad] where the acceleration law has ``H_b G_b``.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import ANY, expect, finite, number
from flexarm_core.reaction_null_space.vibration.gain import vibration_gain
from flexarm_core.robot.arm_model import DynamicsBlocks
from flexarm_core.types import Array


def effective_inertia(blocks: DynamicsBlocks) -> Array:
    """Inertia M (m, m) of the base under given efforts, ``H_b - H_bm H_m^-1 H_bm^T``."""
    return blocks.H_b - blocks.H_bm @ np.linalg.solve(blocks.H_m, blocks.H_bm.T)


def torque_law_gain(
    blocks: DynamicsBlocks, K_b: Array, rows: Array, damping_ratio: float, literal_gain: float = 0.0
) -> Array:
    """Gain G (k, m) of the base's rate, on the effective inertia.

    The base is taken to move as ``x_b = S^T xi``; then ``xi = (S K_b S^T)^-1 S K_b x_b``, be the rows of S directions
    or modes, and ``S M S^T``, ``S K_b S^T`` are inertia and stiffness of what is damped.

    Args:
        blocks: of the equation of motion.
        K_b: (m, m) stiffness of the base.
        rows: (k, m) S.
        damping_ratio: zeta of every mode of the selected motions, by the gain alone.
        literal_gain: in place of it, damping of every selected motion, 0 = none [N*s/m | N*m*s/rad].
    """
    m = len(expect("blocks", blocks, DynamicsBlocks).H_b)
    K_b, rows = finite("K_b", K_b, m, m), finite("rows", rows, ANY, m)
    damping_ratio, literal_gain = number("damping_ratio", damping_ratio), number("literal_gain", literal_gain)
    K = rows @ K_b @ rows.T
    rates = np.linalg.solve(K, rows @ K_b).astype(np.float64, copy=False)
    if literal_gain > 0.0:
        return literal_gain * rates
    M = rows @ effective_inertia(blocks) @ rows.T
    return M @ vibration_gain(M, K, damping_ratio) @ rates
