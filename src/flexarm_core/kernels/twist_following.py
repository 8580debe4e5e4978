"""A set-point that follows a stream of twists within limits, ahead of the tool by no more than a lag (compiled)."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import allocating_kernel, view
from flexarm_core.kernels.rotations import rotation_error, rotation_of
from flexarm_core.types import Array

NO_TURN = np.eye(3)


def twist_state() -> Array:
    """Return the memory of :func:`follow_twist` at rest, without an offset."""
    return np.concatenate((np.zeros(9), np.eye(3).ravel()))


@allocating_kernel
def follow_twist(wanted: Array, error: Array, limits: Array, state: Array, motion: Array) -> float:
    """Follow a twist for one sample within the limits of acceleration and lag; return the linear speed [m/s].

    Args:
        wanted: (6,) requested twist [m/s, rad/s].
        error: (6,) pose of the tool relative to the set-point [m, rad].
        limits: linear and angular acceleration, largest linear and angular lag, sampling period.
        state: velocity (6), translation of the offset (3), rotation of the offset (9), kept from sample to sample.
        motion: (3, 6) output: offset [m, rad], its twist [m/s, rad/s] and acceleration [m/s^2, rad/s^2].
    """
    dt, offset, twist, acceleration = limits[4], motion[0], motion[1], motion[2]
    u, step, turn, turned = np.empty(6), np.empty(3), np.empty((3, 3)), np.empty((3, 3))
    for i in range(6):
        u[i] = wanted[i]
    for part in range(2):
        square, away = 0.0, 0.0
        for i in range(3 * part, 3 * part + 3):
            square += error[i] * error[i]
            away -= wanted[i] * error[i]
        lag = math.sqrt(square)
        if away > 0.0:  # limit the speed away from the tool so that it can brake within the remaining lag
            fastest = limits[part] * (math.sqrt(dt * dt + 2.0 * max(limits[2 + part] - lag, 0.0) / limits[part]) - dt)
            for i in range(3 * part, 3 * part + 3):
                u[i] += max(away / lag - fastest, 0.0) * error[i] / lag
        size = 0.0
        for i in range(3):
            size += (u[3 * part + i] - state[3 * part + i]) ** 2
        share = min(1.0, limits[part] * dt / max(math.sqrt(size), 1e-300))
        for i in range(3 * part, 3 * part + 3):
            change = share * (u[i] - state[i])
            acceleration[i] = change / dt
            twist[i] = state[i] + change
            way = (state[i] + 0.5 * change) * dt
            state[i] = twist[i]
            if part == 0:
                state[6 + i] += way
                offset[i] = state[6 + i]
            else:
                step[i - 3] = way
    rotation_of(step, turn)
    old = view(state, 9, (3, 3))
    for i in range(3):
        for j in range(3):
            turned[i, j] = 0.0
            for k in range(3):
                turned[i, j] += turn[i, k] * old[k, j]
    old[:, :] = turned
    rotation_error(turned, NO_TURN, offset[3:])
    return math.sqrt(twist[0] ** 2 + twist[1] ** 2 + twist[2] ** 2)
