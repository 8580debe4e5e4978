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
from typing import Annotated, NamedTuple

from flexarm_core.compiled import inlined_kernel, kernel, views
from flexarm_core.ik_redundancy.chain import tool_kinematics
from flexarm_core.ik_redundancy.newton_step import FLOOR, StepMemory, damped_step, slide, weigh
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.robot.kinematic_chain import COLUMNS
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


class Arm(NamedTuple):
    """Arm and settings of the search."""

    n: int  # number of joints
    rows: int  # number of rows of ``links``
    restarts: int  # number of start positions of restarts
    candidates: int  # number of attempts among whose solutions the nearest to the start is chosen; 1: first solution
    steps: int  # maximum number of steps per attempt
    tolerance: Annotated[Array, 2]  # [m, rad]
    scale: Annotated[Array, "n"]  # motion that counts as 1 (1 rad, or a length in meters)
    limits: Annotated[Array, 2, "n"]  # lower and upper position limits
    # limits during the search, infinite for joints that may be shifted by full turns afterwards
    search: Annotated[Array, 2, "n"]
    endless: Annotated[Array, "n"]  # whether the joint may be
    links: Annotated[Array, "rows", COLUMNS]  # of the chain
    trials: Annotated[Array, "restarts", "n"]  # in [0, 1): start positions of restarts, relative to the limits


view_arm = views(Arm)


class Goal(NamedTuple):
    """Desired pose, and where the search for it starts."""

    position: Annotated[Array, 3]  # desired position [m]
    rotation: Annotated[Array, 3, 3]  # desired rotation
    weight: Annotated[Array, 6]  # weights of the error rows, 0 for free axes
    start: Annotated[Array, "n"]  # start of the first attempt; the search clips it to the limits [rad | m]


view_goal = views(Goal, "n")


class Memory(NamedTuple):
    """Work array of the search."""

    q: Annotated[Array, "n"]  # joint positions of an attempt
    slid: Annotated[Array, "n"]  # those moved along the solutions to the start
    near: Annotated[Array, "n"]  # those shifted by full turns
    bounds: Annotated[Array, 2, "n"]  # limits of joints that reached one
    kept: Annotated[Array, "n"]  # joint positions before a step
    p: Annotated[Array, 3]  # tool position [m]
    R: Annotated[Array, 3, 3]  # tool rotation
    vector: Annotated[Array, 3]  # rotation error [rad]
    step: StepMemory


view_memory = views(Memory, "n")


@kernel
def search(constants: Array, wanted: Array, work: Array, result: Array) -> tuple[bool, int, int, float, float]:
    """Find joint positions at which the tool has the pose.

    Args:
        constants: see :class:`Arm`.
        wanted: see :class:`Goal`; the start is changed.
        work: see :class:`Memory`.
        result: (n,) output: joint positions of the solution, or of the nearest pose found.

    Returns:
        Whether the pose is reached, number of attempts, number of steps, errors of the controlled rows at the result
        [m, rad].
    """
    arm, n = view_arm(constants), result.shape[0]
    goal, m = view_goal(wanted, n), view_memory(work, n)
    start, q, slid = goal.start, m.q, m.slid
    found, best, total, attempt = False, math.inf, 0, 0
    for i in range(n):
        start[i] = min(max(start[i], arm.limits[0, i]), arm.limits[1, i])
        q[i] = start[i]
    while attempt <= arm.restarts and not (found and attempt >= arm.candidates):
        if attempt > 0:
            for i in range(n):
                low, high = arm.search[0, i], arm.search[1, i]
                if low == -math.inf or high == math.inf or not arm.endless[i]:
                    low = max(low, start[i] - math.pi * arm.scale[i])
                    high = min(high, start[i] + math.pi * arm.scale[i])
                q[i] = low + (high - low) * arm.trials[attempt - 1, i]
        attempt += 1
        reached, count, value = _descend(arm, goal, ATTEMPT, arm.search, q, m)
        total += count
        if reached:
            count, value = _into_limits(arm, goal, q, m)
            total += count
            if arm.candidates > 1:
                for i in range(n):
                    slid[i] = q[i]
                slid_reached, count, _ = _descend(arm, goal, SLIDE, arm.limits, slid, m)
                total += count
                more, slid_value = _into_limits(arm, goal, slid, m)
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
        found, count, _ = _descend(arm, goal, APPROACH, arm.search, result, m)
        total += count
        _to_limits(arm, start, result)
    distance, angle = _measure(arm, goal, result, m)
    return found, attempt, total, distance, angle


