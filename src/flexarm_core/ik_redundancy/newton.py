"""Inverse kinematics search for one pose (compiled): damped Newton steps within limits, with restarts.

With the error ``e = S [p_wanted - p; log(R_wanted R^T)]`` (rows of free axes are zero, meters are divided by a length)
and its Jacobian ``A = S [1, 0; 0, J_r^-1(log)] J``, a step is the Levenberg-Marquardt step in the 6-dimensional form:

    dq = d + A^T y,    (A A^T + (c |e|^2 / 2 + floor) 1) y = e - A d

The damping vanishes with the error (Sugihara 2011, IEEE T-RO 27(5)), so that the last steps converge quadratically.
``d`` is zero, or a displacement back to the start if the solution nearest to the start is requested. A joint whose step
would cross a limit is set to that limit, and the step is solved again for the other joints.
"""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.ik_redundancy.chain import tool_kinematics
from flexarm_core.ik_redundancy.newton_step import ENDLESS, FLOOR, HIGH, LOW, LOWER, SCALE, UPPER, damped_step, weigh
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.types import Array

# Purpose of a descent: reach the pose; move along the solutions to the start; approach the nearest pose.
ATTEMPT, SLIDE, APPROACH = range(3)
DAMPING = 0.1  # c: between 0.03 and 0.3 the number of steps hardly changes
# An attempt that has not reduced the squared error by this factor within this number of steps is at a local minimum or
# blocked by limits: a restart is cheaper than continuing.
STALL_STEPS, STALL_PART = 4, 0.5
# When approaching the nearest pose, steps that increase the error are undone and shortened: far from an unreachable
# pose the linear model neglects too much curvature.
APPROACH_STEPS, APPROACH_PART = 200, 1.0 - 1e-6
SLIDE_STEPS = 40  # maximum number of steps along the solutions to the start
SETTLED = 1e-4  # [rad] step size below which a slide has converged


def work_size(n: int) -> int:
    """Return the size of the work array of :func:`search`."""
    return 19 * n + 63


@kernel
def search(
    links: Array,
    joints: Array,
    trials: Array,
    start: Array,
    position: Array,
    rotation: Array,
    weight: Array,
    tolerance: Array,
    candidates: int,
    steps: int,
    work: Array,
    result: Array,
    errors: Array,
) -> tuple[bool, int, int]:
    """Find joint positions at which the tool has the pose.

    Args:
        links: links of the chain.
        joints: (6, n) rows: motion that counts as 1 (1 rad, or a length in meters); lower and upper position limit;
            lower and upper limit during the search, infinite for joints that may be shifted by full turns afterwards;
            whether the joint may be.
        trials: (r, n) in [0, 1): start positions of restarts, relative to the limits.
        start: (n,) start of the first attempt, clipped to the limits [rad | m].
        position: (3,) desired position [m].
        rotation: (3, 3) desired rotation.
        weight: (6,) weights of the error rows, 0 for free axes.
        tolerance: (2,) tolerances [m, rad].
        candidates: number of attempts among whose solutions the nearest to the start is chosen; 1: first solution.
        steps: maximum number of steps per attempt.
        work: (``work_size(n)``,) work array.
        result: (n,) output: joint positions of the solution, or of the nearest pose found.
        errors: (2,) output: errors of the controlled rows at the result [m, rad].

    Returns:
        Whether the pose is reached, number of attempts, number of steps.
    """
    n, attempts = start.shape[0], trials.shape[0] + 1
    origin, q, slid, rest = work[0:n], work[n : 2 * n], work[2 * n : 3 * n], work[3 * n :]
    found, best, total, attempt = False, math.inf, 0, 0
    for i in range(n):
        origin[i] = min(max(start[i], joints[LOWER, i]), joints[UPPER, i])
        q[i] = origin[i]
    while attempt < attempts and not (found and attempt >= candidates):
        if attempt > 0:
            for i in range(n):
                low, high = joints[LOW, i], joints[HIGH, i]
                if low == -math.inf or high == math.inf or not joints[ENDLESS, i]:
                    low = max(low, origin[i] - math.pi * joints[SCALE, i])
                    high = min(high, origin[i] + math.pi * joints[SCALE, i])
                q[i] = low + (high - low) * trials[attempt - 1, i]
        attempt += 1
        reached, count, value = _descend(
            links, joints, origin, position, rotation, weight, tolerance, ATTEMPT, steps, q, rest
        )
        total += count
        if reached:
            count, value = _into_limits(links, joints, origin, position, rotation, weight, tolerance, steps, q, rest)
            total += count
            if candidates > 1:
                for i in range(n):
                    slid[i] = q[i]
                slid_reached, count, _ = _descend(
                    links, joints, origin, position, rotation, weight, tolerance, SLIDE, SLIDE_STEPS, slid, rest
                )
                total += count
                more, slid_value = _into_limits(
                    links, joints, origin, position, rotation, weight, tolerance, steps, slid, rest
                )
                total += more
                if slid_reached and slid_value < value:
                    value = slid_value
                    for i in range(n):
                        q[i] = slid[i]
        if (reached and not found) or (reached == found and value < best):
            found, best = reached, value
            for i in range(n):
                result[i] = q[i]
    if not found:
        found, count, _ = _descend(
            links, joints, origin, position, rotation, weight, tolerance, APPROACH, APPROACH_STEPS, result, rest
        )
        total += count
        _to_limits(joints, origin, result)
    _measure(links, result, position, rotation, weight, rest, errors)
    return found, attempt, total


