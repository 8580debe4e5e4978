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

from flexarm_core.compiled import kernel
from flexarm_core.entrance import ANY, finite
from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.coupling.small_matrices import (
    EPSILON,
    backward,
    cholesky,
    forward,
    orthogonalise_rows,
)
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
    """Modes of a base with inertia (m, m), joints locked, and stiffness (m, m).

    Raises:
        ConfigError: the inertia is not positive definite.
    """
    H = finite("H_b", H_b, ANY, ANY)
    m = len(H)
    H, K = finite("H_b", H, m, m), finite("K_b", K_b, m, m)
    frequencies, shapes = np.empty(m), np.empty((m, m))
    if not find_modes(H, K, frequencies, shapes):
        raise ConfigError(f"the base's inertia is not positive definite: {np.array2string(H, precision=4)}")
    return BaseModes(frequencies, shapes, shapes.T @ H)


@kernel
def find_modes(H: Array, K: Array, frequencies: Array, shapes: Array) -> bool:
    """Modes of ``K v = w^2 H v``, ``H = L L^T``, ``K = C C^T``, from the singular values w of ``L^-1 C``.

    So soft modes are as exact beside stiff ones as alone: it is w that is computed, not w^2.

    Args:
        H: (m, m) positive definite.
        K: (m, m) positive semidefinite.
        frequencies: (m,) gets w, lowest first [rad/s].
        shapes: (m, m) gets V, ``V^T H V = 1``.

    Returns:
        Whether the inertia is positive definite; if not, there are no modes.
    """
    m = H.shape[0]
    L, W, U, values = np.empty((m, m)), np.empty((m, m)), np.empty((m, m)), np.empty(m)
    if not cholesky(H, L):
        return False
    cholesky(K, W)
    forward(L, W)
    orthogonalise_rows(W, U, values, m * EPSILON)
    backward(L, U)
    for i in range(m):
        frequencies[i] = values[m - 1 - i]
        for j in range(m):
            shapes[j, i] = U[j, m - 1 - i]
    return True


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