@kernel
def _into_limits(arm: Arm, goal: Goal, q: Array, m: Memory) -> tuple[int, float]:
    """Shift joints by full turns into their limits, nearest to the start.

    Where the search ended beyond a limit, it also goes on with this limit, and the result nearer to the start counts: a
    joint at its limit may only have gone along with the others, or beyond it by rounding.

    Returns:
        Number of further steps, squared distance to the start.
    """
    n, taken, near, start = q.shape[0], 0, m.near, goal.start
    for i in range(n):
        near[i], m.bounds[0, i], m.bounds[1, i] = q[i], arm.search[0, i], arm.search[1, i]
    beyond = False
    for i in range(n):
        if _is_endless(arm, i):
            near[i] = _nearest_turn(q[i], start[i])
            inside = min(max(near[i], arm.limits[0, i]), arm.limits[1, i])
            beyond = beyond or near[i] != inside
            near[i], m.bounds[0, i], m.bounds[1, i] = inside, arm.limits[0, i], arm.limits[1, i]
    value = _to_limits(arm, start, q)
    if beyond:
        reached, taken, _ = _descend(arm, goal, ATTEMPT, m.bounds, near, m)
        distance = _to_limits(arm, start, near)
        if reached and distance < value:
            value = distance
            for i in range(n):
                q[i] = near[i]
    return taken, value


@inlined_kernel
def _is_endless(arm: Arm, i: int) -> bool:
    """Return whether a joint may be shifted by full turns."""
    return arm.endless[i] > 0.0 and arm.search[1, i] - arm.search[0, i] == math.inf


@kernel
def _nearest_turn(q: float, start: float) -> float:
    """Return a position in the turn that is nearest to the start."""
    return q + 2.0 * math.pi * math.floor((start - q) / (2.0 * math.pi) + 0.5)


@kernel
def _to_limits(arm: Arm, start: Array, q: Array) -> float:
    """Shift joints by full turns into their limits, nearest to the start; return the squared distance to the start."""
    turn, distance = 2.0 * math.pi, 0.0
    for i in range(q.shape[0]):
        lower, upper = arm.limits[0, i], arm.limits[1, i]
        if _is_endless(arm, i):
            q[i] = _nearest_turn(q[i], start[i])
            if q[i] > upper:
                q[i] -= turn * math.ceil((q[i] - upper) / turn)
            elif q[i] < lower:
                q[i] += turn * math.ceil((lower - q[i]) / turn)
        q[i] = min(max(q[i], lower), upper)
        distance += ((q[i] - start[i]) / arm.scale[i]) ** 2
    return distance


@inlined_kernel
def _measure(arm: Arm, goal: Goal, q: Array, m: Memory) -> tuple[float, float]:
    """Return distance and angle (controlled rows only) from the pose at ``q`` to the desired pose."""
    tool_kinematics(arm.links, q, m.p, m.R, m.step.J)
    rotation_error(goal.rotation, m.R, m.vector)
    distance, angle = 0.0, 0.0
    for r in range(3):
        if goal.weight[r] > 0.0:
            distance += (goal.position[r] - m.p[r]) ** 2
        if goal.weight[r + 3] > 0.0:
            angle += m.vector[r] ** 2
    return math.sqrt(distance), math.sqrt(angle)


@kernel
def _descend(arm: Arm, goal: Goal, mode: int, bounds: Array, q: Array, m: Memory) -> tuple[bool, int, float]:
    """Iterate ``q`` in place until the pose is reached, the error stalls or the maximum number of steps is reached.

    Args:
        arm: the arm.
        goal: the pose.
        mode: ATTEMPT, SLIDE or APPROACH.
        bounds: (2, n) limits during the iteration.
        q: (n,) joint positions.
        m: work array.

    Returns:
        Whether the pose is reached, number of steps, half the squared error.
    """
    n, weight, position, e, kept = q.shape[0], goal.weight, goal.position, m.step.e, m.kept
    steps = arm.steps if mode == ATTEMPT else SLIDE_STEPS if mode == SLIDE else APPROACH_STEPS
    stall_part = STALL_PART if mode == ATTEMPT else APPROACH_PART
    mark, last, value, step_size, more, taken, due = math.inf, math.inf, math.inf, math.inf, 1.0, 0, 0
    for step in range(steps + 1):
        tool_kinematics(arm.links, q, m.p, m.R, m.step.J)
        rotation_error(goal.rotation, m.R, m.vector)
        distance, angle = 0.0, 0.0
        for r in range(3):
            e[r] = weight[r] * (position[r] - m.p[r])
            e[r + 3] = weight[r + 3] * m.vector[r]
            if weight[r] > 0.0:
                distance += (position[r] - m.p[r]) ** 2
            angle += e[r + 3] * e[r + 3]
        value = 0.0
        for r in range(6):
            value += 0.5 * e[r] * e[r]
        reached = distance <= arm.tolerance[0] ** 2 and angle <= arm.tolerance[1] ** 2
        if reached and (mode != SLIDE or step_size < SETTLED):
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
                kept[i], m.step.dq[i] = q[i], 0.0
            weigh(arm.scale, weight, m.vector, m.step.J)
            if mode == SLIDE:
                slide(arm.scale, goal.start, q, m.step)
            step_size = damped_step(arm.scale, bounds, more * DAMPING * value + FLOOR, q, m.step)
    return False, steps, value