@kernel
def _into_limits(
    links: Array,
    joints: Array,
    start: Array,
    position: Array,
    rotation: Array,
    weight: Array,
    tolerance: Array,
    steps: int,
    q: Array,
    work: Array,
) -> tuple[int, float]:
    """Shift joints by full turns into their limits, nearest to the start.

    Where the search ended beyond a limit, it also goes on with this limit, and the result nearer to the start counts: a
    joint at its limit may only have gone along with the others, or beyond it by rounding.

    Returns:
        Number of further steps, squared distance to the start.
    """
    n, taken = q.shape[0], 0
    bounded, near, rest = work[: 6 * n].reshape((6, n)), work[6 * n : 7 * n], work[7 * n :]
    for i in range(n):
        near[i] = q[i]
        for row in range(6):
            bounded[row, i] = joints[row, i]
    beyond = False
    for i in range(n):
        if _is_endless(joints, i):
            near[i] = _nearest_turn(q[i], start[i])
            inside = min(max(near[i], joints[LOWER, i]), joints[UPPER, i])
            beyond = beyond or near[i] != inside
            near[i], bounded[LOW, i], bounded[HIGH, i] = inside, joints[LOWER, i], joints[UPPER, i]
    value = _to_limits(joints, start, q)
    if beyond:
        reached, taken, _ = _descend(
            links, bounded, start, position, rotation, weight, tolerance, ATTEMPT, steps, near, rest
        )
        distance = _to_limits(joints, start, near)
        if reached and distance < value:
            value = distance
            for i in range(n):
                q[i] = near[i]
    return taken, value


@kernel
def _is_endless(joints: Array, i: int) -> bool:
    """Return whether a joint may be shifted by full turns."""
    return joints[ENDLESS, i] > 0.0 and joints[HIGH, i] - joints[LOW, i] == math.inf


@kernel
def _nearest_turn(q: float, start: float) -> float:
    """Return a position in the turn that is nearest to the start."""
    return q + 2.0 * math.pi * math.floor((start - q) / (2.0 * math.pi) + 0.5)


