"""One sample of the behavior controller (compiled): from the summed contributions to the motion of the joints."""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.law import law_step
from flexarm_core.behavior_impedance.layout import view_output, view_parts, view_settings, view_state
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.behavior_impedance.progress import distance
from flexarm_core.behavior_impedance.tool_step import take_back
from flexarm_core.compiled import kernel, view
from flexarm_core.ik_redundancy.sample import advance, view_request
from flexarm_core.ik_redundancy.tracking import view_track
from flexarm_core.kernels.rotations import pose_error
from flexarm_core.types import Array

TOO_LARGE = 1e6  # [m, rad] norm of the law's output (pose, error, joint displacement) that no arm could reach


@kernel
def follow(
    dt: float, scale: float, settings: Array, total: Array, old_settings: Array, old_total: Array, state: Array,
    frames: Array, J: Array, wrench: Array, result: Array, links: Array, limits: Array, plan: Array, origin: Array,
    request: Array, share: Array, memory: Array, q: Array, v: Array, out: Array,
) -> bool:  # fmt: skip
    """Integrate the law over one sample and map the tool's motion to the joints.

    Args:
        dt: sampling period [s].
        scale: length by which rotations are multiplied to compare them with translations [m/rad].
        settings: this and the arrays as far as ``wrench``: see :func:`law_step`.
        total: see there.
        old_settings: see there.
        old_total: see there.
        state: see there.
        frames: see there.
        J: see there.
        wrench: see there.
        result: output of the law.
        links: this and the other arrays: see :func:`advance`; the joints are led by the displacement of the law in the
            redundant space instead of ``origin``.
        limits: see there.
        plan: see there.
        origin: not used.
        request: see there.
        share: see there.
        memory: see there.
        q: see there.
        v: see there.
        out: see there.

    Returns:
        Whether the result of the law is finite and possible; if not, the joints are not computed.
    """
    n = q.shape[0]
    law_step(dt, scale, settings, total, old_settings, old_total, state, frames, J, v, wrench, result)
    size = 0.0
    for i in range(result.shape[0]):
        size += result[i] * result[i]
    if not size < TOO_LARGE * TOO_LARGE:
        return False
    wanted, asked, led = view_output(result, n), view_request(request), np.empty(n)
    rotation, position = view(frames, 12 * n, (3, 3)), view(frames, 12 * n + 9, (3,))
    pose_error(wanted.position, wanted.rotation, position, rotation, asked.motion)
    for i in range(n):
        led[i] = q[i] + wanted.displacement[i]
    advance(links, limits, plan, led, request, share, memory, wanted.position, wanted.rotation, q, v, out)
    return True


@kernel
def settle(
    dt: float, settings: Array, total: Array, state: Array, frames: Array, J: Array, result: Array, links: Array,
    request: Array, memory: Array, q: Array, v: Array,
) -> float:  # fmt: skip
    """Take over what the joints do of the requested motion; arguments as in :func:`follow`, after the sample.

    Returns:
        Distance of the tool from its set-point as in :func:`distance`.
    """
    n = q.shape[0]
    arm_kinematics(links, q, frames, J)
    take_back(dt, settings, view_request(request).motion, view_track(memory, n).error, J, v, state)
    return remaining(settings, total, state, result, n)


@kernel
def remaining(settings: Array, total: Array, state: Array, result: Array, n: int) -> float:
    """Return the distance of the tool from its set-point, along the controlled axes and without freed directions."""
    axes, freed = view_settings(settings, n).axes, view_parts(total, n).freed
    error, away = view_output(result, n).error, np.empty(6)
    for i in range(6):
        away[i] = error[i] if axes[i] > 0.0 else 0.0
        for j in range(6):
            away[i] -= freed[i, j] * error[j] if axes[i] > 0.0 else 0.0
    return distance(view_state(state, n).set_twist, away)
