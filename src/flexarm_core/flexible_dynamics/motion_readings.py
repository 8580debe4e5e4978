"""What force/torque sensors and IMUs read at a state, and how that changes with it (compiled).

A table of sensors is passed along: ``body`` (c,) that each sits on, -1 for the root; ``felt`` (c,) whether it is a
force/torque sensor; ``frame`` (c, 5, 3) and ``influence`` (c, 6, k) of IMUs as :func:`imu_reading` takes them, padded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.dense import inverse_dynamics
from flexarm_core.flexible_dynamics.imu import imu_reading
from flexarm_core.flexible_dynamics.recursion import forward_dynamics
from flexarm_core.flexible_dynamics.tree import Index, view_tree
from flexarm_core.types import Array

DIFFERENCE = 1e-6  # [sqrt(kg)*m | rad | m, and 1/s of them] step of the forward differences


@kernel
def read_motion(
    integers: Index,
    constants: Array,
    memory: Array,
    x: Array,
    v: Array,
    acceleration: Array,
    body: Index,
    felt: NDArray[np.bool_],
    frame: Array,
    influence: Array,
    readings: Array,
) -> None:
    """Readings (c, 6) out, at coordinates, rates and accelerations (h + K,)."""
    tree = view_tree(integers, constants)
    effort, wrench = np.empty(len(x)), np.empty((len(tree.parent), 6))
    modes = np.empty((3, influence.shape[2]))
    inverse_dynamics(integers, constants, memory, x, v, acceleration, effort, wrench)
    for i in range(len(body)):
        b = body[i]
        if felt[i]:
            for c in range(6):
                readings[i, c] = -wrench[b, c]
        elif b < 0:
            for c in range(3):
                readings[i, 3 + c] = 0.0
                readings[i, c] = 0.0
                for j in range(3):
                    readings[i, c] += frame[i, 2 + j, c] * tree.root[j]
        else:
            k, e = tree.modes[b], tree.first_mode[b]
            for m in range(k):
                modes[0, m], modes[1, m], modes[2, m] = x[e + m], v[e + m], acceleration[e + m]
            imu_reading(integers, memory, b, frame[i], influence[i][:, :k], modes[:, :k], readings[i])


@kernel
def read_under_effort(
    integers: Index,
    constants: Array,
    memory: Array,
    x: Array,
    v: Array,
    effort: Array,
    body: Index,
    felt: NDArray[np.bool_],
    frame: Array,
    influence: Array,
    readings: Array,
) -> None:
    """Readings (c, 6) out, at coordinates and rates (h + K,) under hinge efforts (h,)."""
    acceleration = np.empty(len(x))
    forward_dynamics(integers, constants, memory, x, v, effort, acceleration)
    read_motion(integers, constants, memory, x, v, acceleration, body, felt, frame, influence, readings)


@kernel
def differentiate_motion(
    integers: Index,
    constants: Array,
    memory: Array,
    x: Array,
    v: Array,
    effort: Array,
    free: Index,
    body: Index,
    felt: NDArray[np.bool_],
    frame: Array,
    influence: Array,
    readings: Array,
    jacobian: Array,
) -> None:
    """Forward differences (c, 6, 2N) out, over the coordinates ``free`` (N,) and their rates, under efforts (h,).

    ``readings`` (c, 6) are those at the state itself. What touches the arm turns with the body that it touches, as the
    sensor does that tells of it.
    """
    there, size = np.empty_like(readings), len(free)
    for j in range(2 * size):
        state = x if j < size else v
        place = free[j % size]
        kept = state[place]
        state[place] += DIFFERENCE
        read_under_effort(integers, constants, memory, x, v, effort, body, felt, frame, influence, there)
        state[place] = kept
        for i in range(len(body)):
            for c in range(6):
                jacobian[i, c, j] = (there[i, c] - readings[i, c]) / DIFFERENCE


@kernel
def feel_accelerations(
    integers: Index,
    constants: Array,
    memory: Array,
    x: Array,
    v: Array,
    acceleration: Array,
    body: Index,
    felt: NDArray[np.bool_],
    frame: Array,
    influence: Array,
    readings: Array,
    changes: Array,
) -> None:
    """By how much readings change with a unit of each acceleration, (c, 6, h + K) out: they are linear in them."""
    there = np.empty_like(readings)
    for j in range(len(x)):
        kept = acceleration[j]
        acceleration[j] += 1.0
        read_motion(integers, constants, memory, x, v, acceleration, body, felt, frame, influence, there)
        acceleration[j] = kept
        for i in range(len(body)):
            for c in range(6):
                changes[i, c, j] = there[i, c] - readings[i, c]
