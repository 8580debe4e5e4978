"""The redundant part of the law: one sample of the impedance in the null space of the tool task (compiled).

With ``N`` the basis of that space: ``N^T M_q N rho'' + N^T B_q N rho' = N^T (sum tau_b + c)``. The carried effort ``c``
compensates for changes of the program, as the carried force does in :mod:`tool_step`.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.carried_force import RAMP_SHARE
from flexarm_core.behavior_impedance.layout import Law, Program, Settings, State
from flexarm_core.behavior_impedance.motion_space import solve
from flexarm_core.compiled import inlined_kernel
from flexarm_core.types import Array


@inlined_kernel
def joint_step(law: Law, velocity: Array, N: Array) -> None:
    """Integrate the redundant part by the implicit Euler method; write the displacement into the state.

    Args:
        law: the law; the sum of the previous program is overwritten if the program has changed.
        velocity: (n,) commanded joint velocities [rad/s | m/s].
        N: (n, r) orthonormal basis of the joint motions that do not move the tool.
    """
    n, r = N.shape
    state, old_total = law.state, law.before.total
    dt, displacement = state.step[0], state.displacement
    for i in range(n):
        displacement[i] = 0.0
    if r == 0:
        return
    A, X, rho, kept = np.empty((r, r)), np.empty((r, 2)), np.zeros(r), np.zeros(r)
    for c in range(r):
        for i in range(n):
            rho[c] += N[i, c] * velocity[i]
    if state.known[0] == 0.0:
        for c in range(r):  # continue with the acceleration of the previous sample
            kept[c] = rho[c]
            for i in range(n):
                kept[c] += dt * N[i, c] * state.joint_acceleration[i]
    elif state.changed[0] > 0.0:
        for i in range(n):
            for j in range(n):
                old_total.effort[i] -= dt * old_total.effort_stiffness[i, j] * velocity[j]
                old_total.yielding[i] -= dt * old_total.yielding_stiffness[i, j] * velocity[j]
        _respond(law.before, state, rho, N, A, X)
        for c in range(r):
            kept[c] = X[c, 0] + X[c, 1]
    _respond(law.now, state, rho, N, A, X)
    if state.changed[0] > 0.0 or state.known[0] == 0.0:
        for c in range(r):
            X[c, 1] = kept[c] - X[c, 0]
    _fade(dt, law.now.settings, N, X)
    for i in range(n):
        state.carried_effort[i] = 0.0
    for a in range(r):
        g = 0.0
        for b in range(r):
            g += A[a, b] * X[b, 1]
        for i in range(n):
            state.carried_effort[i] += N[i, a] * g / dt
    for i in range(n):
        rate = before = 0.0
        for a in range(r):
            rate += N[i, a] * (X[a, 0] + X[a, 1])
            before += N[i, a] * rho[a]
        displacement[i] = rate * dt
        state.joint_acceleration[i] = (rate - before) / dt


@inlined_kernel
def _respond(program: Program, state: State, rho: Array, N: Array, A: Array, X: Array) -> None:
    """Compute the rates ``X`` (r, 2) at the end of the sample due to the program and to the carried effort.

    ``A`` (r, r) is set to the system matrix of the implicit Euler step.
    """
    n, r = N.shape
    settings, total, dt = program.settings, program.total, state.step[0]
    W, S, reduced, G = np.empty((n, r)), np.empty((n, r)), np.empty((r, r)), np.empty((r, r))
    M, B, Ke, Ky = settings.joint_inertia, settings.joint_damping, total.effort_stiffness, total.yielding_stiffness
    for c in range(r):
        for i in range(n):
            W[i, c] = S[i, c] = 0.0
            for j in range(n):
                W[i, c] += M[i, j] * N[j, c]
                S[i, c] += (dt * B[i, j] + dt * dt * (Ke[i, j] + Ky[i, j])) * N[j, c]
    for a in range(r):
        for b in range(r):
            reduced[a, b] = A[a, b] = 0.0
            for i in range(n):
                reduced[a, b] += N[i, a] * W[i, b]
                A[a, b] += N[i, a] * (W[i, b] + S[i, b])
            G[a, b] = A[a, b]
    for a in range(r):
        f = g = 0.0
        for i in range(n):
            f += N[i, a] * (total.effort[i] + total.yielding[i])
            g += N[i, a] * state.carried_effort[i]
        X[a, 0], X[a, 1] = dt * f, dt * g
        for b in range(r):
            X[a, 0] += reduced[a, b] * rho[b]
    solve(G, X)


@inlined_kernel
def _fade(dt: float, settings: Settings, N: Array, X: Array) -> None:
    """Reduce the carried effort; the resulting change of acceleration stays within the allowed step."""
    largest = 0.0
    for i in range(N.shape[0]):
        part = 0.0
        for a in range(N.shape[1]):
            part += N[i, a] * X[a, 1]
        largest = max(largest, abs(part) / dt)
    keep = max(1.0 - RAMP_SHARE * settings.steps[2] / max(largest, 1e-300), 0.0)
    for a in range(N.shape[1]):
        X[a, 1] *= keep
