"""Set-point of the tool: the leading pose, or the anchor if no behavior leads, plus the offsets (compiled)."""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.layout import (
    ACCELERATION,
    ANCHOR_POSITION,
    ANCHOR_ROTATION,
    LEAD,
    LEAD_ACCELERATION,
    LEAD_POSITION,
    LEAD_ROTATION,
    LEAD_TWIST,
    OFFSET,
    SET_ACCELERATION,
    SET_POSITION,
    SET_ROTATION,
    SET_TWIST,
    TWIST,
)
from flexarm_core.compiled import kernel, view
from flexarm_core.kernels.rotations import rotation_of
from flexarm_core.types import Array


@kernel
def set_point(total: Array, state: Array, p: Array, R: Array, twist: Array, acceleration: Array) -> None:
    """Compute the set-point at the end of the sample: the leading pose or the anchor, plus the sum of the offsets."""
    turn = np.empty((3, 3))
    rotation_of(view(total, OFFSET + 3, (3,)), turn)
    at, of = (LEAD_POSITION, LEAD_ROTATION) if total[LEAD] > 0.0 else (ANCHOR_POSITION, ANCHOR_ROTATION)
    base = total if total[LEAD] > 0.0 else state
    for i in range(3):
        p[i] = base[at + i] + total[OFFSET + i]
        twist[i] = total[LEAD_TWIST + i] + total[TWIST + i]
        acceleration[i] = total[LEAD_ACCELERATION + i] + total[ACCELERATION + i]
        twist[3 + i], acceleration[3 + i] = total[TWIST + 3 + i], total[ACCELERATION + 3 + i]
        m, n = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            twist[3 + i] += turn[i, j] * total[LEAD_TWIST + 3 + j]
            acceleration[3 + i] += total[TWIST + 3 + m] * turn[n, j] * total[LEAD_TWIST + 3 + j]
            acceleration[3 + i] -= total[TWIST + 3 + n] * turn[m, j] * total[LEAD_TWIST + 3 + j]
            acceleration[3 + i] += turn[i, j] * total[LEAD_ACCELERATION + 3 + j]
            R[i, j] = 0.0
            for k in range(3):
                R[i, j] += turn[i, k] * base[of + 3 * k + j]


@kernel
def previous_set_point(dt: float, state: Array, p: Array, R: Array, twist: Array, acceleration: Array) -> None:
    """Extrapolate the set-point one sample back and store it in ``state``.

    This replaces the stored set-point of the last sample when that belongs to a different program.
    """
    turn, back = np.empty(3), np.empty((3, 3))
    for i in range(3):
        state[SET_POSITION + i] = p[i] - twist[i] * dt + 0.5 * acceleration[i] * dt * dt
        turn[i] = -twist[3 + i] * dt + 0.5 * acceleration[3 + i] * dt * dt
    rotation_of(turn, back)
    for i in range(3):
        for j in range(3):
            state[SET_ROTATION + 3 * i + j] = 0.0
            for k in range(3):
                state[SET_ROTATION + 3 * i + j] += back[i, k] * R[k, j]
    for i in range(6):
        state[SET_TWIST + i] = twist[i] - acceleration[i] * dt
        state[SET_ACCELERATION + i] = acceleration[i]
