r"""Response of the tool to one program of behaviors in a sample: velocity and displacement relative to the set-point.

On SE(3): ``e = [p_c - p_b; phi]``, ``R_c = exp(phi) R_b``, ``V = [v_c - v_b; w_c - exp(phi) w_b]``, so that
``e' = T V`` with ``T = diag(1, J_l^-1(phi))``. The spring force is ``-T^T K e``, the negative gradient of
``e K e / 2``, for any size of the error and any coupling in K. T is constant within a sample, evaluated at its middle.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.impedance import System, propagate
from flexarm_core.behavior_impedance.layout import Law, Program, Response, State
from flexarm_core.behavior_impedance.wrench.tool_matrices import add_yielding, hold_only, tool_matrices
from flexarm_core.compiled import inlined_kernel, view
from flexarm_core.kernels.rotations import rate_map, rotation_error, rotation_of
from flexarm_core.types import Array

SMALL_TURN = 1e-3  # [rad] error below which the change of T within a sample is neglected


@inlined_kernel
def respond(program: Program, state: State, inverse: Array, columns: int, out: Response) -> None:
    """Compute the response over one sample, relative to the set-point stored in ``state``.

    Args:
        program: program of behaviors.
        state: state with what goes into the sample; only read here.
        inverse: (n, 6) ``J#``, which maps yielding efforts to the tool; zero if there are none.
        columns: 3, or 9 to compute the responses to unit forces too.
        out: gets the response.
    """
    settings, total = program.settings, program.total
    e, V0, T, V, y = out
    dt, wrench, pose = state.step[0], state.wrench, state.frames[state.frames.shape[0] - 1]
    n, axes = inverse.shape[0], settings.axes
    M, B, K, S, TK = np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6)), np.empty((6, 6))
    phi, mid, E = np.empty(3), np.empty(3), np.empty((3, 3))
    momentum, force = np.zeros((6, columns)), np.zeros((6, columns))
    tool_matrices(settings, total, state, M, B, K)
    rotation_error(view(pose, 0, (3, 3)), state.set_rotation, phi)
    rotation_of(phi, E)
    for i in range(3):
        e[i], e[3 + i], mid[i] = pose[9 + i] - state.set_position[i], phi[i], phi[i]
        V0[i], V0[3 + i] = state.velocity[i] - state.set_twist[i], state.velocity[3 + i]
        for j in range(3):
            V0[3 + i] -= E[i, j] * state.set_twist[3 + j]
    for i in range(6):
        V0[i] *= axes[i]
    T[:, :] = 0.0
    passes = 2 if math.sqrt(phi[0] ** 2 + phi[1] ** 2 + phi[2] ** 2) > SMALL_TURN else 1
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
                S[i, j] = total.stiffness[i, j]
                for k in range(6):
                    S[i, j] += TK[i, k] * T[k, j]
        add_yielding(total, inverse, S)
        for i in range(6):
            f = wrench[i] + total.force[i]
            for j in range(6):
                f += total.damping[i, j] * V0[j] - TK[i, j] * e[j]
            for j in range(n):
                f += inverse[j, i] * total.yielding[j]
            force[i, 0] = f
            momentum[i, 0] = 0.0
            for j in range(6):
                momentum[i, 0] += M[i, j] * V0[j]
        for i in range(6):
            for c in range(1, columns):
                force[i, c] = momentum[i, c] = 0.0
            force[i, 1], force[i, 2] = state.carried[i], wrench[i] - state.felt_from[i]
            for j in range(6):
                momentum[i, 2] += M[i, j] * state.felt[j]
            if columns > 3:
                force[i, 3 + i] = 1.0
        hold_only(axes, M, B, S, momentum, force)
        propagate(System(M, B, S), dt, momentum, force, V, y)
        if sweep + 1 < passes:
            for i in range(3):
                mid[i] = phi[i]
                for j in range(3):
                    mid[i] += 0.5 * T[3 + i, 3 + j] * (y[3 + j, 0] + y[3 + j, 1])


@inlined_kernel
def unchanged_acceleration(law: Law, inverse: Array, out: Array) -> None:
    """Compute the tool acceleration (6,) in this sample if the program of the previous sample were still active.

    Its sum is extrapolated to this sample with its own stiffness and damping; the set-point is extrapolated with its
    acceleration. ``inverse`` as in :func:`respond`.
    """
    state, settings, total = law.state, law.before.settings, law.before.total
    V0, V, dt = law.response.V0, law.response.V, state.step[0]
    for i in range(6):
        for j in range(6):
            total.force[i] -= dt * total.stiffness[i, j] * state.velocity[j]
            total.force[i] -= dt * total.damping[i, j] * state.acceleration[j]
    respond(law.before, state, inverse, 3, law.response)
    for i in range(6):
        out[i] = (V[i, 0] + V[i, 1] - V0[i]) / dt + state.set_acceleration[i]
        if settings.axes[i] == 0.0:  # a free axis, which moves as the joints do
            out[i] = state.acceleration[i]
