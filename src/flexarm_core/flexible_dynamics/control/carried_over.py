r"""Force correction with the revised quantities of an earlier step (US 5,546,508, claims 6, 21, 36).

Articulated-body inertias and force operators of an earlier state stand for ``M_c^-1``, the influence ``Lambda_c`` and
the responses ``R_c`` with them. Accelerations ``a`` and forces ``T`` of the step before are the first estimates. The
residual forces ``r`` of the present state, by Newton-Euler, correct both at once::

    r = T - bias - M a           a <- a + M_c^-1 r
    d = Lambda_c (a_des - a)     T <- T + d,  a <- a + R_c d

Each pass costs two sweeps of forces; no inertia sweep, no response to each joint and no inverse. What is left is first
the product of two changes since the earlier step, of inertia and of acceleration, and falls with each pass. As long as
the corrections at least halve, what is left is less than the last one, which bounds the error. Nothing drifts from step
to step, because ``r`` is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.dense import inverse_sweep
from flexarm_core.flexible_dynamics.kinematics import place_bodies
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.recursion import hinge_forces, respond
from flexarm_core.flexible_dynamics.tree import Index, view_tree, view_workspace
from flexarm_core.types import Array

PASSES = 10  # most passes of a step; an arm that needs more is articulated anew
ENOUGH = 6  # passes of a step after which it is articulated anew in the next one


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """Quantities of one step that the next step uses.

    Attributes:
        stamp: stamp of the state at which the articulated-body quantities were computed [ns].
        memory: workspace of the recursion with them.
        response: (h + K, n) accelerations of the tree per unit of force of each actuated joint.
        influence: (n, n) forces per unit of acceleration of each actuated joint.
        inertia: (n,) diagonal of the mass matrix, of each actuated joint [kg*m^2 | kg].
        effort: (h,) corrected forces of the last step [N*m | N].
        acceleration: (h + K,) accelerations that they cause [rad/s^2 | m/s^2].
        passes: number of passes of the last step.
        error: bound of the error of the accelerations [rad/s^2 | m/s^2].
    """

    stamp: int
    memory: Array
    response: Array
    influence: Array
    inertia: Array
    effort: Array
    acceleration: Array
    passes: int = 0
    error: float = 0.0


def articulate(
    model: FlexibleModel, stamp: int, x: Array, v: Array, step: float, before: CarriedOver | None
) -> CarriedOver:
    """Compute the articulated-body quantities of a state; forces and accelerations are those of the step before.

    Args:
        model: the arm.
        stamp: stamp of the state [ns].
        x: (h + K,) coordinates.
        v: (h + K,) rates.
        step: step over which accelerations are means, 0: those of the moment [s].
        before: quantities of the previous step, None for the first.
    """
    joints = model.actuated
    inertia = np.diag(model.mass_matrix(x))[joints]
    model.articulate(x, v, step=step)
    response, effort = model.response(joints), np.zeros(len(model.hinge_names))
    influence, memory = np.linalg.inv(response[joints]), model.arrays[2].copy()
    response = np.ascontiguousarray(model.of_tree(response))
    if before is None:
        return CarriedOver(stamp, memory, response, influence, inertia, effort, model.accelerate(effort))
    return CarriedOver(stamp, memory, response, influence, inertia, before.effort, before.acceleration)


def correct_carried_over(
    model: FlexibleModel, carried: CarriedOver, x: Array, v: Array, step: float, wanted: Array, tolerance: float
) -> CarriedOver | None:
    """Correct forces as ``correct_forces`` does at a state, with the quantities of an earlier step.

    Args:
        model: the arm.
        carried: quantities of the previous step.
        x: (h + K,) coordinates.
        v: (h + K,) rates.
        step: step over which accelerations are means, 0: those of the moment [s].
        wanted: (n,) desired accelerations of the actuated joints [rad/s^2 | m/s^2].
        tolerance: largest error of the accelerations, relative to the larger of 1 and the largest one.

    Returns:
        What this step leaves; None if the earlier state is too far for corrections that converge.
    """
    model.set_wrenches(x, v, None, step)
    effort, acceleration = model.of_hinges(carried.effort).copy(), model.of_tree(carried.acceleration).copy()
    place, x, v = model.place, model.of_tree(x), model.of_tree(v)
    earlier = carried.memory, carried.response, carried.influence, place[model.actuated], effort, acceleration
    passes, error = correct(model.arrays, earlier, x, v, wanted, tolerance)
    effort, acceleration = effort[place[: len(carried.effort)]], acceleration[place]
    return replace(carried, effort=effort, acceleration=acceleration, passes=passes, error=error) if passes else None


# What the correction takes from an earlier state, in the coordinates of the tree: workspace with articulated-body
# quantities; (h + K, n) accelerations per unit force of each actuated joint; (n, n) forces per unit acceleration of
# each; (n,) their coordinates; estimates of the forces (h,) and of the accelerations (h + K,), which become the result.
# A plain tuple: for numba a named one costs seven times as much.
Earlier = tuple[Array, Array, Array, Index, Array, Array]


@kernel
def correct(
    arm: tuple[Index, Array, Array], earlier: Earlier, x: Array, v: Array, wanted: Array, tolerance: float
) -> tuple[int, float]:
    """Correct forces and accelerations until both corrections are small enough.

    Args:
        arm: integer array and constant array of the tree, and a workspace with external wrenches and step.
        earlier: quantities of the earlier state, whose forces and accelerations are corrected.
        x: (h + K,) coordinates.
        v: (h + K,) rates.
        wanted: (n,) desired accelerations of the actuated joints.
        tolerance: of the last correction, relative to the larger of 1 and the largest acceleration.

    Returns:
        Number of passes, 0 if they do not converge, and the bound of the error.
    """
    integers, constants, memory = arm
    articulated, response, influence, joints, effort, acceleration = earlier
    tree, ws, old = view_tree(integers, constants), view_workspace(memory), view_workspace(articulated)
    place_bodies(tree, ws, x, v)
    residual, change, correction, half, before = ws.effort, ws.lines[0], ws.lines[1], 0.5 * ws.step[0], np.inf
    for done in range(PASSES):
        hinge_forces(tree, x, v, effort, half, ws.total)
        inverse_sweep(tree, ws, acceleration)
        for i in range(len(residual)):
            residual[i] = ws.total[i] - residual[i]
        for h in range(len(tree.stiffness)):  # of the implicit step; the sweep includes that of the modes
            residual[h] -= half * (tree.damping[h] + half * tree.stiffness[h]) * acceleration[h]
        respond(tree, old, residual, False, change)
        for j in range(len(joints)):
            correction[j] = 0.0
            for i in range(len(joints)):
                correction[j] += influence[j, i] * (wanted[i] - acceleration[joints[i]] - change[joints[i]])
            effort[joints[j]] += correction[j]
        size, largest = 0.0, 1.0
        for i in range(len(residual)):
            effect = 0.0
            for j in range(len(joints)):
                effect += response[i, j] * correction[j]
            size = max(size, abs(change[i]), abs(effect))
            acceleration[i] += change[i] + effect
            largest = max(largest, abs(acceleration[i]))
        if size <= tolerance * largest:
            return done + 1, size
        if not size <= 0.5 * before and done > 0:
            break
        before = size
    return 0, before
