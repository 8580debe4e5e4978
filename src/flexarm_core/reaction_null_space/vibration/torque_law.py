r"""Torque law of the reaction null space (Nenchev et al. 1999, equation 16), for selected motions and with gravity.

::

    tau = H_m A^+ (G xd_b - S b_b) + c_m + D_m qd - H_m G_m qd + H_m P_RNS u              A = S H_bm,  A P_RNS = 0

The printed equation (20) has sign errors. From the dynamics (1), with ``c_b = b_b + g_b`` (velocity and gravity terms):

* with tau, the arm row gives ``qdd = A^+ (G xd_b - S b_b) - G_m qd + P_RNS u - H_m^-1 H_bm^T xdd_b``;
* the base row, ``H_b xdd_b + H_bm qdd + D_b xd_b + K_b x_b + c_b = 0``, multiplied by S, with ``A A^+ = 1``: G enters,
  ``S b_b`` cancels, and u has no effect::

    S [M xdd_b + D_b xd_b + K_b x_b + g_b] + G xd_b = A G_m qd        M = H_b - H_bm H_m^-1 H_bm^T

If every direction is selected and G_m = 0, this is ``M xdd_b + (D_b + G) xd_b + K_b x_b + g_b = 0``: the arm is not
forced to follow accelerations, so the base vibrates with the smaller inertia M, the inertia of a base whose arm yields.
G dissipates the power ``xd_b^T G xd_b``. If M is little more than the mass of the base itself, the vibration is fast,
and the control must be equally fast.

There are three deviations from the printed law. Only ``b_b`` is compensated, not ``g_b``: an arm can support a weight
by accelerating only until it reaches the end of its range, so the springs must carry the weight. ``D_m qd`` is
compensated. ``G_m`` is multiplied by ``H_m``, so that the gain is a rate [1/s] as in the acceleration law, and the
right-hand side is ``G_m L`` with the coupling momentum L.

G is a damping [N*s/m | N*m*s/rad]; it corresponds to ``H_b G_b`` in the acceleration law.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import ANY, expect, finite, number
from flexarm_core.reaction_null_space.vibration.gain import vibration_gain
from flexarm_core.robot.arm_model import DynamicsBlocks
from flexarm_core.types import Array


def effective_inertia(blocks: DynamicsBlocks) -> Array:
    """Return the base inertia M (m, m) for given joint efforts, ``H_b - H_bm H_m^-1 H_bm^T``."""
    return blocks.H_b - blocks.H_bm @ np.linalg.solve(blocks.H_m, blocks.H_bm.T)


def torque_law_gain(
    blocks: DynamicsBlocks, K_b: Array, rows: Array, damping_ratio: float, literal_gain: float = 0.0
) -> Array:
    """Return the gain G (k, m) of the base rate, computed with the effective inertia.

    The base is assumed to move as ``x_b = S^T xi``; then ``xi = (S K_b S^T)^-1 S K_b x_b``, whether the rows of S are
    directions or modes, and ``S M S^T`` and ``S K_b S^T`` are the inertia and stiffness of the damped motions.

    Args:
        blocks: terms of the equation of motion.
        K_b: (m, m) base stiffness.
        rows: (k, m) S.
        damping_ratio: zeta of every mode of the selected motions, from the gain alone.
        literal_gain: damping of every selected motion, which replaces the ratio [N*s/m | N*m*s/rad]; 0: not used.
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
