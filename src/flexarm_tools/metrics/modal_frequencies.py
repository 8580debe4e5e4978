"""Natural frequencies of the modes of a flexible link."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.types import Array


def modal_frequencies(data: ModalData) -> tuple[Array, bool]:
    """Return the natural frequencies (k,) of a separate link, clamped inboard and free outboard [Hz].

    Returns:
        ``sqrt(diag K) / 2 pi`` if the modes are mass-normalized and uncoupled, else the solutions of
        ``K phi = omega^2 (sum_j Pi_j^T M_j Pi_j) phi``; and whether each frequency belongs to the mode with its index.
        An elastic drive, which has no mass of its own, has infinite frequencies.
    """
    k = len(data.modes)
    if not data.mass.any():
        return np.full(k, np.inf), True
    scale = np.sqrt(np.outer(np.diag(data.stiffness), np.diag(data.stiffness)))
    coupled = np.abs(data.stiffness - np.diag(np.diag(data.stiffness))).max(initial=0.0) > 1e-3 * scale.max(initial=0.0)
    if not coupled and np.abs(data.modal_mass - np.eye(k)).max(initial=0.0) < 1e-2:
        return np.sqrt(np.diag(data.stiffness)) / (2.0 * np.pi), True
    squares = scipy.linalg.eigh(data.stiffness, data.modal_mass, eigvals_only=True)
    return np.sqrt(squares) / (2.0 * np.pi), False
