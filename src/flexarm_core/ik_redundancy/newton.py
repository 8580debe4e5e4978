"""Compiled search for the joints of one pose: damped Newton steps within limits, begun anew where they stall.

With the error ``e = S [p_wanted - p; log(R_wanted R^T)]`` (rows not wanted are zero, metres are divided by a length)
and its Jacobian ``A = S [1, 0; 0, J_r^-1(log)] J`` a step is that of Levenberg and Marquardt, in its small form:

    dq = d + A^T y,    (A A^T + (c |e|^2 / 2 + floor) 1) y = e - A d

with damping that vanishes with the error (Sugihara 2011, IEEE T-RO 27(5)), so that the last steps converge
quadratically. ``d`` is zero, or the way back to the start where the solution nearest to it is wanted. A joint whose
step would cross a limit goes to that limit, and the step is solved again for the rest.
"""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel
from flexarm_core.ik_redundancy.chain import rotation_error, tool_kinematics
from flexarm_core.ik_redundancy.newton_step import FLOOR, HIGH, LOW, LOWER, SCALE, UPPER, damped_step, weigh
from flexarm_core.robot.kinematic_chain import PRISMATIC
from flexarm_core.types import Array

ATTEMPT, SLIDE, APPROACH = range(3)  # what steps are for: the pose, the start along the solutions, the nearest pose
DAMPING = 0.1  # c: between 0.03 and 0.3 the number of steps hardly changes
# An attempt that has not brought the squared error down to this part in so many steps lies at a local minimum or before
# limits: beginning anew is cheaper than waiting.
STALL_STEPS, STALL_PART = 4, 0.5
# Where only the nearest pose is left to find, steps uphill are taken back and shortened: far from a pose out of reach
# the system knows too little of the curvature.
APPROACH_STEPS, APPROACH_PART = 200, 1.0 - 1e-6
SLIDE_STEPS = 40  # along the solutions towards the start
SETTLED = 1e-4  # [rad] slides end when their steps are below this


def work_size(n: int) -> int:
    """Length of the vector in which :func:`search` works."""
    return 12 * n + 63


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
    """Joints at which the tool has the pose.

    Args:
        links: of the chain.
        joints: (5, n) by joint: motion that counts as 1 (1 rad, or so many metres); lower and upper position limit;
            lower and upper limit during the search, infinite for joints that may end a whole turn from there.
        trials: (r, n) in [0, 1): where restarts begin between the limits.
        start: (n,) where the first attempt begins, outside the limits: at the limit [rad | m].
        position: (3,) wanted [m].
        rotation: (3, 3) wanted.
        weight: (6,) of the rows of the error, 0 where not wanted.
        tolerance: (2,) [m, rad].
        candidates: number of attempts of whose solutions the nearest to the start is taken; 1: the first solution.
        steps: largest number of steps of an attempt.
        work: of ``work_size(n)``, anything.
        result: (n,) joints found, or those where the pose is nearest.
        errors: (2,) there, of the wanted rows [m, rad].

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
                if low == -math.inf or high == math.inf:
                    low = max(low, origin[i] - math.pi * joints[SCALE, i])
                    high = min(high, origin[i] + math.pi * joints[SCALE, i])
                q[i] = low + (high - low) * trials[attempt - 1, i]
        attempt += 1
        reached, count, value = _descend(
            links, joints, origin, position, rotation, weight, tolerance, ATTEMPT, steps, q, rest
        )
        total += count
        if reached:
            value = _to_limits(links, joints, origin, q)
            if candidates > 1:
                for i in range(n):
                    slid[i] = q[i]
                slid_reached, count, _ = _descend(
                    links, joints, origin, position, rotation, weight, tolerance, SLIDE, SLIDE_STEPS, slid, rest
                )
                total += count
                slid_value = _to_limits(links, joints, origin, slid)
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
        _to_limits(links, joints, origin, result)
    _measure(links, result, position, rotation, weight, rest, errors)
    return found, attempt, total


@kernel
def _to_limits(links: Array, joints: Array, start: Array, q: Array) -> float:
    """Turn joints by whole turns to within their limits, as near to the start as can be; its squared distance."""
    turn, distance = 2.0 * math.pi, 0.0
    for i in range(q.shape[0]):
        lower, upper = joints[LOWER, i], joints[UPPER, i]
        if links[i, 12] != PRISMATIC and joints[HIGH, i] - joints[LOW, i] == math.inf:
            q[i] += turn * math.floor((start[i] - q[i]) / turn + 0.5)
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
    """Distance and angle, of the wanted rows, between the pose at ``q`` and the wanted one, into ``errors`` (2,)."""
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
    """Steps from ``q``, in place, until the pose is reached, the error falls no more or the steps are spent.

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
        if value > last and mode == APPROACH:  # too far: back, and on with a shorter step
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
