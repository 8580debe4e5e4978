"""One sample of the redundancy solver (compiled): from a tool pose to the joint motion at the end of the sample."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.ik_redundancy.solver_memory import view_solver
from flexarm_core.ik_redundancy.tracking import damped_least_squares, track
from flexarm_core.kernels.rotations import is_rotation, pose_error
from flexarm_core.types import Array

ROTATION = 1e-3  # tolerance of ``R R^T - 1``


@kernel
def follow(memory: Array, plan: Array, q: Array, v: Array, out: Array) -> bool:
    """Compute one sample towards a tool pose, whose motion is that since the sample before; see :func:`advance`.

    Returns:
        Whether the pose is finite and a rotation; if not, nothing is computed.
    """
    asked = view_solver(memory, q.shape[0]).request
    position, rotation = asked.position, asked.rotation
    total = 0.0
    for i in range(3):
        total += 0.0 * position[i]
        for j in range(3):
            total += 0.0 * rotation[i, j]
    if total != 0.0 or not is_rotation(rotation, ROTATION):
        return False
    if asked.known[0] > 0.0:
        pose_error(position, rotation, asked.last_position, asked.last_rotation, asked.motion)
    else:
        asked.motion[:] = 0.0
    advance(memory, plan, q, v, out)
    return True


@kernel
def advance(memory: Array, plan: Array, q: Array, v: Array, out: Array) -> None:
    """Compute one sample towards a checked pose with the motion of the request.

    Args:
        memory: see :class:`SolverMemory`; afterwards the pose of the sample before is this one.
        plan: settings of the step.
        q: (n,) joint positions at the start of the sample [rad | m].
        v: (n,) joint velocities of the last sample [rad/s | m/s].
        out: (3, n) output: joint positions, velocities and accelerations at the end of the sample.
    """
    solver, moved = view_solver(memory, q.shape[0]), out[0]
    asked = solver.request
    dt, solver.least[0] = asked.dt[0], math.nan
    if asked.damping[0] < 0.0:
        track(memory, plan, q, v, moved)
    else:
        solver.share[:, :] = 1.0
        damped_least_squares(memory, q, moved)
    asked.known[0] = 1.0
    for i in range(3):
        asked.last_position[i] = asked.position[i]
        for j in range(3):
            asked.last_rotation[i, j] = asked.rotation[i, j]
    for i in range(q.shape[0]):
        velocity = moved[i] / dt
        out[2, i], out[1, i], out[0, i] = (velocity - v[i]) / dt, velocity, q[i] + moved[i]


@kernel
def brake(limits: Array, dt: float, keep: float, q: Array, v: Array, out: Array) -> None:
    """Compute one sample of braking, every joint at a share ``keep`` of its acceleration limit; see :func:`advance`."""
    for i in range(q.shape[0]):
        slower = min(limits[3, i] * keep * dt, abs(v[i]))
        moved = (v[i] - np.sign(v[i]) * slower) * dt
        velocity = moved / dt
        out[2, i], out[1, i], out[0, i] = (velocity - v[i]) / dt, velocity, q[i] + moved
