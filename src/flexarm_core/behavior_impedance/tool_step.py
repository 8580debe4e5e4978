r"""The tool's part of the law: one sample of the generalised impedance on SE(3) (compiled).

For the tool, with the set-point ``x_b`` (the leading pose and the offsets beside it), its velocity ``v_b`` and its
acceleration ``a_b``, all of them summed over the behaviours (claims 12, 20 and 21 of seed 002)::

    M (a_c - a_b) + B (v_c - v_b) + K (x_c - x_b) = f_measured + sum f_b + c

``c`` makes up for changes of behaviours and matrices. Where the program changes, ``c`` takes what the old program
would have made of this very sample, less what the new one makes of it; in every sample, that of a change too, it is
taken away by as much as the allowed step of the acceleration. So a change alters the acceleration by no more than
that step, whatever it is, and a change in every sample is no other than a change now and then: what each of them
leaves in ``c`` adds up and fades. (To repeat the acceleration of the sample before instead would, with a change in
every sample, repeat it for ever.)
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.layout import (
    AXES,
    CARRIED,
    CHANGED,
    ERROR,
    FELT,
    FELT_ACCELERATION,
    FELT_FROM,
    FORCE,
    FREED,
    FREED_DAMPING,
    HELD_BACK,
    KNOWN,
    LAST_ACCELERATION,
    MISSED,
    SET_ACCELERATION,
    SET_POSITION,
    SET_ROTATION,
    SET_TWIST,
    STEPS,
    VELOCITY,
    WANTED_POSITION,
    WANTED_ROTATION,
)
from flexarm_core.behavior_impedance.motion_space import solve
from flexarm_core.behavior_impedance.rotations import rotation_of
from flexarm_core.behavior_impedance.set_point import previous_set_point, set_point
from flexarm_core.behavior_impedance.tool_response import respond, unchanged_acceleration
from flexarm_core.compiled import kernel, view
from flexarm_core.ik_redundancy.chain import rotation_error
from flexarm_core.types import Array

MUCH, ROUNDING = 0.1, 1e-9  # part of a motion that is much to miss; what is rounding of it [m, rad]
WITHIN = 1.0 - 1e-6  # part of the allowed step that is used, for rounding
TURNED = 2.0  # by which a projector changes at most where its directions turn by one [1/rad]
PATIENT = 10.0  # samples for which a program's own motion is held back to the allowed step
CALM = 0.1  # of these is forgotten in a sample in which nothing is held back
RAMP_SHARE = 0.45  # part of the allowed step that fading takes: the rest is for what the motion itself does
LEAST_SHARE = 0.1  # part of it that fading takes in the sample of a change, whatever the motion does


@kernel
def tool_step(
    dt: float, settings: Array, total: Array, old_settings: Array, old_total: Array, state: Array, pose: Array,
    wrench: Array, inverse: Array, out: Array,
) -> None:  # fmt: skip
    """The tool's part: wanted pose into ``out``, its twist and acceleration into ``state``.

    Args:
        dt: [s].
        settings: table of the config.
        total: sum of the contributions.
        old_settings: of the sample before.
        old_total: of the sample before; used up where the program has changed.
        state: carried from sample to sample.
        pose: (12,) of the commanded tool at the begin: rotation row by row, position [m].
        wrench: (6,) external, on the tool at its origin [N, N*m].
        inverse: (n, 6) ``J#``, by which yielding efforts act on the tool; zero where there are none.
        out: wanted pose and error at the end.
    """
    p, R, twist, acceleration = np.empty(3), np.empty((3, 3)), np.empty(6), np.empty(6)
    e, mid, T, V0 = np.empty(6), np.empty(3), np.empty((6, 6)), np.empty(6)
    E, moved, kept, missing = np.empty((3, 3)), np.empty(6), np.empty(6), np.empty(6)
    V, y = np.empty((6, 9)), np.empty((6, 9))
    changed = state[CHANGED] > 0.0 or state[KNOWN] == 0.0
    for i in range(6):
        kept[i] = state[LAST_ACCELERATION + i]
    if changed and state[KNOWN] > 0.0:
        _turn_freed(dt, total, old_total, state)
        unchanged_acceleration(dt, old_settings, old_total, state, pose, wrench, inverse, kept)
    set_point(total, state, p, R, twist, acceleration)
    # in directions that are freed the set-point's motion counts no more than its place
    for i in range(6):
        V0[i], e[i] = twist[i], acceleration[i]
    for i in range(6):
        for j in range(6):
            twist[i] -= total[FREED + 6 * i + j] * V0[j]
            acceleration[i] -= total[FREED + 6 * i + j] * e[j]
    if changed:
        previous_set_point(dt, state, p, R, twist, acceleration)
    carries = changed
    for i in range(6):
        carries = carries or state[CARRIED + i] != 0.0
    respond(dt, settings, total, state, pose, wrench, inverse, 9 if carries else 3, e, V0, T, V, y)
    rotation_error(R, view(state, SET_ROTATION, (3, 3)), mid)
    for i in range(3):
        moved[i], moved[3 + i] = p[i] - state[SET_POSITION + i], mid[i]
    for i in range(6):  # V - V0 is from here on the change of the tool's own velocity
        V0[i] -= twist[i] - state[SET_TWIST + i]
    if changed:
        for i in range(6):
            missing[i] = settings[AXES + i] * (V0[i] + kept[i] * dt - V[i, 0] - V[i, 1])
        _carry(missing, state, V, y)
    if carries:
        _press_no_harder(total, state, wrench, V, y)
        _fade(dt, settings, state, changed, V0, V, y)
        if not changed:
            _bound(dt, settings, state, V0, V, y)
    else:
        state[HELD_BACK] = max(state[HELD_BACK] - CALM, 0.0)
    for i in range(6):
        state[FELT_ACCELERATION + i] = 0.0 if changed else (V[i, 2] - state[FELT + i]) / dt
        state[FELT + i] = 0.0 if changed else V[i, 2]
        state[FELT_FROM + i] = wrench[i] if changed else state[FELT_FROM + i]
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
    rotation_of(e[3:], E)
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
def _turn_freed(dt: float, total: Array, old_total: Array, state: Array) -> None:
    """Turn the old program's freed directions with the tool: new ones that differ by no more than that are the same.

    The spring that does not act along them may be stretched by much, and would be seen to act where they turn; their
    damping turns with them.
    """
    turn = difference = 0.0
    for i in range(3):
        turn += (state[VELOCITY + 3 + i] * dt) ** 2
    for i in range(36):
        difference += (total[FREED + i] - old_total[FREED + i]) ** 2
    if difference > TURNED * TURNED * turn or difference == 0.0:
        return
    Q, turned = np.empty((3, 3)), np.zeros((6, 6))
    rotation_of(state[VELOCITY + 3 : VELOCITY + 6] * dt, Q)
    damping = view(old_total, FREED_DAMPING, (6, 6))
    for i in range(6):
        for j in range(6):
            for k in range(3):
                for m in range(3):
                    turned[i, j] += Q[i % 3, k] * damping[3 * (i // 3) + k, 3 * (j // 3) + m] * Q[j % 3, m]
    damping[:, :] = turned
    for i in range(36):
        old_total[FREED + i] = total[FREED + i]


@kernel
def _carry(missing: Array, state: Array, V: Array, y: Array) -> None:
    """Add to the carried force what changes the velocity at the end of the sample by ``missing`` (6,).

    ``V[:, 3:]`` and ``y[:, 3:]`` hold what unit forces do.
    """
    H, f = V[:, 3:].copy(), np.empty((6, 1))
    for i in range(6):
        f[i, 0] = missing[i]
        V[i, 1] += missing[i]
        if H[i, i] == 0.0:  # a free axis, of which nothing is missing
            H[i, i] = 1.0
    solve(H, f)
    for i in range(6):
        state[CARRIED + i] += f[i, 0]
        for j in range(6):
            y[i, 1] += y[i, 3 + j] * f[j, 0]


@kernel
def _press_no_harder(total: Array, state: Array, wrench: Array, V: Array, y: Array) -> None:
    """Where the tool presses with more than is asked for, take off the carried force what presses too, by the excess.

    So nothing that makes up for a change can press a tool into a wall, however it came about.
    """
    excess, less = np.empty(6), np.empty(6)
    for part in range(0, 6, 3):
        asked = size = along = 0.0
        for i in range(part, part + 3):
            excess[i] = wanted = 0.0
            for j in range(6):
                wanted += total[FREED + 6 * i + j] * total[FORCE + j]
                excess[i] += total[FREED + 6 * i + j] * (total[FORCE + j] + wrench[j])
            asked += excess[i] * wanted
            size += excess[i] * excess[i]
            along += excess[i] * state[CARRIED + i]
        take = -min(-along / max(size, 1e-300), 1.0) if asked < 0.0 and along < 0.0 else 0.0
        for i in range(part, part + 3):
            less[i] = take * excess[i]
    for i in range(6):
        state[CARRIED + i] -= less[i]
        for j in range(6):
            V[i, 1] -= V[i, 3 + j] * less[j]
            y[i, 1] -= y[i, 3 + j] * less[j]


@kernel
def _step(dt: float, state: Array, V0: Array, V: Array, out: Array) -> None:
    """Step of the acceleration from the sample before (6,), but for what the measured wrench makes of it."""
    for i in range(6):
        felt = (V[i, 2] - state[FELT + i]) / dt - state[FELT_ACCELERATION + i]
        out[i] = (V[i, 0] + V[i, 1] - V0[i]) / dt - state[LAST_ACCELERATION + i] - felt


@kernel
def _fade(dt: float, settings: Array, state: Array, changed: bool, V0: Array, V: Array, y: Array) -> None:
    """Take the carried force away, by a part of the allowed step of the acceleration that it makes.

    In the sample of a change, by no more than what the motion leaves of the step, unless the joints do not follow the
    law: its steps are not the tool's then. In other samples :func:`_bound` follows.
    """
    step, keep = np.empty(6), 0.0
    _step(dt, state, V0, V, step)
    for part in range(2):
        made, size, most = 0.0, 0.0, settings[STEPS + part]
        for i in range(3 * part, 3 * part + 3):
            made += (V[i, 1] / dt) ** 2
            size += step[i] ** 2
        fading = RAMP_SHARE * most
        if changed:
            fading = min(max(WITHIN * most + state[MISSED + part] - math.sqrt(size), LEAST_SHARE * most), fading)
        keep = max(keep, 1.0 - fading / max(math.sqrt(made), 1e-300))
    for i in range(6):
        state[CARRIED + i] *= keep
        V[i, 1] *= keep
        y[i, 1] *= keep


@kernel
def _bound(dt: float, settings: Array, state: Array, V0: Array, V: Array, y: Array) -> None:
    """Hold back what is beyond the allowed step of the acceleration, but for what the measured wrench makes of it.

    What the new program itself asks for, sample after sample, is held back for some samples only, and ever less: the
    law is never governed by a bound. Of a motion that the joints miss nothing is held back: the acceleration of the
    sample before is theirs, not the law's.
    """
    step, missing, beyond = np.empty(6), np.zeros(6), False
    _step(dt, state, V0, V, step)
    for part in range(2):
        size, most = 0.0, WITHIN * max(1.0, state[HELD_BACK] / PATIENT) * settings[STEPS + part] + state[MISSED + part]
        for i in range(3 * part, 3 * part + 3):
            size += step[i] ** 2
        if size > most * most:
            beyond = True
            for i in range(3 * part, 3 * part + 3):
                missing[i] = -step[i] * (1.0 - most / math.sqrt(size)) * dt
    if beyond:
        _carry(missing, state, V, y)
        state[HELD_BACK] += 1.0
    else:
        state[HELD_BACK] = max(state[HELD_BACK] - CALM, 0.0)


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
        state: gets the velocity and the acceleration, those of free axes as the joints have them, and the shares that
            were missed.
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
        state[MISSED + part // 3] = 0.0
        for i in range(part, part + 3):
            actual = 0.0
            for j in range(J.shape[1]):
                actual += J[i, j] * rates[j]
            change = state[VELOCITY + i] - actual
            if axes[i] > 0.0:
                change = share * change + (1.0 - share) * missed[i] / dt
                state[MISSED + part // 3] += (change / dt) ** 2
            state[VELOCITY + i] -= change
            state[LAST_ACCELERATION + i] -= change / dt
        state[MISSED + part // 3] = math.sqrt(state[MISSED + part // 3]) / max(1.0 - share, ROUNDING)
