"""One sample of the behavior controller (compiled): from the summed contributions to the motion of the joints."""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.law import law_step
from flexarm_core.behavior_impedance.layout import view_law
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.behavior_impedance.progress import distance
from flexarm_core.behavior_impedance.tool_step import take_back
from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.ik_redundancy.sample import advance
from flexarm_core.ik_redundancy.solver_memory import view_solver
from flexarm_core.kernels.rotations import pose_error
from flexarm_core.types import Array

TOO_LARGE = 1e6  # [m, rad] norm of the law's output (pose, error, joint displacement) that no arm could reach


@allocating_kernel
def follow(law_memory: Array, memory: Array, plan: Array, q: Array, v: Array, out: Array) -> bool:
    """Integrate the law over one sample and map the tool's motion to the joints.

    Args:
        law_memory: see :class:`Law`.
        memory: this and the other arrays: see :func:`advance`; the pose is that of the law, and the joints are led by
            its displacement in the redundant space instead of ``origin``.
        plan: see there.
        q: see there.
        v: see there.
        out: see there.

    Returns:
        Whether the result of the law is finite and possible; if not, the joints are not computed.
    """
    n = q.shape[0]
    law_step(law_memory, v)
    law, asked = view_law(law_memory, n).state, view_solver(memory, n).request
    position, rotation = law.position, law.rotation
    size = 0.0
    for i in range(3):
        size += position[i] * position[i]
    for i in range(3):
        for j in range(3):
            size += rotation[i, j] * rotation[i, j]
    for i in range(6):
        size += law.error[i] * law.error[i]
    for i in range(n):
        size += law.displacement[i] * law.displacement[i]
    if not size < TOO_LARGE * TOO_LARGE:
        return False
    pose = law.frames[n]
    pose_error(position, rotation, pose[9:], pose[:9].reshape((3, 3)), asked.motion)
    for i in range(n):
        asked.origin[i] = q[i] + law.displacement[i]
    asked.position[:], asked.rotation[:] = position, rotation
    advance(memory, plan, q, v, out)
    return True


@kernel
def settle(law_memory: Array, memory: Array, q: Array, v: Array) -> float:
    """Take over the performed part of the requested motion; arguments as in :func:`follow`, after the sample.

    Returns:
        Distance of the tool from its set-point as in :func:`distance`.
    """
    n = q.shape[0]
    law, solver = view_law(law_memory, n), view_solver(memory, n)
    arm_kinematics(solver.links, q, law.state.frames, law.state.J)
    take_back(law.now.settings, law.state, solver.request.motion, solver.track.error, v)
    return remaining(law_memory, n)


@allocating_kernel
def remaining(law_memory: Array, n: int) -> float:
    """Return the distance of the tool from its set-point, along the controlled axes and without freed directions."""
    whole, away = view_law(law_memory, n), np.empty(6)
    axes, freed, law = whole.now.settings.axes, whole.now.total.freed, whole.state
    error = law.error
    for i in range(6):
        away[i] = error[i] if axes[i] > 0.0 else 0.0
        for j in range(6):
            away[i] -= freed[i, j] * error[j] if axes[i] > 0.0 else 0.0
    return distance(law.set_twist, away)
