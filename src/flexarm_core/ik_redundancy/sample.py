"""One sample of the redundancy solver (compiled): from a tool pose to the joint motion at the end of the sample."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import kernel, views
from flexarm_core.ik_redundancy.tracking import damped_least_squares, track
from flexarm_core.kernels.rotations import is_rotation, pose_error
from flexarm_core.types import Array

ROTATION = 1e-3  # tolerance of ``R R^T - 1``


class Request(NamedTuple):
    """Requested motion of a sample, and the requested pose of the previous sample."""

    settings: Annotated[Array, 3]  # dt [s], gain and number of corrections, see :func:`track`
    # damping of the method damped_least_squares; negative: the method is orthogonalization
    damping: Annotated[Array, 1]
    known: Annotated[Array, 1]  # 1 if the sample before followed a pose
    position: Annotated[Array, 3]  # that pose [m]
    rotation: Annotated[Array, 3, 3]
    motion: Annotated[Array, 6]  # motion of the pose in this sample [m, rad]
    least: Annotated[Array, 1]  # output: smallest norm of a row after orthogonalization, before limits [m]


view_request = views(Request)


@kernel
def follow(
    links: Array, limits: Array, plan: Array, origin: Array, request: Array, share: Array, memory: Array,
    position: Array, rotation: Array, q: Array, v: Array, out: Array,
) -> bool:  # fmt: skip
    """Compute one sample towards a tool pose, whose motion is that since the sample before; see :func:`advance`.

    Returns:
        Whether the pose is finite and a rotation; if not, nothing is computed.
    """
    total = 0.0
    for i in range(3):
        total += 0.0 * position[i]
        for j in range(3):
            total += 0.0 * rotation[i, j]
    if total != 0.0 or not is_rotation(rotation, ROTATION):
        return False
    asked = view_request(request)
    if asked.known[0] > 0.0:
        pose_error(position, rotation, asked.position, asked.rotation, asked.motion)
    else:
        asked.motion[:] = 0.0
    advance(links, limits, plan, origin, request, share, memory, position, rotation, q, v, out)
    return True


@kernel
def advance(
    links: Array, limits: Array, plan: Array, origin: Array, request: Array, share: Array, memory: Array,
    position: Array, rotation: Array, q: Array, v: Array, out: Array,
) -> None:  # fmt: skip
    """Compute one sample towards a checked pose with the motion of the request.

    Args:
        links: links of the chain.
        limits: (4, n) joint limits, see :meth:`MotionLimits.table`.
        plan: settings of the step.
        origin: (n,) theta_0.
        request: see :class:`Request`; afterwards the pose of the sample before is this one.
        share: (2, 6) output, see :func:`track`.
        memory: work array, see :class:`TrackMemory`.
        position: (3,) desired position at the end of the sample [m].
        rotation: (3, 3) desired rotation at the end of the sample.
        q: (n,) joint positions at the start of the sample [rad | m].
        v: (n,) joint velocities of the last sample [rad/s | m/s].
        out: (3, n) output: joint positions, velocities and accelerations at the end of the sample.
    """
    asked, moved = view_request(request), out[0]
    dt, asked.least[0] = asked.settings[0], math.nan
    if asked.damping[0] < 0.0:
        asked.least[0] = track(
            links, limits, plan, position, rotation, asked.motion, origin, q, v, asked.settings, share, memory, moved
        )
    else:
        share[:, :] = 1.0
        damped_least_squares(links, limits, position, rotation, q, asked.damping[0], dt, memory, moved)
    asked.known[0] = 1.0
    for i in range(3):
        asked.position[i] = position[i]
        for j in range(3):
            asked.rotation[i, j] = rotation[i, j]
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
