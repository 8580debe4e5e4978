r"""The tool's part of the law: one sample of the generalized impedance on SE(3) (compiled).

For the tool, with the set-point ``x_b`` (the leading pose plus the offsets), its velocity ``v_b`` and its acceleration
``a_b``, each summed over the behaviors (patent claims 12, 20 and 21)::

    M (a_c - a_b) + B (v_c - v_b) + K (x_c - x_b) = f_measured + sum f_b + c

The carried force ``c`` compensates for changes of the program, that is of behaviors and matrices. When the program
changes, ``c`` is increased by the force that makes up the difference between the motion that the old program would
have commanded in this sample and the motion that the new program commands. In every sample, including that of a
change, ``c`` fades by at most the allowed step of the acceleration. A change of any kind therefore alters the
acceleration by no more than that step. Changes in successive samples are handled in the same way: what each of them
adds to ``c`` accumulates and fades. (Repeating the acceleration of the previous sample instead would, with a change
in every sample, repeat it forever.)
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.carried_force import bound, calm_down, carry, fade, press_no_harder, turn_freed
from flexarm_core.behavior_impedance.layout import Law, Settings, State
from flexarm_core.behavior_impedance.set_point import previous_set_point, set_point
from flexarm_core.behavior_impedance.tool_response import respond, unchanged_acceleration
from flexarm_core.compiled import inlined_kernel
from flexarm_core.kernels.rotations import rotation_error, rotation_of
from flexarm_core.types import Array

MUCH, ROUNDING = 0.1, 1e-9  # fraction of a motion that counts as largely missed; rounding error [m, rad]


@inlined_kernel
def tool_step(law: Law, inverse: Array) -> None:
    """Integrate the tool's part of the law: write the desired pose, its error, twist and acceleration into its state.

    Args:
        law: the law; the sum of the previous program is overwritten if the program has changed.
        inverse: (n, 6) ``J#``, which maps yielding efforts to the tool; zero if there are none.
    """
    settings, total, state, response = law.now.settings, law.now.total, law.state, law.response
    e, V0, T, V, y = response
    dt, wrench = state.step[0], state.wrench
    p, R, twist, acceleration = np.empty(3), np.empty((3, 3)), np.empty(6), np.empty(6)
    mid, E, moved, kept, missing = np.empty(3), np.empty((3, 3)), np.empty(6), np.empty(6), np.empty(6)
    changed = state.changed[0] > 0.0 or state.known[0] == 0.0
    for i in range(6):
        kept[i] = state.acceleration[i]
    if changed and state.known[0] > 0.0:
        turn_freed(dt, total, law.before.total, state)
        unchanged_acceleration(law, inverse, kept)
    set_point(total, state, p, R, twist, acceleration)
    # in the freed directions the motion of the set-point is ignored, like its position
    for i in range(6):
        V0[i], e[i] = twist[i], acceleration[i]
    for i in range(6):
        for j in range(6):
            twist[i] -= total.freed[i, j] * V0[j]
            acceleration[i] -= total.freed[i, j] * e[j]
    if changed:
        previous_set_point(dt, state, p, R, twist, acceleration)
    carries = changed
    for i in range(6):
        carries = carries or state.carried[i] != 0.0
    respond(law.now, state, inverse, 9 if carries else 3, response)
    rotation_error(R, state.set_rotation, mid)
    for i in range(3):
        moved[i], moved[3 + i] = p[i] - state.set_position[i], mid[i]
    for i in range(6):  # from here on V - V0 is the change of the tool velocity itself
        V0[i] -= twist[i] - state.set_twist[i]
    if changed:
        for i in range(6):
            missing[i] = settings.axes[i] * (V0[i] + kept[i] * dt - V[i, 0] - V[i, 1])
        carry(missing, state, response)
    if carries:
        press_no_harder(total, state, response)
        fade(settings, state, changed, response)
        if not changed:
            bound(settings, state, response)
    else:
        calm_down(state)
    for i in range(6):
        state.felt_acceleration[i] = 0.0 if changed else (V[i, 2] - state.felt[i]) / dt
        state.felt[i] = 0.0 if changed else V[i, 2]
        state.felt_from[i] = wrench[i] if changed else state.felt_from[i]
    # to the end of the sample
    for i in range(6):
        step = y[i, 0] + y[i, 1]
        if i >= 3:
            step = 0.0
            for j in range(3):
                step += T[i, 3 + j] * (y[3 + j, 0] + y[3 + j, 1])
        e[i] += step
        for j in range(6):
            e[i] -= total.freed[i, j] * moved[j]
    rotation_of(e[3:], E)
    for i in range(3):
        state.position[i] = p[i] + e[i]
        for j in range(3):
            state.rotation[i, j] = 0.0
            for k in range(3):
                state.rotation[i, j] += E[i, k] * R[k, j]
    for i in range(6):
        velocity = V[i, 0] + V[i, 1]
        if i < 3:
            velocity += twist[i]
        else:
            for j in range(3):
                velocity += E[i - 3, j] * twist[3 + j]
        state.error[i] = e[i]
        state.acceleration[i] = (velocity - state.velocity[i]) / dt
        state.velocity[i] = velocity
        state.set_twist[i], state.set_acceleration[i] = twist[i], acceleration[i]
    for i in range(3):
        state.set_position[i] = p[i]
        for j in range(3):
            state.set_rotation[i, j] = R[i, j]


@inlined_kernel
def take_back(settings: Settings, at: State, motion: Array, missed: Array, rates: Array) -> None:
    """Correct the law's tool velocity and acceleration for the part of the motion that the joints did not follow.

    A small missed part is subtracted from the velocity. If the joints missed a large part of the motion, the velocity
    is replaced by that of the joints; otherwise the law would wind up and request more and more.

    Args:
        settings: settings of the law.
        at: state with the tool Jacobian at the end of the sample, whose velocity and acceleration are corrected (free
            axes move as the joints do); the missed acceleration is stored in it.
        motion: (6,) desired tool motion in this sample [m, rad].
        missed: (6,) part of ``motion`` that the joints missed [m, rad].
        rates: (n,) joint velocities [rad/s | m/s].
    """
    axes, J, dt, n = settings.axes, at.J, at.step[0], rates.shape[0]
    for part in range(0, 6, 3):
        lost = whole = taken = 0.0
        for i in range(part, part + 3):
            lost += axes[i] * missed[i] * missed[i]
            whole += axes[i] * motion[i] * motion[i]
        share = 0.0
        if math.sqrt(lost) > ROUNDING:
            share = min(math.sqrt(lost) / (MUCH * math.sqrt(whole) + ROUNDING), 1.0)
        for i in range(part, part + 3):
            actual = 0.0
            for j in range(n):
                actual += J[i, j] * rates[j]
            change = at.velocity[i] - actual
            if axes[i] > 0.0:
                change = share * change + (1.0 - share) * missed[i] / dt
                taken += (change / dt) ** 2
            at.velocity[i] -= change
            at.acceleration[i] -= change / dt
        at.missed[part // 3] = math.sqrt(taken) / max(1.0 - share, ROUNDING)
