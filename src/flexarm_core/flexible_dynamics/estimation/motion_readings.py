r"""Predicted readings of force/torque sensors and IMUs at a state, and their derivatives (compiled).

The functions take a table of sensors: ``body`` (c,) on which each sensor is mounted, -1 for the root; ``felt`` (c,)
whether it is a force/torque sensor; ``frame`` (c, 5, 3) and ``influence`` (c, 6, k) of IMUs as in
:func:`imu_reading`, padded.

Readings ``r(x, v, a)`` are affine in the accelerations, ``D = dr/da``. Under given efforts ``a`` depends on the state
through the inverse dynamics ``T(x, v, a)`` minus the hinge forces, which gives::

    dr/ds = dr/ds|_a - D M^-1 dT/ds|_a        s = x, v
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.dense import inverse_sweep
from flexarm_core.flexible_dynamics.estimation.imu import imu_reading
from flexarm_core.flexible_dynamics.kinematics import load_bodies, move_bodies
from flexarm_core.flexible_dynamics.recursion import articulate, forward_dynamics, hinge_forces, respond
from flexarm_core.flexible_dynamics.tree import BodyTree, Index, Workspace, view_tree, view_workspace
from flexarm_core.types import Array

DIFFERENCE = 1e-6  # [sqrt(kg)*m | rad | m, and their rates] step of the forward differences


@kernel
def read_swept(
    integers: Index,
    memory: Array,
    tree: BodyTree,
    ws: Workspace,
    x: Array,
    v: Array,
    acceleration: Array,
    wrench: Array,
    body: Index,
    felt: NDArray[np.bool_],
    frame: Array,
    influence: Array,
    readings: Array,
) -> None:
    """Compute the readings (c, 6) after :func:`inverse_sweep`, which computed ``wrench`` (N, 6)."""
    modes = np.empty((3, influence.shape[2]))
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
def linearize_motion(
    integers: Index,
    constants: Array,
    memory: Array,
    x: Array,
    v: Array,
    hinge_effort: Array,
    free: Index,
    body: Index,
    felt: NDArray[np.bool_],
    frame: Array,
    influence: Array,
    readings: Array,
    mobility: Array,
    jacobian: Array,
) -> None:
    """Compute readings under given efforts, and their derivatives with respect to forces and state.

    A contact wrench is constant in the axes of its body, like the sensor that measures it.

    Args:
        integers: integer array of the tree.
        constants: constant array of the tree.
        memory: workspace, with step 0.
        x: (h + K,) coordinates.
        v: (h + K,) rates.
        hinge_effort: (h,) hinge efforts.
        free: (N,) indices of the estimated coordinates.
        body: (c,) sensor table, see the module docstring.
        felt: (c,) sensor table.
        frame: (c, 5, 3) sensor table.
        influence: (c, 6, k) sensor table.
        readings: (c, 6) output.
        mobility: (c, 6, h + K) output: ``D M^-1``, change of the readings per unit force on each coordinate.
        jacobian: (c, 6, 2N) output: forward differences over the coordinates ``free`` and their rates.
    """
    tree, ws = view_tree(integers, constants), view_workspace(integers, memory)
    count, size, estimated = len(body), len(x), len(free)
    acceleration, effort, there = np.empty(size), np.empty(size), np.empty_like(readings)
    forces, wrench = np.empty(size), np.empty((len(tree.parent), 6))
    forward_dynamics(integers, constants, memory, x, v, hinge_effort, acceleration)
    load_bodies(tree, ws, x, v)
    inverse_sweep(tree, ws, acceleration, effort, wrench)
    read_swept(integers, memory, tree, ws, x, v, acceleration, wrench, body, felt, frame, influence, readings)
    change = np.empty((count, 6, size))
    for j in range(size):
        kept = acceleration[j]
        acceleration[j] += 1.0
        inverse_sweep(tree, ws, acceleration, effort, wrench)
        read_swept(integers, memory, tree, ws, x, v, acceleration, wrench, body, felt, frame, influence, there)
        acceleration[j] = kept
        for i in range(count):
            for c in range(6):
                change[i, c, j] = there[i, c] - readings[i, c]
    articulate(tree, ws)
    for i in range(count):
        for c in range(6):
            respond(tree, ws, change[i, c], False, mobility[i, c])  # M is symmetric
    for j in range(2 * estimated):
        state = x if j < estimated else v
        place = free[j % estimated]
        kept = state[place]
        state[place] += DIFFERENCE
        move_bodies(tree, ws, x, v)
        load_bodies(tree, ws, x, v)
        inverse_sweep(tree, ws, acceleration, effort, wrench)
        read_swept(integers, memory, tree, ws, x, v, acceleration, wrench, body, felt, frame, influence, there)
        hinge_forces(tree, x, v, hinge_effort, 0.0, forces)
        state[place] = kept
        for i in range(count):
            for c in range(6):
                s = there[i, c] - readings[i, c]
                for m in range(size):
                    s -= mobility[i, c, m] * (effort[m] - forces[m])
                jacobian[i, c, j] = s / DIFFERENCE
