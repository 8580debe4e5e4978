"""The redundant joints' part of the law: one sample of the impedance in their space (compiled).

With ``N`` the basis of the space: ``N^T M_q N rho'' + N^T B_q N rho' = N^T sum tau_b``.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.layout import CHANGED, JOINT_MATRICES, JOINT_PART, OUT_JOINTS, STEPS, TOOL_PART
from flexarm_core.behavior_impedance.motion_space import solve
from flexarm_core.behavior_impedance.tool_step import RAMP_SHARE, WITHIN
from flexarm_core.compiled import kernel, view
from flexarm_core.types import Array


@kernel
def joint_step(dt: float, settings: Array, total: Array, state: Array, velocity: Array, N: Array, out: Array) -> None:
    """The redundant joints' part, by the implicit Euler method: their displacement (n,) into ``out[OUT_JOINTS:]``."""
    n, r = N.shape
    for i in range(n):
        out[OUT_JOINTS + i] = 0.0
    if r == 0:
        return
    A, X, W, S = np.empty((r, r)), np.empty((r, 2)), np.empty((n, r)), np.empty((n, r))
    M, B = view(settings, JOINT_MATRICES, (n, n)), view(settings, JOINT_MATRICES + n * n, (n, n))
    Ke, Ky = view(total, TOOL_PART + 2 * n, (n, n)), view(total, TOOL_PART + 2 * n + n * n, (n, n))
    rho, reduced = np.empty(r), np.empty((r, r))
    for c in range(r):
        rho[c] = 0.0
        for i in range(n):
            rho[c] += N[i, c] * velocity[i]
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
    for a in range(r):
        f = g = 0.0
        for i in range(n):
            f += N[i, a] * (total[TOOL_PART + i] + total[TOOL_PART + n + i])
            g += N[i, a] * state[JOINT_PART + i]
        X[a, 0], X[a, 1] = dt * f, dt * g
        for b in range(r):
            X[a, 0] += reduced[a, b] * rho[b]
    G = A.copy()
    solve(G, X)
    if state[CHANGED] > 0.0:
        for a in range(r):
            X[a, 1] = 0.0
    else:
        _fade(dt, settings, N, X)
    _bound_step(dt, settings, state, rho, N, X)
    # the effort that makes up for the change
    for i in range(n):
        state[JOINT_PART + i] = 0.0
    for a in range(r):
        g = 0.0
        for b in range(r):
            g += A[a, b] * X[b, 1]
        for i in range(n):
            state[JOINT_PART + i] += N[i, a] * g / dt
    for i in range(n):
        rate = before = 0.0
        for a in range(r):
            rate += N[i, a] * (X[a, 0] + X[a, 1])
            before += N[i, a] * rho[a]
        out[OUT_JOINTS + i] = rate * dt
        state[JOINT_PART + n + i] = (rate - before) / dt


@kernel
def _fade(dt: float, settings: Array, N: Array, X: Array) -> None:
    """Take the carried effort away, by no more than the allowed step of the acceleration that it makes."""
    largest = 0.0
    for i in range(N.shape[0]):
        part = 0.0
        for a in range(N.shape[1]):
            part += N[i, a] * X[a, 1]
        largest = max(largest, abs(part) / dt)
    keep = max(1.0 - RAMP_SHARE * settings[STEPS + 2] / max(largest, 1e-300), 0.0)
    for a in range(N.shape[1]):
        X[a, 1] *= keep


@kernel
def _bound_step(dt: float, settings: Array, state: Array, rho: Array, N: Array, X: Array) -> None:
    """Hold back what is beyond the allowed step of the acceleration, while a change is being made up for."""
    n, r = N.shape
    there = state[CHANGED]
    for a in range(r):
        there += abs(X[a, 1])
    if there == 0.0:
        return
    largest, step = 0.0, np.empty(r)
    for a in range(r):
        step[a] = (X[a, 0] + X[a, 1] - rho[a]) / dt
        for i in range(n):
            step[a] -= N[i, a] * state[JOINT_PART + n + i]
    for i in range(n):
        part = 0.0
        for a in range(r):
            part += N[i, a] * step[a]
        largest = max(largest, abs(part))
    most = 0.0 if state[CHANGED] > 0.0 else WITHIN * settings[STEPS + 2]
    if largest > most:
        for a in range(r):
            X[a, 1] -= step[a] * (1.0 - most / largest) * dt