@kernel
def _to_limits(joints: Array, start: Array, q: Array) -> float:
    """Shift joints by full turns into their limits, nearest to the start; return the squared distance to the start."""
    turn, distance = 2.0 * math.pi, 0.0
    for i in range(q.shape[0]):
        lower, upper = joints[LOWER, i], joints[UPPER, i]
        if _is_endless(joints, i):
            q[i] = _nearest_turn(q[i], start[i])
            if q[i] > upper:
                q[i] -= turn * math.ceil((q[i] - upper) / turn)
            elif q[i] < lower:
                q[i] += turn * math.ceil((lower - q[i]) / turn)
        q[i] = min(max(q[i], lower), upper)
        distance += ((q[i] - start[i]) / joints[SCALE, i]) ** 2
    return distance


@kernel
def _measure(
    links: Array, q: Array, position: Array, rotation: Array, weight: Array, work: Array, errors: Array
) -> None:
    """Write distance and angle (controlled rows only) from the pose at ``q`` to the desired pose to ``errors`` (2,)."""
    n = q.shape[0]
    p, R, e, J = work[0:3], work[3:12].reshape((3, 3)), work[12:15], work[15 : 15 + 6 * n].reshape((6, n))
    tool_kinematics(links, q, p, R, J)
    rotation_error(rotation, R, e)
    distance, angle = 0.0, 0.0
    for r in range(3):
        if weight[r] > 0.0:
            distance += (position[r] - p[r]) ** 2
        if weight[r + 3] > 0.0:
            angle += e[r] ** 2
    errors[0], errors[1] = math.sqrt(distance), math.sqrt(angle)


@kernel
def _descend(
    links: Array,
    joints: Array,
    start: Array,
    position: Array,
    rotation: Array,
    weight: Array,
    tolerance: Array,
    mode: int,
    steps: int,
    q: Array,
    work: Array,
) -> tuple[bool, int, float]:
    """Iterate ``q`` in place until the pose is reached, the error stalls or the maximum number of steps is reached.

    Returns:
        Whether the pose is reached, number of steps, half the squared error.
    """
    n = q.shape[0]
    p, R, vector = work[0:3], work[3:12].reshape((3, 3)), work[12:15]
    e, y, A = work[15:21], work[21:27], work[27:63].reshape((6, 6))
    dq, held, kept = work[63 : 63 + n], work[63 + n : 63 + 2 * n], work[63 + 2 * n : 63 + 3 * n]
    J = work[63 + 3 * n : 63 + 9 * n].reshape((6, n))
    stall_part = STALL_PART if mode == ATTEMPT else APPROACH_PART
    mark, last, value, step_size, more, taken, due = math.inf, math.inf, math.inf, math.inf, 1.0, 0, 0
    for step in range(steps + 1):
        tool_kinematics(links, q, p, R, J)
        rotation_error(rotation, R, vector)
        distance, angle = 0.0, 0.0
        for r in range(3):
            e[r] = weight[r] * (position[r] - p[r])
            e[r + 3] = weight[r + 3] * vector[r]
            if weight[r] > 0.0:
                distance += (position[r] - p[r]) ** 2
            angle += e[r + 3] * e[r + 3]
        value = 0.0
        for r in range(6):
            value += 0.5 * e[r] * e[r]
        if distance <= tolerance[0] ** 2 and angle <= tolerance[1] ** 2 and (mode != SLIDE or step_size < SETTLED):
            return True, step, value
        if value > last and mode == APPROACH:  # step too long: undo it and continue with a shorter step
            value, more, taken = last, 4.0 * more, taken - 1
            for i in range(n):
                q[i] = kept[i]
            continue
        if taken == due:
            if mode != SLIDE and value > stall_part * mark:
                return False, step, value
            mark, due = value, due + STALL_STEPS
        if step < steps:
            last, more, taken = value, max(0.8 * more, 1.0), taken + 1
            for i in range(n):
                kept[i] = q[i]
            weigh(joints, weight, vector, J)
            step_size = damped_step(
                joints, start, more * DAMPING * value + FLOOR, mode == SLIDE, q, e, J, A, y, dq, held
            )
    return False, steps, value
