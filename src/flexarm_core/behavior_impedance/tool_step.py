r"""The tool's part of the law: one sample of the generalised impedance on SE(3) (compiled).

For the tool, with the set-point ``x_b`` (the leading pose and the offsets beside it), its velocity ``v_b`` and its
acceleration ``a_b``, all of them summed over the behaviours (claims 12, 20 and 21 of seed 002)::

    M (a_c - a_b) + B (v_c - v_b) + K (x_c - x_b) = f_measured + sum f_b

On SE(3): ``e = [p_c - p_b; phi]``, ``R_c = exp(phi) R_b``, ``V = [v_c - v_b; w_c - exp(phi) w_b]``, so that ``e' = T
V`` with ``T = diag(1, J_l^-1(phi))``; the spring's force is ``-T^T K e``, the gradient of ``e K e / 2``, whatever the
size of the error and the coupling in K. In a sample T is constant, taken at the middle of it.

A change of behaviours leaves the acceleration where it was: a force that makes up for the change is added, and taken
away by no more than the allowed step of acceleration in each sample.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.impedance import propagate
from flexarm_core.behavior_impedance.layout import (
    AXES,
    CARRIED,
    CHANGED,
    DAMPING,
    ERROR,
    FORCE,
    FREED,
    KNOWN,
    LAST_ACCELERATION,
    LAST_WRENCH,
    SET_ACCELERATION,
    SET_POSITION,
    SET_ROTATION,
    SET_TWIST,
    STEPS,
    STIFFNESS,
    TOOL_PART,
    VELOCITY,
    WANTED_POSITION,
    WANTED_ROTATION,
)
from flexarm_core.behavior_impedance.motion_space import solve
from flexarm_core.behavior_impedance.rotations import rate_map, rotation_of
from flexarm_core.behavior_impedance.set_point import previous_set_point, set_point
from flexarm_core.behavior_impedance.tool_matrices import add_yielding, hold_only, tool_matrices
from flexarm_core.compiled import kernel, view
from flexarm_core.ik_redundancy.chain import rotation_error
from flexarm_core.types import Array

MUCH, ROUNDING = 0.1, 1e-9  # part of a motion that is much to miss; what is rounding of it [m, rad]
SMALL_TURN = 1e-3  # [rad] error below which T does not change in a sample
WITHIN = 1.0 - 1e-6  # part of the allowed step that is used, for rounding
RAMP_SHARE = 0.5  # part of the allowed step that fading takes: the rest is for what the motion itself does


@kernel
def _norm(x: Array, start: int, end: int) -> float:
    square = 0.0
    for i in range(start, end):
        square += x[i] * x[i]
    return math.sqrt(square)


@kernel
def tool_step(
    dt: float, settings: Array, total: Array, state: Array, pose: Array, wrench: Array, inverse: Array, out: Array
) -> None:
    """The tool's part: wanted pose into ``out``, its twist and acceleration into ``state``.

    Args:
        dt: [s].
        settings: table of the config.
        total: sum of the contributions.
        state: carried from sample to sample.
        pose: (12,) of the commanded tool at the begin: rotation row by row, position [m].
        wrench: (6,) external, on the tool at its origin [N, N*m].
        inverse: (n, 6) ``J#``, by which yielding efforts act on the tool; zero where there are none.
        out: wanted pose and error at the end.
    """
    n = inverse.shape[0]
    M, B, K, S, axes = (
        np.empty((6, 6)),
        np.empty((6, 6)),
        np.empty((6, 6)),
        np.empty((6, 6)),
        view(settings, AXES, (6,)),
    )
    p, R, twist, acceleration = np.empty(3), np.empty((3, 3)), np.empty(6), np.empty(6)
    e, phi, mid, T, TK = np.empty(6), np.empty(3), np.empty(3), np.empty((6, 6)), np.empty((6, 6))
    V0, E, moved, moved_faster = np.empty(6), np.empty((3, 3)), np.empty(6), np.empty(6)
    momentum, force, V, y = np.zeros((6, 8)), np.zeros((6, 8)), np.empty((6, 8)), np.empty((6, 8))
    set_point(total, state, p, R, twist, acceleration)
    # in directions that are freed the set-point's motion counts no more than its place
    for i in range(6):
        V0[i], e[i] = twist[i], acceleration[i]
    for i in range(6):
        for j in range(6):
            twist[i] -= total[FREED + 6 * i + j] * V0[j]
            acceleration[i] -= total[FREED + 6 * i + j] * e[j]
    if state[CHANGED] > 0.0 or state[KNOWN] == 0.0:
        previous_set_point(dt, state, p, R, twist, acceleration)
    tool_matrices(settings, total, state, M, B, K)
    # error and its rate at the begin of the sample
    tool, was = view(pose, 0, (3, 3)), view(state, SET_ROTATION, (3, 3))
    rotation_error(tool, was, phi)
    rotation_of(phi, E)
    for i in range(3):
        e[i], e[3 + i] = pose[9 + i] - state[SET_POSITION + i], phi[i]
        V0[i], V0[3 + i] = state[VELOCITY + i] - state[SET_TWIST + i], state[VELOCITY + 3 + i]
        for j in range(3):
            V0[3 + i] -= E[i, j] * state[SET_TWIST + 3 + j]
    rotation_error(R, was, mid)
    for i in range(3):
        moved[i], moved[3 + i] = p[i] - state[SET_POSITION + i], mid[i]
    for i in range(6):
        V0[i] *= axes[i]
    mid[:] = phi
    T[:, :] = 0.0
    passes = 2 if _norm(phi, 0, 3) > SMALL_TURN else 1
    T[0, 0] = T[1, 1] = T[2, 2] = 1.0
    for sweep in range(passes):
        rate_map(mid, T[3:, 3:])
        for i in range(6):
            for j in range(6):
                TK[i, j] = 0.0
                for k in range(6):
                    TK[i, j] += T[k, i] * K[k, j]
        for i in range(6):
            for j in range(6):
                S[i, j] = total[STIFFNESS + 6 * i + j]
                for k in range(6):
                    S[i, j] += TK[i, k] * T[k, j]
        add_yielding(total, inverse, S)
        for i in range(6):
            f = wrench[i] + total[FORCE + i]
            for j in range(6):
                f += total[DAMPING + 6 * i + j] * V0[j] - TK[i, j] * e[j]
            for j in range(n):
                f += inverse[j, i] * total[TOOL_PART + n + j]
            force[i, 0] = f
            momentum[i, 0] = 0.0
            for j in range(6):
                momentum[i, 0] += M[i, j] * V0[j]
        for i in range(6):
            for c in range(1, 8):
                force[i, c] = momentum[i, c] = 0.0
            force[i, 1] = state[CARRIED + i]
        columns = 2
        if state[CHANGED] > 0.0 or _norm(state, CARRIED, CARRIED + 6) > 0.0:
            columns = 8
            for i in range(6):
                force[i, 2 + i] = 1.0
        hold_only(axes, M, B, S, momentum, force)
        propagate(M, B, S, dt, momentum[:, :columns].copy(), force[:, :columns].copy(), V, y)
        if sweep + 1 < passes:
            for i in range(3):
                mid[i] = phi[i]
                for j in range(3):
                    mid[i] += 0.5 * T[3 + i, 3 + j] * (y[3 + j, 0] + y[3 + j, 1])
    for i in range(6):  # what the set-point's motion adds to the acceleration
        moved_faster[i] = (twist[i] - state[SET_TWIST + i]) / dt
    if state[CHANGED] > 0.0:
        _carry_over(dt, axes, state, moved_faster, V0, V, y)
    elif columns == 8:
        _fade(dt, settings, state, V, y)
        _bound_step(dt, settings, state, wrench, moved_faster, V0, V, y)
    for i in range(6):
        state[LAST_WRENCH + i] = wrench[i]
    # to the end of the sample
    for i in range(6):
        step = y[i, 0] + y[i, 1]
        if i >= 3:
            step = 0.0
            for j in range(3):
                step += T[i, 3 + j] * (y[3 + j, 0] + y[3 + j, 1])
        e[i] += step
        for j in range(6):
            e[i] -= total[FREED + 6 * i + j] * moved[j]
    for i in range(3):
        phi[i] = e[3 + i]
    rotation_of(phi, E)
    for i in range(3):
        out[WANTED_POSITION + i] = p[i] + e[i]
        for j in range(3):
            out[WANTED_ROTATION + 3 * i + j] = 0.0
            for k in range(3):
                out[WANTED_ROTATION + 3 * i + j] += E[i, k] * R[k, j]
    for i in range(6):
        velocity = V[i, 0] + V[i, 1]
        if i < 3:
            velocity += twist[i]
        else:
            for j in range(3):
                velocity += E[i - 3, j] * twist[3 + j]
        out[ERROR + i] = e[i]
        state[LAST_ACCELERATION + i] = (velocity - state[VELOCITY + i]) / dt
        state[VELOCITY + i] = velocity
        state[SET_TWIST + i], state[SET_ACCELERATION + i] = twist[i], acceleration[i]
    for i in range(3):
        state[SET_POSITION + i] = p[i]
        for j in range(3):
            state[SET_ROTATION + 3 * i + j] = R[i, j]


@kernel
def _carry_over(dt: float, axes: Array, state: Array, acceleration: Array, V0: Array, V: Array, y: Array) -> None:
    """The force with which the sample ends at the velocity that the last acceleration leads to."""
    missing = np.empty((6, 1))
    for i in range(6):
        # the last acceleration, seen from the set-point of now
        missing[i, 0] = axes[i] * (V0[i] + (state[LAST_ACCELERATION + i] - acceleration[i]) * dt - V[i, 0])
        state[CARRIED + i] = V[i, 1] = y[i, 1] = 0.0
    _carry(missing, state, V, y)


@kernel
def _carry(missing: Array, state: Array, V: Array, y: Array) -> None:
    """Add to the carried force what changes the velocity at the end of the sample by ``missing`` (6, 1): used up.

    ``V[:, 2:]`` and ``y[:, 2:]`` hold what unit forces do.
    """
    H = V[:, 2:].copy()
    for i in range(6):
        V[i, 1] += missing[i, 0]
        if H[i, i] == 0.0:  # a free axis, of which nothing is missing
            H[i, i] = 1.0
    solve(H, missing)
    for i in range(6):
        state[CARRIED + i] += missing[i, 0]
        for j in range(6):
            y[i, 1] += y[i, 2 + j] * missing[j, 0]


@kernel
def _bound_step(
    dt: float, settings: Array, state: Array, wrench: Array, acceleration: Array, V0: Array, V: Array, y: Array
) -> None:
    """Hold back what is beyond the allowed step of the acceleration, but for what the measured wrench makes of it."""
    step, missing = np.empty(6), np.zeros((6, 1))
    for i in range(6):
        step[i] = (V[i, 0] + V[i, 1] - V0[i]) / dt + acceleration[i] - state[LAST_ACCELERATION + i]
        for j in range(6):
            step[i] -= V[i, 2 + j] * (wrench[j] - state[LAST_WRENCH + j]) / dt
    beyond = False
    for part in range(2):
        size, most = _norm(step, 3 * part, 3 * part + 3), WITHIN * settings[STEPS + part]
        if size > most:
            beyond = True
            for i in range(3 * part, 3 * part + 3):
                missing[i, 0] = -step[i] * (1.0 - most / size) * dt
    if beyond:
        _carry(missing, state, V, y)


@kernel
def _fade(dt: float, settings: Array, state: Array, V: Array, y: Array) -> None:
    """Take the carried force away, by no more than the allowed step of the acceleration that it makes."""
    linear = math.sqrt(V[0, 1] ** 2 + V[1, 1] ** 2 + V[2, 1] ** 2) / dt
    angular = math.sqrt(V[3, 1] ** 2 + V[4, 1] ** 2 + V[5, 1] ** 2) / dt
    if linear == 0.0 and angular == 0.0:
        return
    keep = max(1.0 - RAMP_SHARE * settings[STEPS] / max(linear, 1e-300), 0.0)
    keep = max(keep, 1.0 - RAMP_SHARE * settings[STEPS + 1] / max(angular, 1e-300))
    for i in range(6):
        state[CARRIED + i] *= keep
        V[i, 1] *= keep
        y[i, 1] *= keep


@kernel
def take_back(dt: float, settings: Array, motion: Array, missed: Array, J: Array, rates: Array, state: Array) -> None:
    """The tool is where the joints took it: what could not be had is not wished for again.

    What the joints missed by little is taken off the velocity. Where they missed a good part of the motion, the tool
    has the velocity that they have: a law that went on with its own would ask for more and more.

    Args:
        dt: [s].
        settings: table of the config.
        motion: (6,) wanted in this sample [m, rad].
        missed: (6,) of it [m, rad].
        J: (6, n) at the end.
        rates: (n,) of the joints [rad/s | m/s].
        state: gets the velocity and the acceleration; those of free axes as the joints have them.
    """
    axes = view(settings, AXES, (6,))
    for part in range(0, 6, 3):
        lost = whole = 0.0
        for i in range(part, part + 3):
            lost += axes[i] * missed[i] * missed[i]
            whole += axes[i] * motion[i] * motion[i]
        share = 0.0
        if math.sqrt(lost) > ROUNDING:
            share = min(math.sqrt(lost) / (MUCH * math.sqrt(whole) + ROUNDING), 1.0)
        for i in range(part, part + 3):
            actual = 0.0
            for j in range(J.shape[1]):
                actual += J[i, j] * rates[j]
            change = state[VELOCITY + i] - actual
            if axes[i] > 0.0:
                change = share * change + (1.0 - share) * missed[i] / dt
            state[VELOCITY + i] -= change
            state[LAST_ACCELERATION + i] -= change / dt
