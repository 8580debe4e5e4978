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

from flexarm_core.compiled import kernel, view
from flexarm_core.ik_redundancy.chain import rotation_error, tool_kinematics
from flexarm_core.ik_redundancy.limits import displacement_bounds, limited_step
from flexarm_core.ik_redundancy.rows import rows_size, turn_rows, turned, turned_vector
from flexarm_core.ik_redundancy.step import ROW, ROWS, WEIGHTS, memory_size, resolve
from flexarm_core.types import Array

CATCH_UP, CATCH_UP_SPEED = 0.5, 0.9  # share of the acceleration and velocity limits for correcting the remaining error
OBJECTIVE_PASSES = 3  # steps that include the objective: near a singularity the iteration would not converge with it
REACH_PASSES, REACHED = 12, 1e-11  # maximum number of steps to a nearby pose, and its convergence error [m | rad]
ON_THE_PATH = 1e-9  # [m | rad] error below which no error remains to be corrected


@kernel
def track_size(n: int) -> int:
    """Return the size of the work array of :func:`track` for ``n`` joints."""
    return 120 + 26 * n


@kernel
def _catch_up(limits: Array, way: Array, dt: float, memory: Array) -> float:
    """Return the share of a joint displacement ``way`` (n,) for one sample, so that it starts and ends without a jump.

    ``memory[7]`` keeps the time in which the fastest joint would reach its speed from rest [s].
    """
    share, begun = 1.0, memory[7] + CATCH_UP * dt
    for i in range(way.shape[0]):
        a, distance = CATCH_UP * limits[3, i], abs(way[i])
        if a < math.inf and distance > 0.0:
            speed = 2.0 * a * distance / (math.sqrt(a * dt * (a * dt) + 2.0 * a * distance) + a * dt)
            speed = min(speed, begun * limits[3, i])
            share = min(share, min(speed, CATCH_UP_SPEED * limits[2, i]) * dt / distance)
    memory[7] = 0.0
    for i in range(way.shape[0]):
        if limits[3, i] < math.inf:
            memory[7] = max(memory[7], share * abs(way[i]) / (dt * limits[3, i]))
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
def track(
    links: Array, limits: Array, plan: Array, position: Array, rotation: Array, motion: Array, origin: Array, q: Array,
    v: Array, settings: Array, share: Array, memory: Array, out: Array,
) -> float:  # fmt: skip
    """Compute the joint displacement ``out`` (n,) of one sample towards a pose.

    Args:
        links: links of the chain.
        limits: (4, n) joint limits, see :meth:`MotionLimits.table`.
        plan: settings of the step.
        position: (3,) desired position at the end of the sample [m].
        rotation: (3, 3) desired rotation at the end of the sample.
        motion: (6,) motion of the desired pose in this sample, `[m; rad]`.
        origin: (n,) theta_0.
        q: (n,) joint positions at the start of the sample.
        v: (n,) joint velocities of the last sample.
        settings: dt [s], gain, number of corrections.
        share: (2, 6) output, as in :func:`limited_step`, assigned to the tool axes nearest to the rotated rows.
        memory: work array; ``memory[:6]`` gets the pose error after the sample, ``memory[7]`` is kept between samples
            and must be 0 at the start.
        out: (n,) output: joint displacement.

    Returns:
        The smallest norm of a row after orthogonalization, before limits [m].
    """
    n = q.shape[0]
    dt, gain, corrections = settings[0], settings[1], int(settings[2])
    p, R, J = view(memory, 8, (3,)), view(memory, 11, (3, 3)), view(memory, 20, (6, n))
    p0, R0 = view(memory, 20 + 6 * n, (3,)), view(memory, 23 + 6 * n, (3, 3))
    t, turn = view(memory, 32 + 6 * n, (6,)), view(memory, 38 + 6 * n, (3,))
    lo, hi = view(memory, 41 + 6 * n, (n,)), view(memory, 41 + 7 * n, (n,))
    offset, x, d = view(memory, 41 + 8 * n, (n,)), view(memory, 41 + 9 * n, (n,)), view(memory, 41 + 10 * n, (n,))
    low, high = view(memory, 41 + 11 * n, (n,)), view(memory, 41 + 12 * n, (n,))
    goal, later = view(memory, 41 + 13 * n, (6,)), view(memory, 47 + 13 * n, (2, 6))
    Q, pose, H = view(memory, 59 + 13 * n, (6, 6)), view(memory, 95 + 13 * n, (6,)), view(memory, 101 + 13 * n, (6, n))
    displacement_bounds(limits, q, v, dt, lo, hi)
    tool_kinematics(links, q, p0, R0, J)
    rotation_error(rotation, R0, turn)
    turn_rows(J, plan, view(memory, 101 + 19 * n, (rows_size(n),)), Q)
    turned(Q, J, H)
    size = 0.0
    for k in range(3):
        pose[k], pose[3 + k] = position[k] - p0[k], turn[k]
    turned_vector(Q, pose, t)
    jumped = _is_jump(J, limits, motion, dt)
    for k in range(6):
        pose[k] -= 0.0 if jumped else motion[k]
    for k in range(int(plan[ROWS])):
        size = max(size, abs(pose[int(plan[ROW + k])]))
    if size <= ON_THE_PATH:
        memory[7] = 0.0
    else:
        w, work = view(plan, WEIGHTS, (n,)), view(plan, WEIGHTS + n, (memory_size(n),))
        for i in range(n):
            offset[i] = 0.0
        turned_vector(Q, pose, goal)
        resolve(H, goal, offset, 0.0, plan, w, work, d)
        catch = _catch_up(limits, d, dt, memory)
        for k in range(6):
            t[k] -= (1.0 - catch) * goal[k]
    for i in range(n):
        offset[i] = q[i] - origin[i]
    least = limited_step(H, t, offset, gain, plan, lo, hi, share, out)
    for k in range(6):
        goal[k] = 0.0
        for i in range(n):
            goal[k] += H[k, i] * out[i]
    for _ in range(corrections):
        for i in range(n):
            x[i] = q[i] + out[i]
            low[i], high[i], offset[i] = lo[i] - out[i], hi[i] - out[i], x[i] - origin[i]
        tool_kinematics(links, x, p, R, J)
        rotation_error(R, R0, turn)
        for k in range(3):
            pose[k], pose[3 + k] = p[k] - p0[k], turn[k]
        turned(Q, J, H)
        turned_vector(Q, pose, t)
        for k in range(6):  # correct only rows that are not damped; a damped row is corrected in later samples
            t[k] = goal[k] - t[k] if share[0, k] == 1.0 else 0.0
        limited_step(H, t, offset, gain if gain == 1.0 else 0.0, plan, low, high, later, d)
        for i in range(n):
            out[i] += min(max(d[i], low[i]), high[i])
    for i in range(n):
        x[i] = q[i] + out[i]
    tool_kinematics(links, x, p, R, J)
    rotation_error(rotation, R, turn)
    for k in range(3):
        memory[k], memory[3 + k] = position[k] - p[k], turn[k]
    _name_rows(Q, share, later)
    return least


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
def damped_least_squares(
    links: Array, limits: Array, position: Array, rotation: Array, q: Array, damping: float, dt: float, memory: Array,
    out: Array,
) -> None:  # fmt: skip
    """Compute the damped least-squares step ``J^T (J J^T + damping^2)^-1 e``, for comparison.

    All joints are scaled so that the fastest joint keeps its velocity limit. Free axes and acceleration limits are
    ignored.
    """
    n = q.shape[0]
    p, R, J = view(memory, 8, (3,)), view(memory, 11, (3, 3)), view(memory, 20, (6, n))
    e, B = view(memory, 20 + 6 * n, (6,)), view(memory, 26 + 6 * n, (6, 6))
    turn = view(memory, 62 + 6 * n, (3,))
    tool_kinematics(links, q, p, R, J)
    rotation_error(rotation, R, turn)
    for k in range(3):
        e[k], e[3 + k] = position[k] - p[k], turn[k]
    for j in range(6):
        for k in range(j + 1):
            total = damping * damping if j == k else 0.0
            for i in range(n):
                total += J[j, i] * J[k, i]
            for i in range(k):
                total -= B[j, i] * B[k, i]
            B[j, k] = math.sqrt(max(total, 1e-18)) if j == k else total / B[k, k]
    for j in range(6):
        for i in range(j):
            e[j] -= B[j, i] * e[i]
        e[j] /= B[j, j]
    for j in range(5, -1, -1):
        for i in range(j + 1, 6):
            e[j] -= B[i, j] * e[i]
        e[j] /= B[j, j]
    scale = 1.0
    for i in range(n):
        out[i] = 0.0
        for k in range(6):
            out[i] += J[k, i] * e[k]
        scale = min(scale, limits[2, i] * dt / max(abs(out[i]), 1e-300))
    for i in range(n):
        out[i] = min(max(scale * out[i], limits[0, i] - q[i]), limits[1, i] - q[i])
    x = view(memory, 20, (n,))
    for i in range(n):
        x[i] = q[i] + out[i]
    tool_kinematics(links, x, p, R, view(memory, 65 + 6 * n, (6, n)))
    rotation_error(rotation, R, turn)
    for k in range(3):
        memory[k], memory[3 + k] = position[k] - p[k], turn[k]


