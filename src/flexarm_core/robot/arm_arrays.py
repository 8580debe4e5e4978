"""Compiled functions that map between the arrays of the ArmModel (actuated, elastic joints) and those of Pinocchio."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.robot.kinematic_chain import PRISMATIC
from flexarm_core.types import Array

Places = NDArray[np.int64]  # indices of joints in Pinocchio's velocity vector


@kernel
def split_matrix(H: Array, elastic: Places, actuated: Places, H_b: Array, H_bm: Array, H_m: Array) -> None:
    """Write the blocks of the mass matrix H; only the upper triangle of H is read."""
    for i in range(elastic.shape[0]):
        for j in range(elastic.shape[0]):
            H_b[i, j] = H[min(elastic[i], elastic[j]), max(elastic[i], elastic[j])]
        for j in range(actuated.shape[0]):
            H_bm[i, j] = H[min(elastic[i], actuated[j]), max(elastic[i], actuated[j])]
    for i in range(actuated.shape[0]):
        for j in range(actuated.shape[0]):
            H_m[i, j] = H[min(actuated[i], actuated[j]), max(actuated[i], actuated[j])]


@kernel
def split_vector(c: Array, elastic: Places, actuated: Places, c_b: Array, c_m: Array) -> None:
    """Write the parts of the bias vector c."""
    for i in range(elastic.shape[0]):
        c_b[i] = c[elastic[i]]
    for i in range(actuated.shape[0]):
        c_m[i] = c[actuated[i]]


@allocating_kernel
def take_off(links: Array, q: float, wrench: Array, total: Array) -> None:
    """Transform a wrench from the child frame of a joint to the start frame of its chain; subtract it from ``total``.

    Args:
        links: (2, 13) rows of the joint and of its child link, as in :class:`KinematicChain`.
        q: joint position [rad | m].
        wrench: (6,) ``[f; n]`` at the origin of the child frame [N, N*m].
        total: (6,) ``[f; n]`` at the origin of the start frame; changed in place [N, N*m].
    """
    co, si, slide = (1.0, 0.0, q) if links[0, 12] == PRISMATIC else (math.cos(q), math.sin(q), 0.0)
    at, turned = np.empty((2, 3)), np.empty((2, 3))
    for part in range(2):
        at[part] = 0.0
        for i in range(3):
            for j in range(3):
                at[part, i] += links[1, 3 * i + j] * wrench[3 * part + j]
        x, y, z = at[part]
        x, y = co * x - si * y, si * x + co * y
        for i in range(3):
            turned[part, i] = links[0, 3 * i] * x + links[0, 3 * i + 1] * y + links[0, 3 * i + 2] * z
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        p, r = links[0, 9 + j] + slide * links[0, 3 * j + 2], links[0, 9 + k] + slide * links[0, 3 * k + 2]
        total[i] -= turned[0, i]
        total[3 + i] -= turned[1, i] + p * turned[0, k] - r * turned[0, j]
