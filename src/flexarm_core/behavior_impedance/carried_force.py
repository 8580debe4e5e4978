"""The carried force ``c`` that compensates for changes of the program: its build-up, fading and bounds (compiled)."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.layout import Parts, Response, Settings, State
from flexarm_core.behavior_impedance.motion_space import solve
from flexarm_core.compiled import inlined_kernel
from flexarm_core.kernels.rotations import rotation_of
from flexarm_core.types import Array

WITHIN = 1.0 - 1e-6  # fraction of the allowed step that is used, to stay within it despite rounding
TURNED = 2.0  # largest change of a projector (Frobenius norm) per angle by which its directions rotate [1/rad]
PATIENT = 10.0  # samples for which a program's own motion is limited to the allowed step
CALM = 0.1  # decrease of the count of limited samples in each sample that is not limited
RAMP_SHARE = 0.45  # fraction of the allowed step used for fading; the rest is left for the motion itself
LEAST_SHARE = 0.1  # smallest fraction of the allowed step used for fading in the sample of a change


@inlined_kernel
def turn_freed(dt: float, total: Parts, old_total: Parts, state: State) -> None:
    """Rotate the freed directions of the old program with the tool, if that explains how the new ones differ.

    The law's spring does not act along freed directions and may have a large error there. Without this correction, a
    rotation of these directions would make the spring act suddenly. Their damping is rotated with the tool.
    """
    turn = difference = 0.0
    for i in range(3):
        turn += (state.velocity[3 + i] * dt) ** 2
    for i in range(6):
        for j in range(6):
            difference += (total.freed[i, j] - old_total.freed[i, j]) ** 2
    if difference > TURNED * TURNED * turn or difference == 0.0:
        return
    Q, turned = np.empty((3, 3)), np.zeros((6, 6))
    rotation_of(state.velocity[3:] * dt, Q)
    damping = old_total.freed_damping
    for i in range(6):
        for j in range(6):
            for k in range(3):
                for m in range(3):
                    turned[i, j] += Q[i % 3, k] * damping[3 * (i // 3) + k, 3 * (j // 3) + m] * Q[j % 3, m]
    damping[:, :] = turned
    old_total.freed[:, :] = total.freed


@inlined_kernel
def carry(missing: Array, state: State, response: Response) -> None:
    """Increase the carried force so that the velocity at the end of the sample changes by ``missing`` (6,)."""
    V, y = response.V, response.y
    H, f = V[:, 3:].copy(), np.empty((6, 1))
    for i in range(6):
        f[i, 0] = missing[i]
        V[i, 1] += missing[i]
        if H[i, i] == 0.0:  # a free axis, for which ``missing`` is zero
            H[i, i] = 1.0
    solve(H, f)
    for i in range(6):
        state.carried[i] += f[i, 0]
        for j in range(6):
            y[i, 1] += y[i, 3 + j] * f[j, 0]


@inlined_kernel
def press_no_harder(total: Parts, state: State, response: Response) -> None:
    """Remove the part of the carried force that adds to an excessive contact force, up to the excess.

    This applies in the freed directions, if the tool exerts more than the requested force. The compensation of a change
    can therefore not press the tool into a wall.
    """
    wrench, V, y = state.wrench, response.V, response.y
    excess, less = np.empty(6), np.empty(6)
    for part in range(0, 6, 3):
        asked = size = along = 0.0
        for i in range(part, part + 3):
            excess[i] = wanted = 0.0
            for j in range(6):
                wanted += total.freed[i, j] * total.force[j]
                excess[i] += total.freed[i, j] * (total.force[j] + wrench[j])
            asked += excess[i] * wanted
            size += excess[i] * excess[i]
            along += excess[i] * state.carried[i]
        take = -min(-along / max(size, 1e-300), 1.0) if asked <= 0.0 and along < 0.0 else 0.0
        for i in range(part, part + 3):
            less[i] = take * excess[i]
    for i in range(6):
        state.carried[i] -= less[i]
        for j in range(6):
            V[i, 1] -= V[i, 3 + j] * less[j]
            y[i, 1] -= y[i, 3 + j] * less[j]


@inlined_kernel
def _step(state: State, response: Response, out: Array) -> None:
    """Compute the step of the acceleration since the last sample (6,), excluding that due to the measured wrench."""
    V0, V, dt = response.V0, response.V, state.step[0]
    for i in range(6):
        felt = (V[i, 2] - state.felt[i]) / dt - state.felt_acceleration[i]
        out[i] = (V[i, 0] + V[i, 1] - V0[i]) / dt - state.acceleration[i] - felt


@inlined_kernel
def fade(settings: Settings, state: State, changed: bool, response: Response) -> None:
    """Reduce the carried force so that the acceleration changes by a fraction of the allowed step.

    In the sample of a change, fading uses only the part of the allowed step that the motion itself leaves, plus the
    missed acceleration, within :data:`LEAST_SHARE` and :data:`RAMP_SHARE`. In other samples :func:`bound` follows.
    """
    V, y, dt = response.V, response.y, state.step[0]
    step, keep = np.empty(6), 0.0
    _step(state, response, step)
    for part in range(2):
        made, size, most = 0.0, 0.0, settings.steps[part]
        for i in range(3 * part, 3 * part + 3):
            made += (V[i, 1] / dt) ** 2
            size += step[i] ** 2
        fading = RAMP_SHARE * most
        if changed:
            fading = min(max(WITHIN * most + state.missed[part] - math.sqrt(size), LEAST_SHARE * most), fading)
        keep = max(keep, 1.0 - fading / max(math.sqrt(made), 1e-300))
    for i in range(6):
        state.carried[i] *= keep
        V[i, 1] *= keep
        y[i, 1] *= keep


@inlined_kernel
def bound(settings: Settings, state: State, response: Response) -> None:
    """Limit the step of the acceleration, without the effect of the measured wrench, to the allowed step.

    If the new program itself requests larger steps sample after sample, they are limited strictly for
    :data:`PATIENT` samples only, and then less and less, so that the limit never determines the motion permanently.
    The step may be larger by the acceleration that the joints missed in the previous sample, because the law requests
    it again.
    """
    dt, step, missing, beyond = state.step[0], np.empty(6), np.zeros(6), False
    _step(state, response, step)
    for part in range(2):
        size, most = 0.0, WITHIN * max(1.0, state.held_back[0] / PATIENT) * settings.steps[part] + state.missed[part]
        for i in range(3 * part, 3 * part + 3):
            size += step[i] ** 2
        if size > most * most:
            beyond = True
            for i in range(3 * part, 3 * part + 3):
                missing[i] = -step[i] * (1.0 - most / math.sqrt(size)) * dt
    if beyond:
        carry(missing, state, response)
        state.held_back[0] += 1.0
    else:
        calm_down(state)


@inlined_kernel
def calm_down(state: State) -> None:
    """Decrease the count of limited samples after a sample that was not limited."""
    state.held_back[0] = max(state.held_back[0] - CALM, 0.0)
