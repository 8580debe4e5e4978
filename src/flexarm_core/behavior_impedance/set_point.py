"""Set-point of the tool: the leading pose, or the anchor if no behavior leads, plus the offsets (compiled)."""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.layout import Parts, State
from flexarm_core.compiled import inlined_kernel
from flexarm_core.kernels.rotations import rotation_of
from flexarm_core.types import Array


@inlined_kernel
def set_point(total: Parts, state: State, p: Array, R: Array, twist: Array, acceleration: Array) -> None:
    """Compute the set-point at the end of the sample: the leading pose or the anchor, plus the sum of the offsets."""
    turn = np.empty((3, 3))
    rotation_of(total.offset[3:], turn)
    position, rotation = state.anchor_position, state.anchor_rotation
    if total.lead[0] > 0.0:
        position, rotation = total.lead_position, total.lead_rotation
    for i in range(3):
        p[i] = position[i] + total.offset[i]
        twist[i] = total.lead_twist[i] + total.twist[i]
        acceleration[i] = total.lead_acceleration[i] + total.acceleration[i]
        twist[3 + i], acceleration[3 + i] = total.twist[3 + i], total.acceleration[3 + i]
        m, n = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            twist[3 + i] += turn[i, j] * total.lead_twist[3 + j]
            acceleration[3 + i] += total.twist[3 + m] * turn[n, j] * total.lead_twist[3 + j]
            acceleration[3 + i] -= total.twist[3 + n] * turn[m, j] * total.lead_twist[3 + j]
            acceleration[3 + i] += turn[i, j] * total.lead_acceleration[3 + j]
            R[i, j] = 0.0
            for k in range(3):
                R[i, j] += turn[i, k] * rotation[k, j]


@inlined_kernel
def previous_set_point(dt: float, state: State, p: Array, R: Array, twist: Array, acceleration: Array) -> None:
    """Extrapolate the set-point one sample back and store it in ``state``.

    This replaces the stored set-point of the last sample when that belongs to a different program.
    """
    turn, back = np.empty(3), np.empty((3, 3))
    for i in range(3):
        state.set_position[i] = p[i] - twist[i] * dt + 0.5 * acceleration[i] * dt * dt
        turn[i] = -twist[3 + i] * dt + 0.5 * acceleration[3 + i] * dt * dt
    rotation_of(turn, back)
    for i in range(3):
        for j in range(3):
            state.set_rotation[i, j] = 0.0
            for k in range(3):
                state.set_rotation[i, j] += back[i, k] * R[k, j]
    for i in range(6):
        state.set_twist[i] = twist[i] - acceleration[i] * dt
        state.set_acceleration[i] = acceleration[i]
