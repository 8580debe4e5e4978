r"""The force ``c`` that makes up for changes of the program: what it takes, how it fades, what bounds it (compiled).

Columns of ``V`` and ``y``, as of :func:`~flexarm_core.behavior_impedance.tool_response.respond`: the law, the carried
force ``c``, the wrench alone, unit forces.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.layout import (
    CARRIED,
    FELT,
    FELT_ACCELERATION,
    FORCE,
    FREED,
    FREED_DAMPING,
    HELD_BACK,
    LAST_ACCELERATION,
    MISSED,
    STEPS,
    VELOCITY,
)
from flexarm_core.behavior_impedance.motion_space import solve
from flexarm_core.behavior_impedance.rotations import rotation_of
from flexarm_core.compiled import kernel, view
from flexarm_core.types import Array

WITHIN = 1.0 - 1e-6  # part of the allowed step that is used, for rounding
TURNED = 2.0  # by which a projector changes at most where its directions turn by one [1/rad]
PATIENT = 10.0  # samples for which a program's own motion is held back to the allowed step
CALM = 0.1  # of these is forgotten in a sample in which nothing is held back
RAMP_SHARE = 0.45  # part of the allowed step that fading takes: the rest is for what the motion itself does
LEAST_SHARE = 0.1  # part of it that fading takes in the sample of a change, whatever the motion does


@kernel
def turn_freed(dt: float, total: Array, old_total: Array, state: Array) -> None:
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
def carry(missing: Array, state: Array, V: Array, y: Array) -> None:
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
def press_no_harder(total: Array, state: Array, wrench: Array, V: Array, y: Array) -> None:
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
        take = -min(-along / max(size, 1e-300), 1.0) if asked <= 0.0 and along < 0.0 else 0.0
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
def fade(dt: float, settings: Array, state: Array, changed: bool, V0: Array, V: Array, y: Array) -> None:
    """Take the carried force away, by a part of the allowed step of the acceleration that it makes.

    In the sample of a change, by no more than what the motion and what the joints missed leave of the step. In other
    samples :func:`bound` follows.
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
def bound(dt: float, settings: Array, state: Array, V0: Array, V: Array, y: Array) -> None:
    """Hold back what is beyond the allowed step of the acceleration, but for what the measured wrench makes of it.

    What the new program itself asks for, sample after sample, is held back for some samples only, and ever less: the
    law is never governed by a bound. What the joints missed in the sample before the law asks for again: by so much
    more it may step, for that acceleration was theirs, not the law's.
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
        carry(missing, state, V, y)
        state[HELD_BACK] += 1.0
    else:
        calm_down(state)


@kernel
def calm_down(state: Array) -> None:
    """Count a sample in which nothing is held back."""
    state[HELD_BACK] = max(state[HELD_BACK] - CALM, 0.0)
