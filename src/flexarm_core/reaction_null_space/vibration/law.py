"""One sample of the control laws of the vibration controller, compiled; for the laws see the module ``controller``.

The symbols are those of ``controller`` and ``torque_law``. With ``load = D_b xd_b + K_b x_b + c_b`` the base
acceleration is ``xdd_b = -H_b^-1 (load + H_bm qdd)``. Elimination of ``xdd_b`` gives, for joint efforts
``H_m a + c_m + D_m qd``,

    (H_m - H_bm^T H_b^-1 H_bm) qdd = H_m a + H_bm^T H_b^-1 load
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.reaction_null_space.coupling.base_modes import find_modes
from flexarm_core.reaction_null_space.coupling.null_space import invert_damped
from flexarm_core.reaction_null_space.coupling.small_matrices import (
    backward,
    cholesky,
    forward,
    product,
    solve_definite,
    times,
)
from flexarm_core.reaction_null_space.vibration.motion_bounds import bound_motion
from flexarm_core.types import Array

REACTIONLESS, TORQUE, RESOLVED_ACCELERATION = 0, 1, 2
SLOWEST = 0.02  # [m/s] least unattainable part of the tool correction velocity that counts
NO_GOAL, FREE_GOAL, TOOL_GOAL = 0, 1, 2  # no goal, joint accelerations, tool acceleration


@kernel
def damping_of(H: Array, K: Array, damping_ratio: float) -> Array:
    """Return ``H G = H V diag(2 zeta w) V^T H`` (k, k) for a base with inertia H and stiffness K (k, k)."""
    k = H.shape[0]
    frequencies, shapes = np.empty(k), np.empty((k, k))
    find_modes(H, K, frequencies, shapes)
    momenta = product(shapes.T, H)
    D = np.zeros((k, k))
    for mode in range(k):
        rate = 2.0 * damping_ratio * frequencies[mode]
        for i in range(k):
            for j in range(k):
                D[i, j] += momenta[mode, i] * rate * momenta[mode, j]
    return D


@kernel
def select(H_b: Array, K_b: Array, S: Array, soft: int, damping_ratio: float, literal_gain: float) -> Any:
    """Return the selected motions at one posture: rows S (k, m) and their damping ``S H_b G_b`` (k, m).

    Args:
        H_b: (m, m) base inertia.
        K_b: (m, m) base stiffness.
        S: (k, m) given rows; used if ``soft`` is 0.
        soft: number of soft modes to select instead of S; 0: use S.
        damping_ratio: zeta of every selected motion.
        literal_gain: g_b that replaces the damping ratio [1/s]; 0: not used.
    """
    if soft > 0:
        m = H_b.shape[0]
        frequencies, shapes = np.empty(m), np.empty((m, m))
        find_modes(H_b, K_b, frequencies, shapes)
        rows = shapes[:, :soft].T.copy()
        damping = product(rows, H_b)
        for i in range(soft):
            rate = literal_gain if literal_gain > 0.0 else 2.0 * damping_ratio * frequencies[i]
            for j in range(m):
                damping[i, j] *= rate
        return rows, damping
    H = product(product(S, H_b), S.T)
    D = literal_gain * H if literal_gain > 0.0 else damping_of(H, product(product(S, K_b), S.T), damping_ratio)
    return S.copy(), product(D, S)


@kernel
def yielding_inertia(H_b: Array, H_bm: Array, H_m: Array, rows: Array) -> Array:
    """Return the joint inertia (n, n) when motions S (k, m) yield: ``H_m - (S H_bm)^T (S H_b S^T)^-1 S H_bm``."""
    coupled = product(rows, H_bm)
    H = product(product(rows, H_b), rows.T)
    L = np.empty_like(H)
    cholesky(H, L)
    forward(L, coupled)
    return H_m - product(coupled.T, coupled)


@kernel
def base_acceleration(L: Array, H_bm: Array, load: Array, acceleration: Array) -> Array:
    """Return the base acceleration ``-H_b^-1 (load + H_bm qdd)`` (m,) with ``H_b = L L^T``."""
    x = (-load - times(H_bm, acceleration)).reshape(-1, 1)
    forward(L, x)
    backward(L, x)
    return x[:, 0].copy()


@kernel
def giving_way(H_bm: Array, H_m: Array, S: Array, K_b: Array) -> Array:
    """Return the map (n, m) from the base rate to the joint velocity that it causes in joints without effort.

    The map is ``-H_m^-1 H_bm^T S^T (S K_b S^T)^-1 S K_b``; only the selected motions S (k, m) of the base enter.
    """
    SK = product(S, K_b)
    K, L, L_m = product(SK, S.T), np.empty((S.shape[0], S.shape[0])), np.empty_like(H_m)
    cholesky(K, L)
    forward(L, SK)
    backward(L, SK)
    moved = product(H_bm.T, product(S.T, SK))
    cholesky(H_m, L_m)
    forward(L_m, moved)
    backward(L_m, moved)
    return -moved


@kernel
def sample(
    H_b: Array,
    H_bm: Array,
    H_m: Array,
    c_b: Array,
    c_m: Array,
    dH_bm_qd: Array,
    weight: Array,
    K_b: Array,
    D_b: Array,
    D_m: Array,
    S: Array,
    soft: int,
    law: int,
    led: bool,
    damped: bool,
    gains: Array,
    velocity: Array,
    deflection: Array,
    rate: Array,
    servo: Array,
    goal: int,
    wish: Array,
    projected: bool,
    absolute: bool,
    J_m: Array,
    J_b: Array,
    posture: Array,
    heading: Array,
    correction: Array,
    position: Array,
    measured_velocity: Array,
    limits: Array,
    lacking: Array,
    base_lacking: Array,
    carries: bool,
    wholly: bool,
    clock: Array,
    out: Array,
    gives: Array,
    values: Array,
) -> Any:
    """Compute one sample of a control law.

    Args:
        H_b: (m, m) base inertia, block of the equation of motion.
        H_bm: (m, n) inertia coupling.
        H_m: (n, n) arm inertia.
        c_b: (m,) velocity and gravity terms of the base.
        c_m: (n,) velocity and gravity terms of the joints.
        dH_bm_qd: (m,) ``dH_bm/dt qd``.
        weight: (m,) gravity terms of the base rows; used by ``TORQUE``.
        K_b: (m, m) base stiffness.
        D_b: (m, m) base damping.
        D_m: (n,) viscous damping of the joints.
        S: (k, m) selected motions; used if ``soft`` is 0.
        soft: number of soft modes to select.
        law: one of the law codes above.
        led: whether joint servos follow a reference that is integrated from the law (``joint_servo``).
        damped: whether the base feedback is active.
        gains: damping ratio, literal gain, G_m, thresholds of coupling and tool, G_p, G_d.
        velocity: (n,) joint velocities at which the law is evaluated.
        deflection: (m,) measured base deflection.
        rate: (m,) measured base deflection rate.
        servo: (n,) accelerations that the joint servos request; used if ``led``.
        goal: one of the goal codes above.
        wish: ``FREE_GOAL``: (n,) joint accelerations; ``TOOL_GOAL``: (a,) ``xdd_d + G_d ed + G_p e - dJ v`` of the
            tracked axes.
        projected: whether the goal is restricted to the null space.
        absolute: whether ``wish`` is the total acceleration, of the joints (``FREE_GOAL``) or of the tool in the
            inertial frame (``TOOL_GOAL``). If false, ``FREE_GOAL`` adds ``wish`` to the law, and ``TOOL_GOAL`` excludes
            the motion of the base.
        J_m: (a, n) Jacobian of the tracked axes with respect to the joints; used by ``TOOL_GOAL``.
        J_b: (a, m) Jacobian of the tracked axes with respect to the elastic joints; used by ``TOOL_GOAL``.
        posture: (n,) joint accelerations for the directions that ``TOOL_GOAL`` leaves free; empty: only damping there.
        heading: (a,) or (n,) velocity of the path that the goal follows; empty: no path.
        correction: (a,) velocity at which ``TOOL_GOAL`` brings the tool back to its path; used with limits.
        position: (n,) joint positions at which the law is evaluated.
        measured_velocity: (n,) measured joint velocities.
        limits: (4, n) lower and upper position, velocity, effort; (4, 0): the motion is not bounded.
        lacking: (n,) estimated acceleration deficits of the joints due to an unknown load; used with limits.
        base_lacking: (m,) estimated acceleration deficits of the base.
        carries: whether ``lacking`` is compensated in the directions that no feedback of the goal controls.
        wholly: whether ``lacking`` is compensated in all directions.
        clock: (7,) input: wanted, smallest and largest rate change r' of the path clock, time in which a limit is
            approached; output: applied r', share of base feedback, share of the law against braking (see
            ``motion_bounds``).
        out: (6, max(n, m)) output rows: joint accelerations; joint efforts; base acceleration; reaction; coupling
            momentum; joint acceleration deficits that remain uncompensated.
        gives: (n, m) output: the result of :func:`giving_way`, if ``led`` with ``TORQUE``.
        values: (min(k, n),) output: singular values of the coupling.

    Returns:
        Rank of the coupling, largest damping factor, smallest singular value of the restricted Jacobian (0 without a
        tool goal), and the share of the path velocity, or of the path correction, that the tool cannot attain.
    """
    n, m = H_m.shape[0], H_b.shape[0]
    L, load = np.empty((m, m)), times(K_b, deflection) + times(D_b, rate) + c_b + times(H_b, base_lacking)
    cholesky(H_b, L)
    rows, damping = select(H_b, K_b, S, soft, gains[0], gains[1])
    k = rows.shape[0]
    coupled, held = product(rows, H_bm), product(product(rows, H_b), rows.T)
    scale = gains[3] * math.sqrt(np.trace(held) * np.trace(H_m))
    inverse, row_space = np.zeros((n, k)), np.empty((min(k, n), n))
    rank, largest = invert_damped(coupled, scale, scale, inverse, row_space, values)

    said, still = -gains[2] * velocity, np.zeros(n)
    wanted, fed = np.zeros(k), np.zeros(k)
    if law == REACTIONLESS:
        wanted = -times(rows, dH_bm_qd)
        if damped:
            fed = times(damping, rate)
    elif law == TORQUE:
        wanted = times(rows, weight - c_b)
        if damped:
            K = product(product(rows, K_b), rows.T)
            modal = solve_definite(K, times(product(rows, K_b), rate))
            if gains[1] > 0.0:
                fed = gains[1] * modal
            else:
                M = product(product(rows, H_b - _yielded(H_bm, H_m)), rows.T)
                fed = times(damping_of(M, K, gains[0]), modal)
    if law != RESOLVED_ACCELERATION:
        said += times(inverse, wanted + fed)
    particular, yields = said, law == TORQUE and not led
    bounded = limits.shape[1] > 0
    feedback, along, lost = times(inverse, fed), np.zeros(n), 0.0
    moved, pushed = np.empty((0, 0)), np.empty(0)
    if yields:
        moved = H_m - _coupled_inertia(L, H_bm)
        pushed = -times(H_bm.T, base_acceleration(L, H_bm, load, np.zeros(n)))
        particular = solve_definite(moved, times(H_m, said) + pushed)
        feedback = solve_definite(moved, times(H_m, feedback))

    acceleration, restricted = particular.copy(), 0.0
    loose = lacking.copy() if carries or wholly else still
    if goal == FREE_GOAL:
        if not wholly:
            loose = times(row_space[:rank].T, times(row_space[:rank], loose)) if projected else still
        extra = wish - particular if absolute else wish.copy()
        if projected:
            extra -= times(row_space[:rank].T, times(row_space[:rank], extra))
        acceleration += extra
        if bounded and absolute:
            feedback = times(row_space[:rank].T, times(row_space[:rank], feedback)) if projected else still
        if bounded and heading.size:
            along = heading - (times(row_space[:rank].T, times(row_space[:rank], heading)) if projected else still)
    elif goal == TOOL_GOAL:
        a = J_m.shape[0]
        asked, J, norm = wish - times(J_m, particular), J_m.copy(), 0.0
        if absolute:
            asked -= times(J_b, base_acceleration(L, H_bm, load, particular))
        for i in range(a):
            for j in range(n):
                norm += J[i, j] * J[i, j]
        if projected:
            J -= product(product(J, row_space[:rank].T), row_space[:rank])
        small = gains[4] * math.sqrt(norm)
        back, space, restrictions = np.zeros((n, a)), np.empty((min(a, n), n)), np.empty(min(a, n))
        tool_rank, tool_damping = invert_damped(J, small, small, back, space, restrictions)
        largest = max(largest, tool_damping)
        # At most n - rank(H_bm) tracked axes can be served; for any others J is singular by dimension, not by posture.
        served = min(max(n - (rank if projected else 0), 1), min(a, n))
        restricted = restrictions[served - 1] if served else 0.0
        acceleration += times(back, asked)
        if not wholly:
            loose = loose - times(space[:tool_rank].T, times(space[:tool_rank], loose))
        if bounded:
            felt = times(J_m, feedback)
            if absolute:
                felt += times(J_b, base_acceleration(L, H_bm, np.zeros(m), feedback))
            feedback = feedback - times(back, felt)
            if posture.size:
                left = feedback.copy()
                if projected:
                    left -= times(row_space[:rank].T, times(row_space[:rank], left))
                left -= times(space[:tool_rank].T, times(space[:tool_rank], left))
                feedback -= left
            along = times(back, heading)
            lost = max(_share_lost(J, back, heading, 1e-9), _share_lost(J, back, correction, SLOWEST))
        if posture.size:
            extra = posture - acceleration
            if projected:
                extra -= times(row_space[:rank].T, times(row_space[:rank], extra))
            extra -= times(space[:tool_rank].T, times(space[:tool_rank], extra))
            acceleration += extra

    if yields:
        effort = times(H_m, said + acceleration - particular)
        acceleration = solve_definite(moved, effort + pushed)  # includes the effect of the unselected directions
    served = times(yielding_inertia(H_b, H_bm, H_m, rows) if led else H_m - _coupled_inertia(L, H_bm), servo + loose)
    if bounded:
        inertia, biased = H_m, c_m + D_m * velocity + served
        if not led:
            inertia = H_m - _coupled_inertia(L, H_bm)
            biased = biased + times(H_bm.T, base_acceleration(L, H_bm, load, still))
        quiet = times(inverse, -times(rows, dH_bm_qd)) if law == REACTIONLESS else still
        clock[4], clock[5], clock[6] = bound_motion(
            acceleration, along, feedback, quiet, inertia, biased, position, velocity, limits, lacking - loose,
            clock[3], clock[0], clock[1], clock[2],
        )  # fmt: skip
    if led:
        effort = times(H_m, acceleration) + served
        if law == TORQUE:
            gives[:] = giving_way(H_bm, H_m, rows, K_b)
    elif yields and bounded:
        effort = times(moved, acceleration) - pushed + served
    elif not yields:
        effort = times(H_m, acceleration) + times(H_bm.T, base_acceleration(L, H_bm, load, acceleration)) + served
    out[0, :n] = acceleration
    out[1, :n] = effort + c_m + D_m * velocity
    out[5, :n] = lacking - loose
    going = acceleration - out[5, :n]
    out[2, :m] = base_acceleration(L, H_bm, load, going)
    out[3, :m] = -times(H_bm, going) - dH_bm_qd
    out[4, :m] = times(H_bm, measured_velocity)
    return rank, largest, restricted, lost


@kernel
def _share_lost(J: Array, back: Array, velocity: Array, least: float) -> float:
    """Return the share of a tool velocity (a,) that the joints cannot attain, 0 if that part is below ``least``."""
    missed, had = 0.0, times(J, times(back, velocity))
    for i in range(velocity.shape[0]):
        missed += (velocity[i] - had[i]) ** 2
    missed, whole = math.sqrt(missed), math.sqrt(np.dot(velocity, velocity))
    return missed / whole if missed > least else 0.0


@kernel
def _coupled_inertia(L: Array, H_bm: Array) -> Array:
    """Return ``H_bm^T H_b^-1 H_bm`` (n, n)."""
    X = H_bm.copy()
    forward(L, X)
    return product(X.T, X)


@kernel
def _yielded(H_bm: Array, H_m: Array) -> Array:
    """Return ``H_bm H_m^-1 H_bm^T`` (m, m)."""
    L_m, X = np.empty_like(H_m), H_bm.T.copy()
    cholesky(H_m, L_m)
    forward(L_m, X)
    return product(X.T, X)