@kernel
def reach(
    links: Array, limits: Array, plan: Array, position: Array, rotation: Array, origin: Array, gain: float, cap: float,
    share: Array, memory: Array, q: Array,
) -> float:  # fmt: skip
    """Move ``q`` (n,) to a nearby pose, by steps within the position limits and of at most ``cap`` per joint.

    ``memory[:6]`` gets the remaining pose error. A dropped or damped row may keep its error.

    Returns:
        The smallest norm of a row after orthogonalization in the last step [m].
    """
    n = q.shape[0]
    p, R, J = view(memory, 8, (3,)), view(memory, 11, (3, 3)), view(memory, 20, (6, n))
    t, turn = view(memory, 32 + 6 * n, (6,)), view(memory, 38 + 6 * n, (3,))
    lo, hi = view(memory, 41 + 6 * n, (n,)), view(memory, 41 + 7 * n, (n,))
    offset, d = view(memory, 41 + 8 * n, (n,)), view(memory, 41 + 10 * n, (n,))
    least, before = 0.0, math.inf
    for passed in range(REACH_PASSES):
        tool_kinematics(links, q, p, R, J)
        rotation_error(rotation, R, turn)
        size = 0.0
        for k in range(3):
            t[k], t[3 + k] = position[k] - p[k], turn[k]
        for k in range(6):
            memory[k] = t[k]
        for k in range(int(plan[ROWS])):
            size = max(size, abs(t[int(plan[ROW + k])]))
        if passed > 0 and (size < REACHED or (size < 1e-6 and size > 0.5 * before)):
            break
        before = size
        for i in range(n):
            lo[i] = min(max(limits[0, i] - q[i], -cap), 0.0)
            hi[i] = max(min(limits[1, i] - q[i], cap), 0.0)
            offset[i] = q[i] - origin[i]
        least = limited_step(
            J,
            t,
            offset,
            gain if passed < OBJECTIVE_PASSES and (passed == 0 or gain == 1.0) else 0.0,
            plan,
            lo,
            hi,
            share,
            d,
        )
        for i in range(n):
            q[i] += d[i]
    return least


@kernel
def pose_errors(links: Array, q: Array, positions: Array, rotations: Array, out: Array) -> None:
    """Compute the pose errors ``out`` (g, 6) `[m; rad]` of joint positions (g, n) from poses (g, 3), (g, 3, 3)."""
    p, R, J, turn = np.empty(3), np.empty((3, 3)), np.empty((6, q.shape[1])), np.empty(3)
    for k in range(q.shape[0]):
        tool_kinematics(links, q[k], p, R, J)
        rotation_error(rotations[k], R, turn)
        for i in range(3):
            out[k, i], out[k, 3 + i] = positions[k, i] - p[i], turn[i]
