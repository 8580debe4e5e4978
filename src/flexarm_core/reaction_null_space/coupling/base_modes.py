r"""Vibration modes of an elastic base, and selection of the soft modes that the arm must not excite.

With locked joints the base vibrates as ``H_b xdd + K_b x = 0``. The modes satisfy ``K_b V = H_b V diag(w^2)`` and
``V^T H_b V = 1``. In modal coordinates ``x = V xi`` the arm excites mode ``i`` with ``-v_i . (H_bm qdd + dH_bm qd)``.
The selective reaction null space (paper, section III) is therefore the null space of ``S H_bm`` with the rows
``S = V_soft^T``. If the elastic directions are not coupled, these rows select the soft directions. If they are coupled,
a selection of directions would omit parts of a soft mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import allocating_kernel
from flexarm_core.entrance import ANY, finite
from flexarm_core.errors import ConfigError
from flexarm_core.kernels.orthogonal_rows import EPSILON, orthogonalise_rows
from flexarm_core.reaction_null_space.coupling.small_matrices import (
    backward,
    cholesky_semidefinite,
    forward,
)
from flexarm_core.types import Array

GAP = 2.5  # least ratio of two adjacent frequencies at which the lower modes count as soft and the upper ones as stiff


@dataclass(frozen=True, slots=True)
class BaseModes:
    """Modes of the base at one arm posture, softest mode first.

    Attributes:
        frequencies: (m,) natural frequencies w [rad/s].
        shapes: (m, m) mode shapes V, one mode per column, ``V^T H_b V = 1``.
        momenta: (m, m) ``V^T H_b``: the modal velocities are ``momenta @ xd_b``.
    """

    frequencies: Array
    shapes: Array
    momenta: Array

    def soft(self, count: int) -> Array:
        """Return S (count, m), the rows that select the softest modes."""
        return self.shapes[:, :count].T


def base_modes(H_b: Array, K_b: Array) -> BaseModes:
    """Return the modes of a base with inertia (m, m), with locked joints, and stiffness (m, m).

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


@allocating_kernel
def find_modes(H: Array, K: Array, frequencies: Array, shapes: Array) -> bool:
    """Compute the modes of ``K v = w^2 H v`` from the singular values w of ``L^-1 C``; ``H = L L^T``, ``K = C C^T``.

    This computes w and not w^2, so soft modes keep their accuracy when there are stiff modes beside them.

    Args:
        H: (m, m) positive definite.
        K: (m, m) positive semidefinite.
        frequencies: (m,) output: w, lowest first [rad/s].
        shapes: (m, m) output: V, ``V^T H V = 1``.

    Returns:
        Whether the inertia is positive definite; if not, there are no modes.
    """
    m = H.shape[0]
    L, W, U, values = np.empty((m, m)), np.empty((m, m)), np.empty((m, m)), np.empty(m)
    if not cholesky_semidefinite(H, L):
        return False
    cholesky_semidefinite(K, W)
    forward(L, W)
    orthogonalise_rows(W, U, values, m * EPSILON)
    backward(L, U)
    for i in range(m):
        frequencies[i] = values[m - 1 - i]
        for j in range(m):
            shapes[j, i] = U[j, m - 1 - i]
    return True


def soft_mode_count(frequencies: Array, spare: int, gap: float = GAP) -> int:
    """Return how many modes are soft, that is, must not be excited.

    The soft modes end at the widest gap between two adjacent frequencies, if their ratio is at least ``gap``; otherwise
    all modes are soft.

    Args:
        frequencies: (m,) softest first [rad/s].
        spare: largest number of modes that the arm can leave unexcited: joints minus those that the task needs.
        gap: least ratio of the two frequencies at the gap.

    Raises:
        ConfigError: there are more soft modes than ``spare``. Leaving only some of them unexcited would let the others
            vibrate.
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
