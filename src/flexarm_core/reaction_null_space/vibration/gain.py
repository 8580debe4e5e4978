"""Gain of the base feedback from a damping ratio."""

from __future__ import annotations

from flexarm_core.reaction_null_space.coupling.base_modes import base_modes
from flexarm_core.types import Array


def vibration_gain(H_b: Array, K_b: Array, damping_ratio: float) -> Array:
    """Return the gain G_b (m, m) [1/s] that gives every mode of the base the same damping ratio.

    The acceleration law closes the loop to ``xdd_b + G_b xd_b + H_b^-1 K_b x_b = 0`` (equation 13). With the modes
    ``K_b V = H_b V diag(w^2)``, ``V^T H_b V = 1``, the gain is ``G_b = V diag(2 zeta w) V^T H_b``; for one direction it
    is ``g_b = 2 zeta w``.

    Args:
        H_b: (m, m) base inertia.
        K_b: (m, m) base stiffness.
        damping_ratio: zeta, 1 = critically damped.
    """
    modes = base_modes(H_b, K_b)
    return (modes.shapes * (2.0 * damping_ratio * modes.frequencies)) @ modes.momenta
