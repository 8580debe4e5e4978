"""One sample of the control laws of the vibration controller, compiled; for the laws see the module ``controller``."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import allocating_kernel, inlined_kernel
from flexarm_core.kernels.rotations import pose_error
from flexarm_core.reaction_null_space.coupling.null_space import invert_damped
from flexarm_core.reaction_null_space.coupling.small_matrices import (
    cholesky_semidefinite,
    product,
    solve_definite,
    times,
)
from flexarm_core.reaction_null_space.vibration.arm_dynamics import (
    Arm,
    ArmMotion,
    equation_of_motion,
    tool_motion,
    view_arm,
    wrench_on_base,
)
from flexarm_core.reaction_null_space.vibration.law_memory import (
    JOINT_GOAL,
    REACTIONLESS,
    RESOLVED_ACCELERATION,
    TOOL_GOAL,
    TORQUE,
    UNKNOWN,
    Constants,
    Inputs,
    Observed,
    Outputs,
    Settings,
    State,
    view_constants,
    view_sample,
    view_settings,
    view_state,
)
from flexarm_core.reaction_null_space.vibration.led_joints import lead, take
from flexarm_core.reaction_null_space.vibration.load_observer import advance, begin_gently, find, forget, integrate
from flexarm_core.reaction_null_space.vibration.motion_bounds import LimitedJoints, bound_motion
from flexarm_core.reaction_null_space.vibration.posture_terms import (
    base_acceleration,
    coupled_inertia,
    damping_of,
    floating,
    floating_response,
    giving_way,
    select,
    yielded_inertia,
    yielding_inertia,
)
from flexarm_core.types import Array

DONE, TOO_FAR, NO_FRAME, NOT_FINITE = range(4)  # status of a sample
REST_BANDWIDTH = 2.0  # [rad/s] bandwidth of load estimation when the arm is held at rest and no bandwidth is configured
LAG = 0.5  # largest bandwidth of the observer of the base, times the sampling period
LOAD_SHARE = 0.5  # largest share of the motor efforts that an unknown load may take
SHORTEST = 1e-4  # [s] least time over which expected motions are integrated
SLOWEST = 0.02  # [m/s] least unattainable part of the tool correction velocity that counts
TURN = 3.0  # [rad/m] orientation error that counts as much as 1 m of position error


class Coupling(NamedTuple):
    """Selected base motions at the posture of the sample."""

    L: Array  # (m, m) Cholesky factor of H_b
    load: Array  # (m,) base forces at zero joint accelerations
    rows: Array  # (k, m) S
    damping: Array  # (k, m) ``S H_b G_b``
    inverse: Array  # (n, k) damped inverse of ``S H_bm``
    space: Array  # (rank, n) orthonormal rows that span the row space of ``S H_bm``
    scale: float  # largest damping factor of the inverse
    floats: bool  # whether directions of the base give way freely
    gives: Array  # (m, n) their deceleration per joint acceleration


class Motion(NamedTuple):
    """Joint accelerations (n,) that the goal changes."""

    acceleration: Array  # of the law
    particular: Array  # of the law without a goal, which does not change
    feedback: Array  # part of the acceleration due to the base feedback; computed if there are limits
    along: Array  # per unit of the rate change r' of the path clock; computed if there are limits
    compensated: Array  # deficits due to an unknown load that the efforts compensate


@allocating_kernel
def step(
    arm: Array, structure: NDArray[np.int64], constants: Array, settings: Array, state: Array, sample: Array
) -> int:
    """Compute one sample; for the arrays see :mod:`arm_dynamics` and :mod:`law_memory`.

    Returns:
        DONE; TOO_FAR: the joints are too far from the reference of their servos, which starts again; NO_FRAME: the
        frame of the tool goal is unknown; NOT_FINITE: the results are not finite. All but DONE leave no result.
    """
    a, c, s = view_arm(arm, structure), view_constants(constants), view_settings(settings)
    kept, now = view_state(state, c.n, c.m), view_sample(sample, c.n, c.m, c.selected)
    x, out = now.inputs, now.outputs
    if not s.led:
        kept.led[0] = 0.0
        x.position[:], x.velocity[:] = x.measured_position, x.measured_velocity
    elif not lead(s, x, kept):
        return TOO_FAR
    if s.goal == TOOL_GOAL and x.absolute[0] == UNKNOWN:
        return NO_FRAME
    _find_terms(a, c, s, x)
    _find_load(c, s, x, kept)
    _follow(c, s, x, kept, out)
    if not _finish(a, x, out):
        return NOT_FINITE
    if s.led:
        take(x, out.acceleration, kept)
    if c.bounded:
        advance(_joints_load(kept), out.acceleration - out.uncompensated, max(x.since_last[0], SHORTEST))
    advance(_base_load(kept), out.observed, max(x.since_last[0], SHORTEST))
    return DONE


@inlined_kernel
def _find_terms(a: Arm, c: Constants, s: Settings, x: Inputs) -> None:
    """Compute the equation of motion and the tool; joint servos follow a reference on an undeflected base."""
    bent, rate = x.deflection.copy(), x.deflection_rate.copy()
    for i in range(a.m):
        if s.led and c.K_b[i, i] > 0.0:
            bent[i], rate[i] = 0.0, 0.0
    equation_of_motion(a, ArmMotion(x.position, x.velocity, bent, rate), x.terms)
    if s.goal == TOOL_GOAL:
        moving = ArmMotion(x.position, x.velocity, x.deflection, x.deflection_rate)
        tool_motion(a, moving, x.absolute[0] > 0.0, x.tool)


@inlined_kernel
def _joints_load(kept: State) -> Observed:
    return Observed(kept.joints_known, kept.joints_lacking, kept.joints_position, kept.joints_velocity)


@inlined_kernel
def _base_load(kept: State) -> Observed:
    return Observed(kept.base_known, kept.base_lacking, kept.base_position, kept.base_velocity)


@inlined_kernel
def _find_load(c: Constants, s: Settings, x: Inputs, kept: State) -> None:
    """Find what joint servos must add because of an unknown load, and the deficits of the joints."""
    x.carrying[:], x.lacking[:] = 0.0, 0.0
    if not c.bounded:
        return
    joints, bandwidth = _joints_load(kept), s.load_bandwidth
    if x.forgets[0] > 0.0:
        forget(joints)
    most = np.empty(c.n)
    for i in range(c.n):
        most[i] = LOAD_SHARE * c.limits[3, i] / x.terms.H_m[i, i]
    if not s.led:
        w = bandwidth if bandwidth > 0.0 else x.watched[0]
        find(joints, x.measured_position, x.measured_velocity, w, most)
        x.lacking[:] = joints.lacking
    elif bandwidth > 0.0 or s.rests:
        # a tenth of Routh's stability bound k_i < k_p k_d, because the model does not include the unknown load
        bound = min(bandwidth if bandwidth > 0.0 else REST_BANDWIDTH, 0.1 * s.servo_velocity_gain)
        gain = bound * s.servo_position_gain * x.since_last[0]
        integrate(joints, gain, x.position - x.measured_position, most)
        x.carrying[:] = joints.lacking


@inlined_kernel
def _finish(a: Arm, x: Inputs, out: Outputs) -> bool:
    """Write the wrench on the base and the motion at which the law was evaluated; return whether all is finite."""
    moving = ArmMotion(x.measured_position, x.measured_velocity, x.deflection, x.deflection_rate)
    wrench_on_base(a, moving, out.acceleration, out.base, out.wrench)
    total = 0.0
    for i in range(a.n):
        out.position[i], out.velocity[i] = x.position[i], x.velocity[i]
        total += 0.0 * out.acceleration[i] + 0.0 * out.effort[i]
    for i in range(a.m):
        total += 0.0 * out.base[i]
    return total == 0.0


@inlined_kernel
def _follow(c: Constants, s: Settings, x: Inputs, kept: State, out: Outputs) -> None:
    """Evaluate the law."""
    H_b, H_bm, H_m = x.terms.H_b, x.terms.H_bm, x.terms.H_m
    coupling = _couple(c, s, x, kept, out)
    L, load, inverse = coupling.L, coupling.load, coupling.inverse
    out.damping[0], out.restricted[0], out.lost[0] = coupling.scale, 0.0, 0.0

    fed = _base_feedback(c, s, x, coupling)
    requested = -s.joint_damping * x.velocity
    if s.law != RESOLVED_ACCELERATION:
        if coupling.floats:  # no spring would bring back what joint damping moves
            requested -= _within(coupling.space, requested)
        requested += times(inverse, _bias(s, x, coupling) + fed)
    particular, feedback, still = requested, times(inverse, fed), np.zeros(c.n)
    yields = s.law == TORQUE and not s.led
    free_inertia, drift = np.empty((0, 0)), np.empty(0)
    if yields:
        free_inertia = H_m - coupled_inertia(L, H_bm)
        drift = -times(H_bm.T, base_acceleration(L, H_bm, load, still))
        particular = solve_definite(free_inertia, times(H_m, requested) + drift)
        feedback = solve_definite(free_inertia, times(H_m, feedback))
    compensated = x.lacking.copy() if c.weighs or s.wholly else still.copy()
    motion = Motion(particular.copy(), particular, feedback, np.zeros(c.n), compensated)
    if s.goal == JOINT_GOAL:
        _follow_joints(c, s, x, coupling, motion)
    elif s.goal == TOOL_GOAL:
        _follow_tool(c, s, x, coupling, motion, out)
    acceleration = motion.acceleration
    effort = np.empty(0)
    if yields:
        effort = times(H_m, requested + acceleration - particular)
        acceleration = solve_definite(free_inertia, effort + drift)  # includes the effect of unselected directions

    driven = H_m - product(H_bm.T, coupling.gives) if coupling.floats else H_m  # by joint servos
    inertia = H_m - coupled_inertia(L, H_bm)
    if s.led and coupling.floats and s.law == RESOLVED_ACCELERATION:
        inertia = driven
    elif s.led:
        inertia = yielding_inertia(H_b, H_bm, driven, coupling.rows)
    served = times(inertia, _servo(s, x) + motion.compensated)
    out.uncompensated[:] = x.lacking - motion.compensated
    if c.bounded:
        biased = x.terms.c_m + c.D_m * x.velocity + served
        if not s.led:
            biased = biased + times(H_bm.T, base_acceleration(L, H_bm, load, still))
        quiet = times(inverse, -times(coupling.rows, x.terms.dH_bm_qd)) if s.law == REACTIONLESS else still
        joints = LimitedJoints(
            x.position, x.velocity, c.limits, driven if s.led else inertia, biased, out.uncompensated,
            x.approach_time[0],
        )  # fmt: skip
        out.bounding[0], out.bounding[1], out.bounding[2], out.bounding[3] = bound_motion(
            acceleration, motion.along, motion.feedback, quiet, joints, x.rate_change
        )
    if s.led:
        effort = times(driven, acceleration) + served
        if s.law == TORQUE:
            kept.gives[:] = giving_way(H_bm, H_m, coupling.rows, c.K_b)
    elif yields and c.bounded:
        effort = times(free_inertia, acceleration) - drift + served
    elif not yields:
        effort = times(H_m, acceleration) + times(H_bm.T, base_acceleration(L, H_bm, load, acceleration)) + served
    out.acceleration[:] = acceleration
    out.effort[:] = effort + x.terms.c_m + c.D_m * x.velocity
    expected = acceleration - out.uncompensated
    out.base[:] = base_acceleration(L, H_bm, load, expected)
    out.observed[:] = base_acceleration(L, H_bm, load, acceleration)  # a base that differs makes joints yield, too
    out.reaction[:] = -times(H_bm, expected) - x.terms.dH_bm_qd
    out.momentum[:] = times(H_bm, x.measured_velocity)
    out.rank[0] = coupling.space.shape[0]


@inlined_kernel
def _couple(c: Constants, s: Settings, x: Inputs, kept: State, out: Outputs) -> Coupling:
    """Compute the coupling; write its singular values to ``out``."""
    H_b, H_bm, H_m = x.terms.H_b, x.terms.H_bm, x.terms.H_m
    L = np.empty((c.m, c.m))
    load = times(c.K_b, x.deflection) + times(c.D_b, x.deflection_rate) + x.terms.c_b
    cholesky_semidefinite(H_b, L)
    _observe_base(s, x, kept)
    load += x.base_lacking
    rows, damping = select(H_b, c.K_b, c.S, c.selected if c.soft else 0, s.damping_ratio, s.vibration_gain)
    held = product(product(rows, H_b), rows.T)
    threshold = s.coupling_threshold * math.sqrt(np.trace(held) * np.trace(H_m))
    inverse, row_space = np.zeros((c.n, c.selected)), np.empty((min(c.selected, c.n), c.n))
    coupled = product(rows, H_bm)
    rank, scale = invert_damped(coupled, threshold, threshold, inverse, row_space, out.singular_values)
    free = floating(c.K_b, np.empty((0, c.m)) if s.law == RESOLVED_ACCELERATION else c.S)
    floats = free.shape[0] > 0 and (s.law == RESOLVED_ACCELERATION or not c.soft)
    gives = floating_response(H_b, H_bm, free) if floats else np.empty((0, 0))
    return Coupling(L, load, rows, damping, inverse, row_space[:rank], scale, floats, gives)


@inlined_kernel
def _observe_base(s: Settings, x: Inputs, kept: State) -> None:
    """Find the force on the base that the model does not contain: wrong springs, dampers and masses, pushes, loads.

    A force f changes the acceleration of the base by ``-H_b^-1 f`` where servos make the joints move as commanded, and
    by ``-M^-1 f`` with the effective inertia M where the joints yield. The right one gives the observer its bandwidth.
    """
    base, dt = _base_load(kept), x.since_last[0]
    x.base_lacking[:] = 0.0
    if s.base_bandwidth <= 0.0 or dt <= 0.0:
        forget(base)
        return
    bandwidth = min(s.base_bandwidth, LAG / dt)
    find(base, x.deflection, x.deflection_rate, bandwidth, np.full(x.deflection.shape[0], np.inf))
    begin_gently(base, bandwidth, dt)
    inertia = x.terms.H_b if s.led else x.terms.H_b - yielded_inertia(x.terms.H_bm, x.terms.H_m)
    x.base_lacking[:] = times(inertia, base.lacking)


@inlined_kernel
def _bias(s: Settings, x: Inputs, coupling: Coupling) -> Array:
    """Return what ``S H_bm qdd`` (k,) must be for the selected motions to feel no bias forces."""
    if s.law == REACTIONLESS and not coupling.floats:
        return -times(coupling.rows, x.terms.dH_bm_qd)
    return times(coupling.rows, x.terms.weight - x.terms.c_b)


@inlined_kernel
def _base_feedback(c: Constants, s: Settings, x: Inputs, coupling: Coupling) -> Array:
    """Return the part (k,) of ``S H_bm qdd`` that damps the selected motions."""
    if not s.damped or x.damps[0] == 0.0 or s.law == RESOLVED_ACCELERATION:
        return np.zeros(c.selected)
    if s.law == REACTIONLESS:
        return times(coupling.damping, x.deflection_rate)
    rows = coupling.rows
    K = product(product(rows, c.K_b), rows.T)
    modal = solve_definite(K, times(product(rows, c.K_b), x.deflection_rate))
    if s.vibration_gain > 0.0:
        return s.vibration_gain * modal
    M = product(product(rows, x.terms.H_b - yielded_inertia(x.terms.H_bm, x.terms.H_m)), rows.T)
    return times(damping_of(M, K, s.damping_ratio), modal)


@inlined_kernel
def _servo(s: Settings, x: Inputs) -> Array:
    """Return the accelerations (n,) that the joint servos request; 0 without joint servos."""
    if not s.led:
        return np.zeros(x.position.shape[0])
    lag = _pull(
        s.servo_position_gain, s.servo_velocity_gain, x.position, x.velocity, x.measured_position, x.measured_velocity
    )
    return lag + x.carrying


@allocating_kernel
def _pull(
    stiffness: float, damping: float, goal: Array, goal_velocity: Array, position: Array, velocity: Array
) -> Array:
    """Return accelerations ``d (qd_r - qd) + k (q_r - q)`` (n,) that drive joints to a reference."""
    return damping * (goal_velocity - velocity) + stiffness * (goal - position)


@inlined_kernel
def _towards_joints(x: Inputs, stiffness: float, damping: float) -> Array:
    """Return accelerations (n,) that drive the joints to their reference, on the path clock."""
    rate = x.rate[0]
    pull = _pull(stiffness, damping, x.joint_position, rate * x.joint_velocity, x.position, x.velocity)
    return pull + rate * rate * x.joint_acceleration


@allocating_kernel
def _within(space: Array, vector: Array) -> Array:
    """Return the projection of a vector (n,) onto orthonormal rows (r, n)."""
    return times(space.T, times(space, vector))


@inlined_kernel
def _follow_joints(c: Constants, s: Settings, x: Inputs, coupling: Coupling, motion: Motion) -> None:
    """Add the joint goal to the motion."""
    if not s.wholly:
        motion.compensated[:] = _within(coupling.space, motion.compensated) if s.projected else np.zeros(c.n)
    extra, total = _towards_joints(x, s.position_gain, s.velocity_gain), x.absolute[0] > 0.0
    if total:
        extra = extra - motion.particular
    if s.projected:
        extra -= _within(coupling.space, extra)
    motion.acceleration[:] += extra
    if not c.bounded:
        return
    if total:
        motion.feedback[:] = _within(coupling.space, motion.feedback) if s.projected else np.zeros(c.n)
    motion.along[:] = x.joint_velocity
    if s.projected:
        motion.along[:] -= _within(coupling.space, x.joint_velocity)


class ToolTask(NamedTuple):
    """The a tracked axes of the tool."""

    wish: Array  # (a,) ``xdd_d + G_d ed + G_p e - dJ v``
    heading: Array  # (a,) velocity of the path at rate 1
    correction: Array  # (a,) velocity at which the tool is brought back to its path
    J_m: Array  # (a, n)
    J_b: Array  # (a, m)


@inlined_kernel
def _tool_task(s: Settings, x: Inputs, out: Outputs) -> ToolTask:
    """Return the task of the tracked axes; write the tool error to ``out``."""
    a = 0
    for i in range(6):
        a += int(x.axes[i])
    n, m, rate = x.tool.J_m.shape[1], x.tool.J_b.shape[1], x.rate[0]
    wish, heading, correction, J_m, J_b = np.empty(a), np.empty(a), np.empty(a), np.empty((a, n)), np.empty((a, m))
    error, square, a = np.empty(6), 0.0, 0
    pose_error(x.goal_position, x.goal_rotation, x.tool.position, x.tool.rotation, error)
    for i in range(6):
        if x.axes[i] == 0.0:
            continue
        damping = s.velocity_gain * (rate * x.goal_velocity[i] - x.tool.twist[i])
        wish[a] = rate * rate * x.goal_acceleration[i] + damping + s.position_gain * error[i] - x.tool.bias[i]
        heading[a] = x.goal_velocity[i]
        correction[a] = error[i] * (s.position_gain / max(s.velocity_gain, 1.0))
        J_m[a], J_b[a] = x.tool.J_m[i], x.tool.J_b[i]
        square += (error[i] / (TURN if i >= 3 else 1.0)) ** 2
        a += 1
    out.distance[0] = math.sqrt(square)
    return ToolTask(wish, heading, correction, J_m, J_b)


@inlined_kernel
def _follow_tool(c: Constants, s: Settings, x: Inputs, coupling: Coupling, motion: Motion, out: Outputs) -> None:
    """Add the tool goal to the motion, and the posture in the directions that it leaves free."""
    task = _tool_task(s, x, out)
    a, J, space = task.wish.shape[0], task.J_m.copy(), coupling.space
    if coupling.floats and x.absolute[0] > 0.0:
        J -= product(task.J_b, coupling.gives)  # generalized Jacobian
    asked, norm = task.wish - times(task.J_m, motion.particular), 0.0
    if x.absolute[0] > 0.0:
        asked -= times(task.J_b, base_acceleration(coupling.L, x.terms.H_bm, coupling.load, motion.particular))
    for i in range(a):
        for j in range(c.n):
            norm += J[i, j] * J[i, j]
    if s.projected:
        J -= product(product(J, space.T), space)
    small = s.tool_threshold * math.sqrt(norm)
    back, rows, restrictions = np.zeros((c.n, a)), np.empty((min(a, c.n), c.n)), np.empty(min(a, c.n))
    rank, scale = invert_damped(J, small, small, back, rows, restrictions)
    tool_space = rows[:rank]
    out.damping[0] = max(out.damping[0], scale)
    # At most n - rank(H_bm) tracked axes can be served; for any others J is singular by dimension, not by posture.
    served = min(max(c.n - (space.shape[0] if s.projected else 0), 1), min(a, c.n))
    out.restricted[0] = restrictions[served - 1] if served else 0.0
    motion.acceleration[:] += times(back, asked)
    if not s.wholly:
        motion.compensated[:] -= _within(tool_space, motion.compensated)
    if c.bounded:
        felt = times(task.J_m, motion.feedback)
        if x.absolute[0] > 0.0:
            felt += times(task.J_b, base_acceleration(coupling.L, x.terms.H_bm, np.zeros(c.m), motion.feedback))
        motion.feedback[:] -= times(back, felt)
        if s.posture_gain > 0.0:
            left = motion.feedback.copy()
            if s.projected:
                left -= _within(space, left)
            left -= _within(tool_space, left)
            motion.feedback[:] -= left
        motion.along[:] = times(back, task.heading)
        lost, uncorrected = _share_lost(J, back, task.heading, 1e-9), _share_lost(J, back, task.correction, SLOWEST)
        out.lost[0] = max(lost, uncorrected)
    if s.posture_gain > 0.0:
        extra = _towards_joints(x, s.posture_gain, 2.0 * math.sqrt(s.posture_gain)) - motion.acceleration
        if s.projected:
            extra -= _within(space, extra)
        extra -= _within(tool_space, extra)
        motion.acceleration[:] += extra


@allocating_kernel
def _share_lost(J: Array, back: Array, velocity: Array, least: float) -> float:
    """Return the share of a tool velocity (a,) that the joints cannot attain, 0 if that part is below ``least``."""
    missed, had = 0.0, times(J, times(back, velocity))
    for i in range(velocity.shape[0]):
        missed += (velocity[i] - had[i]) ** 2
    missed, whole = math.sqrt(missed), math.sqrt(np.dot(velocity, velocity))
    return missed / whole if missed > least else 0.0
