r"""Vibration of an elastic base under a given joint motion, from the equation of motion of its at most six directions.

``H_b(q) xdd_b + D_b xd_b + K_b x_b = -(H_bm qdd + dH_bm qd)`` at the joint positions of each time: linearized for small
deflections, without gravity. Newmark's average acceleration method adds no numerical damping and is unconditionally
stable for stiff directions.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array


def base_response(model: ArmModel, inertias: Array, loads: Array, interval: float, substeps: int = 4) -> Array:
    """Return the deflections of a base that starts at rest.

    Args:
        model: arm model; provides the stiffness and damping of the base.
        inertias: (t, m, m) H_b at equally spaced times.
        loads: (t, m) reactions ``-(H_bm qdd + dH_bm qd)`` [N | N*m].
        interval: time between two rows [s].
        substeps: integration steps per interval.

    Returns:
        (t, m) deflections at those times [m | rad].
    """
    h, m, t = interval / substeps, model.m, len(loads)
    share = np.arange(1, substeps + 1)[:, None] / substeps
    between = (loads[:-1, None] + share * np.diff(loads, axis=0)[:, None]).reshape(-1, m)
    effective = inertias[:-1, None] + share[..., None] * np.diff(inertias, axis=0)[:, None]
    effective = effective.reshape(-1, m, m) + 0.5 * h * model.D_b + 0.25 * h**2 * model.K_b
    inverses, D, K = np.linalg.inv(effective), model.D_b, model.K_b
    x, v, a = np.zeros(m), np.zeros(m), np.linalg.solve(inertias[0], loads[0])
    rows = np.zeros((len(between) + 1, m))
    for i, (load, inverse) in enumerate(zip(between, inverses, strict=True)):
        v_half, x_whole = v + 0.5 * h * a, x + h * v + 0.25 * h**2 * a
        a = inverse @ (load - D @ v_half - K @ x_whole)
        x, v = x_whole + 0.25 * h**2 * a, v_half + 0.5 * h * a
        rows[i + 1] = x
    return rows[::substeps][:t]


def peak_energy(model: ArmModel, deflections: Array) -> float:
    """Return the largest elastic energy ``1/2 x_b^T K_b x_b`` of deflections (t, m) [J]."""
    return 0.5 * float(np.einsum("ti,ij,tj->t", deflections, model.K_b, deflections).max())
