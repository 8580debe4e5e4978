r"""One sample of pose tracking (compiled): desired pose in, joint displacement within all limits out.

The pose error is the motion of the reference in this sample plus the error remaining from earlier samples. The
remaining error is corrected no faster than the joints can brake: ``v^2 / (2 a) + v dt <= distance``, with half of the
acceleration limit, so that the correction starts smoothly and ends without overshoot. The motion of the reference is
passed in full to the step within limits; a jump of the reference counts as remaining error.

First the rows are rotated so that the rows of each level are orthogonal: then only the singular direction of the arm is
dropped (see :mod:`rows`).

A step is exact only for the linearized arm. A few corrections, with the Jacobian at the new joint positions, remove the
linearization error only. Motion that singularities or limits removed is not restored.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.ik_redundancy.chain import tool_kinematics
from flexarm_core.ik_redundancy.limits import displacement_bounds, limited_step
from flexarm_core.ik_redundancy.plan import view_plan
from flexarm_core.ik_redundancy.rows import turn_rows, turned, turned_vector
from flexarm_core.ik_redundancy.solver_memory import view_solver
from flexarm_core.ik_redundancy.step import Task, resolve
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.types import Array

CATCH_UP, CATCH_UP_SPEED = 0.5, 0.9  # share of the acceleration and velocity limits for correcting the remaining error
OBJECTIVE_PASSES = 3  # steps that include the objective: near a singularity the iteration would not converge with it
REACH_PASSES, REACHED = 12, 1e-11  # maximum number of steps to a nearby pose, and its convergence error [m | rad]
LONGEST = 1.0  # [rad | m] such a step
ON_THE_PATH = 1e-9  # [m | rad] error below which no error remains to be corrected


@kernel
def _catch_up(limits: Array, way: Array, dt: float, begun: Array) -> float:
    """Return the share of a joint displacement ``way`` (n,) for one sample, so that it starts and ends without a jump.

    ``begun`` (1,) keeps the time in which the fastest joint would reach its speed from rest [s].
    """
    share, reached = 1.0, begun[0] + CATCH_UP * dt
    for i in range(way.shape[0]):
        a, distance = CATCH_UP * limits[3, i], abs(way[i])
        if a < math.inf and distance > 0.0:
            speed = 2.0 * a * distance / (math.sqrt(a * dt * (a * dt) + 2.0 * a * distance) + a * dt)
            speed = min(speed, reached * limits[3, i])
            share = min(share, min(speed, CATCH_UP_SPEED * limits[2, i]) * dt / distance)
    begun[0] = 0.0
    for i in range(way.shape[0]):
        if limits[3, i] < math.inf:
            begun[0] = max(begun[0], share * abs(way[i]) / (dt * limits[3, i]))
    return share


@kernel
def _is_jump(J: Array, limits: Array, motion: Array, dt: float) -> bool:
    """Return whether the motion is larger than the tool can move in one sample within the velocity limits."""
    for part in range(2):
        square, reach = 0.0, 0.0
        for k in range(3):
            square += motion[3 * part + k] ** 2
        for i in range(J.shape[1]):
            column = 0.0
            for k in range(3):
                column += J[3 * part + k, i] ** 2
            if column > 0.0:
                reach += math.sqrt(column) * limits[2, i] * dt
        if math.sqrt(square) > reach + ON_THE_PATH:
            return True
    return False


@kernel
def track(memory: Array, plan: Array, q: Array, v: Array, out: Array) -> None:
    """Compute the joint displacement ``out`` (n,) of one sample towards the requested pose.

    Args:
        memory: see :class:`SolverMemory`; its work array is 0 at the start.
        plan: settings of the step.
        q: (n,) joint positions at the start of the sample.
        v: (n,) joint velocities of the last sample.
        out: (n,) output: joint displacement.
    """
    n = q.shape[0]
    solver, step = view_solver(memory, n), view_plan(plan, n)
    links, limits, asked, share, m = solver.links, solver.limits, solver.request, solver.share, solver.track
    dt, gain, position, rotation, origin = asked.dt[0], asked.gain[0], asked.position, asked.rotation, asked.origin
    p, R, J, p0, R0, t, turn = m.p, m.R, m.J, m.p0, m.R0, m.t, m.turn
    bounds, left, offset, x, d = m.bounds, m.left, m.offset, m.x, m.d
    goal, Q, pose, H = m.goal, m.Q, m.pose, m.H
    displacement_bounds(limits, q, v, dt, bounds)
    tool_kinematics(links, q, p0, R0, J)
    rotation_error(rotation, R0, turn)
    turn_rows(J, plan, m.A, m.length, Q)
    turned(Q, J, H)
    size = 0.0
    for k in range(3):
        pose[k], pose[3 + k] = position[k] - p0[k], turn[k]
    turned_vector(Q, pose, t)
    jumped = _is_jump(J, limits, asked.motion, dt)
    for k in range(6):
        pose[k] -= 0.0 if jumped else asked.motion[k]
    for k in range(step.rows):
        size = max(size, abs(pose[int(step.row[k])]))
    if size <= ON_THE_PATH:
        m.begun[0] = 0.0
    else:
        for i in range(n):
            offset[i] = 0.0
        turned_vector(Q, pose, goal)
        resolve(Task(H, goal, offset), 0.0, plan, step.weights, d)
        catch = _catch_up(limits, d, dt, m.begun)
        for k in range(6):
            t[k] -= (1.0 - catch) * goal[k]
    for i in range(n):
        offset[i] = q[i] - origin[i]
    solver.least[0] = limited_step(Task(H, t, offset), gain, plan, bounds, share, out)
    for k in range(6):
        goal[k] = 0.0
        for i in range(n):
            goal[k] += H[k, i] * out[i]
    for _ in range(int(asked.corrections[0])):
        for i in range(n):
            x[i] = q[i] + out[i]
            left[0, i], left[1, i], offset[i] = bounds[0, i] - out[i], bounds[1, i] - out[i], x[i] - origin[i]
        tool_kinematics(links, x, p, R, J)
        rotation_error(R, R0, turn)
        for k in range(3):
            pose[k], pose[3 + k] = p[k] - p0[k], turn[k]
        turned(Q, J, H)
        turned_vector(Q, pose, t)
        for k in range(6):  # correct only rows that are not damped; a damped row is corrected in later samples
            t[k] = goal[k] - t[k] if share[0, k] == 1.0 else 0.0
        limited_step(Task(H, t, offset), gain if gain == 1.0 else 0.0, plan, left, m.later, d)
        for i in range(n):
            out[i] += min(max(d[i], left[0, i]), left[1, i])
    for i in range(n):
        x[i] = q[i] + out[i]
    tool_kinematics(links, x, p, R, J)
    rotation_error(rotation, R, turn)
    for k in range(3):
        m.error[k], m.error[3 + k] = position[k] - p[k], turn[k]
    _name_rows(Q, share, m.later)


@kernel
def _name_rows(Q: Array, share: Array, scratch: Array) -> None:
    """Convert shares of rotated rows to shares of tool axes: each row is assigned to the nearest axis."""
    for kind in range(2):
        for axis in range(6):
            scratch[kind, axis] = -1.0
        for _ in range(6):  # the row with the smallest share is assigned first, each axis once
            row = -1
            for k in range(6):
                if share[kind, k] < 2.0 and (row < 0 or share[kind, k] < share[kind, row]):
                    row = k
            nearest = -1
            for axis in range(6):
                if scratch[kind, axis] < 0.0 and (nearest < 0 or abs(Q[row, axis]) > abs(Q[row, nearest])):
                    nearest = axis
            scratch[kind, nearest], share[kind, row] = share[kind, row], 2.0
        for axis in range(6):
            share[kind, axis] = scratch[kind, axis]


@kernel
def damped_least_squares(memory: Array, q: Array, out: Array) -> None:
    """Compute the damped least-squares step ``J^T (J J^T + damping^2)^-1 e``, for comparison.

    All joints are scaled so that the fastest joint keeps its velocity limit. Free axes and acceleration limits are
    ignored.
    """
    n = q.shape[0]
    solver = view_solver(memory, n)
    links, limits, asked, m = solver.links, solver.limits, solver.request, solver.track
    position, rotation, damping, dt = asked.position, asked.rotation, asked.damping[0], asked.dt[0]
    p, R, J, turn, e, B, x = m.p, m.R, m.J, m.turn, m.t, m.Q, m.x
    tool_kinematics(links, q, p, R, J)
    rotation_error(rotation, R, turn)
    for k in range(3):
        e[k], e[3 + k] = position[k] - p[k], turn[k]
    for j in range(6):
        for k in range(j + 1):
            B[j, k] = damping * damping if j == k else 0.0
            for i in range(n):
                B[j, k] += J[j, i] * J[k, i]
    cholesky(B, 6, 1e-18)
    cholesky_solve(B, e, 6)
    scale = 1.0
    for i in range(n):
        out[i] = 0.0
        for k in range(6):
            out[i] += J[k, i] * e[k]
        scale = min(scale, limits[2, i] * dt / max(abs(out[i]), 1e-300))
    for i in range(n):
        out[i] = min(max(scale * out[i], limits[0, i] - q[i]), limits[1, i] - q[i])
    for i in range(n):
        x[i] = q[i] + out[i]
    tool_kinematics(links, x, p, R, J)
    rotation_error(rotation, R, turn)
    for k in range(3):
        m.error[k], m.error[3 + k] = position[k] - p[k], turn[k]


@kernel
def reach(memory: Array, plan: Array, q: Array) -> None:
    """Move ``q`` (n,) to the requested pose nearby, by steps within the position limits and of at most LONGEST each.

    ``error`` of the work array gets the remaining pose error. A dropped or damped row may keep its error.
    """
    n = q.shape[0]
    solver, step = view_solver(memory, n), view_plan(plan, n)
    links, limits, asked, m = solver.links, solver.limits, solver.request, solver.track
    gain, position, rotation, origin = asked.gain[0], asked.position, asked.rotation, asked.origin
    p, R, J, t, turn, bounds, offset, d = m.p, m.R, m.J, m.t, m.turn, m.bounds, m.offset, m.d
    solver.least[0], before = 0.0, math.inf
    for passed in range(REACH_PASSES):
        tool_kinematics(links, q, p, R, J)
        rotation_error(rotation, R, turn)
        size = 0.0
        for k in range(3):
            t[k], t[3 + k] = position[k] - p[k], turn[k]
        for k in range(6):
            m.error[k] = t[k]
        for k in range(step.rows):
            size = max(size, abs(t[int(step.row[k])]))
        if passed > 0 and (size < REACHED or (size < 1e-6 and size > 0.5 * before)):
            break
        before = size
        for i in range(n):
            bounds[0, i] = min(max(limits[0, i] - q[i], -LONGEST), 0.0)
            bounds[1, i] = max(min(limits[1, i] - q[i], LONGEST), 0.0)
            offset[i] = q[i] - origin[i]
        now = gain if passed < OBJECTIVE_PASSES and (passed == 0 or gain == 1.0) else 0.0
        solver.least[0] = limited_step(Task(J, t, offset), now, plan, bounds, solver.share, d)
        for i in range(n):
            q[i] += d[i]


@allocating_kernel
def pose_errors(links: Array, q: Array, positions: Array, rotations: Array, out: Array) -> None:
    """Compute the pose errors ``out`` (g, 6) `[m; rad]` of joint positions (g, n) from poses (g, 3), (g, 3, 3)."""
    p, R, J, turn = np.empty(3), np.empty((3, 3)), np.empty((6, q.shape[1])), np.empty(3)
    for k in range(q.shape[0]):
        tool_kinematics(links, q[k], p, R, J)
        rotation_error(rotations[k], R, turn)
        for i in range(3):
            out[k, i], out[k, 3 + i] = positions[k, i] - p[i], turn[i]
