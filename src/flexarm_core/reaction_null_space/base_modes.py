r"""Modes of an elastic base, and which of them are soft enough to be kept quiet.

With locked joints the base swings as ``H_b xdd + K_b x = 0``, with the modes ``K_b V = H_b V diag(w^2)``,
``V^T H_b V = 1``. In modal coordinates ``x = V xi`` the arm loads mode ``i`` with ``-v_i . (H_bm qdd + dH_bm qd)``. So
the selective reaction null space (paper, section III) is that of ``S H_bm`` with the rows ``S = V_soft^T``: where
elastic directions do not couple these are the rows of the soft directions, and where they do, choosing directions would
leave parts of a soft mode out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array

GAP = 2.5  # ratio of two adjacent frequencies from which on the lower ones count as soft and the upper ones as stiff


@dataclass(frozen=True, slots=True)
class BaseModes:
    """Modes of the base at one posture of the arm, softest first.

    Attributes:
        frequencies: (m,) w [rad/s].
        shapes: (m, m) V, a column a mode, ``V^T H_b V = 1``.
        momenta: (m, m) ``V^T H_b``: modal velocities are ``momenta @ xd_b``.
    """

    frequencies: Array
    shapes: Array
    momenta: Array

    def soft(self, count: int) -> Array:
        """S (count, m): rows that keep the softest modes."""
        return self.shapes[:, :count].T


def base_modes(H_b: Array, K_b: Array) -> BaseModes:
    """Modes of a base with inertia (m, m), joints locked, and stiffness (m, m)."""
    squared, shapes = eigh(K_b, H_b)
    return BaseModes(np.sqrt(np.maximum(squared, 0.0)), shapes, shapes.T @ H_b)


def soft_mode_count(frequencies: Array, spare: int, gap: float = GAP) -> int:
    """How many of the modes are to be kept quiet.

    The soft ones end at the widest gap between two adjacent frequencies, if that is a factor of ``gap`` at least; else
    all modes are soft.

    Args:
        frequencies: (m,) softest first [rad/s].
        spare: number of modes that can be kept quiet: joints less what the task needs.
        gap: least factor.

    Raises:
        ConfigError: there are more soft modes than joints to keep them quiet with; to keep only some of them quiet
            would leave the others swinging.
    """
    m = len(frequencies)
    ratios = frequencies[1:] / np.maximum(frequencies[:-1], 1e-12)
    count = m
    if m > 1 and ratios.max() >= gap:
        count = int(np.argmax(ratios)) + 1
    if count > spare:
        listed = ", ".join(f"{f / (2.0 * np.pi):.3g}" for f in frequencies)
        raise ConfigError(
            f"the base has {count} soft modes (frequencies {listed} Hz), but at most {spare} can be kept quiet with"
            " this many joints: name the directions that matter, or add joints"
        )
    return count
