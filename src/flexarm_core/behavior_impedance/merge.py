"""Corrects what cannot be summed over behaviors: several rotation offsets, and directions freed twice (compiled)."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.layout import view_parts
from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.kernels.rotations import rotation_error, rotation_of
from flexarm_core.types import Array

PARALLEL = 1e-3  # relative norm below which the component of a freed direction orthogonal to the others counts as zero


@kernel
def merge(table: Array, total: Array, n: int) -> None:
    """Correct the sum of the contributions if several behaviors rotate the set-point or free directions."""
    turned = freed = 0
    for k in range(table.shape[0]):
        part, turn, free = view_parts(table[k], n), 0.0, 0.0
        for i in range(3):
            turn += abs(part.offset[3 + i])
        for i in range(6):
            free += part.freed[i, i]
        turned += int(turn > 0.0)
        freed += int(free > 0.0)
    if turned > 1:
        compose(table, total, n)
    if freed > 1:
        make_projector(view_parts(total, n).freed)


@allocating_kernel
def compose(table: Array, total: Array, joints: int) -> None:
    """Compute rotation vector, angular velocity and acceleration of ``exp(phi_1) exp(phi_2) ...`` in row order."""
    Q, R, P, w, a, one = np.eye(3), np.empty((3, 3)), np.empty((3, 3)), np.zeros(3), np.zeros(3), np.eye(3)
    rate = np.empty(3)
    for k in range(table.shape[0]):
        part = view_parts(table[k], joints)
        for i in range(3):
            rate[i] = 0.0
            for j in range(3):
                rate[i] += Q[i, j] * part.twist[3 + j]
        for i in range(3):
            m, n = (i + 1) % 3, (i + 2) % 3
            a[i] += w[m] * rate[n] - w[n] * rate[m]
            for j in range(3):
                a[i] += Q[i, j] * part.acceleration[3 + j]
        rotation_of(part.offset[3:], R)
        for i in range(3):
            w[i] += rate[i]
            for j in range(3):
                P[i, j] = 0.0
                for m in range(3):
                    P[i, j] += Q[i, m] * R[m, j]
        Q[:, :] = P
    rotation_error(Q, one, rate)
    whole = view_parts(total, joints)
    for i in range(3):
        whole.offset[3 + i], whole.twist[3 + i], whole.acceleration[3 + i] = rate[i], w[i], a[i]


@allocating_kernel
def make_projector(freed: Array) -> None:
    """Replace a sum of orthogonal projectors (6, 6) by the orthogonal projector onto their joint range."""
    U, count = np.empty((6, 6)), 0
    for row in range(6):
        v, before, size = U[min(count, 5)], 0.0, 0.0
        if count == 6:
            break
        for i in range(6):
            v[i] = freed[row, i]
            before += v[i] * v[i]
        for k in range(count):
            along = 0.0
            for i in range(6):
                along += U[k, i] * v[i]
            for i in range(6):
                v[i] -= along * U[k, i]
        for i in range(6):
            size += v[i] * v[i]
        if size > PARALLEL * PARALLEL * before and size > PARALLEL * PARALLEL:
            for i in range(6):
                v[i] /= math.sqrt(size)
            count += 1
    for i in range(6):
        for j in range(6):
            freed[i, j] = 0.0
            for k in range(count):
                freed[i, j] += U[k, i] * U[k, j]
