"""Identities of the reaction null space on random states: how far each is from holding, for tests and benchmarks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rns_cases import Case, MujocoJudge
from scipy.integrate import solve_ivp

from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.types import ArmState, Array

TINY = 1e-9  # of the largest entry: no posture is taken for singular


def projector_error(case: Case, rng: np.random.Generator, count: int) -> float:
    """Largest of ``S H_bm P`` over ``|S H_bm|``, ``P P - P`` and ``P - P^T``."""
    worst = 0.0
    for _ in range(count):
        A, _ = case.coupling(case.state(rng))
        P = _inverse(A)[1]
        size = np.abs(A).max()
        worst = max(worst, np.abs(A @ P).max() / size, np.abs(P @ P - P).max(), np.abs(P - P.T).max())
    return float(worst)


def reaction_residual(case: Case, rng: np.random.Generator, count: int) -> float:
    """Largest reaction along the selected motions under (9) by MuJoCo, over the force that it takes if that is above 1.

    ``qdd = -(S H_bm)^+ S dH_bm qd + P zeta``
    """
    judge, worst = MujocoJudge(case.model), 0.0
    for _ in range(count):
        state = case.state(rng)
        acceleration = reactionless(case, state, rng.normal(size=case.model.n))
        rows = case.selection.at(case.model.blocks(state), 0.0, 0.0).rows
        residual = np.abs(rows @ judge.reaction(state, acceleration)).max()
        force = np.abs(rows @ case.model.blocks(state).H_bm) @ np.abs(acceleration)
        worst = max(worst, residual / max(1.0, force.max()))
    return float(worst)


def reactionless(case: Case, state: ArmState, zeta: Array) -> Array:
    """Acceleration (n,) of (9)."""
    A, bias = case.coupling(state)
    inverse, P = _inverse(A)
    return -inverse @ bias + P @ zeta


def momentum_error(case: Case, rng: np.random.Generator, count: int) -> float:
    """Largest ``S H_bm qd - L0`` under the velocity (10), ``qd = (S H_bm)^+ L0 + P zeta``, over ``|S H_bm| |qd|``."""
    worst = 0.0
    for _ in range(count):
        A, _ = case.coupling(case.state(rng))
        inverse, P = _inverse(A)
        momentum = rng.normal(size=len(A))
        velocity = inverse @ momentum + P @ rng.normal(size=case.model.n)
        size = (np.abs(A) @ np.abs(velocity)).max()
        worst = max(worst, np.abs(A @ velocity - momentum).max() / size)
    return float(worst)


def momentum_drift(case: Case, rng: np.random.Generator, count: int, duration: float = 0.5) -> float:
    """Largest change of the coupling momentum (8) along motions by (9), over ``|S H_bm| |qd|``.

    The rows of S must be constant. Motions begin at random states and end early near a singularity, where (9) is not
    defined.
    """
    n, worst, none = case.model.n, 0.0, np.zeros(case.model.m)
    while count > 0:
        start, push, phase = case.state(rng), rng.normal(size=n), rng.uniform(0.0, 6.0, n)

        def moving(y: Array) -> ArmState:
            return ArmState(0, y[:n], y[n:], none, none)

        def rate(t: float, y: Array, push: Array = push, phase: Array = phase) -> Array:
            return np.concatenate((y[n:], reactionless(case, moving(y), push * np.sin(5.0 * t + phase))))

        def regular(_: float, y: Array) -> float:
            blocks = case.model.blocks(moving(y))
            values = np.linalg.svd(case.coupling(moving(y))[0], compute_uv=False)
            return float(values[-1] - 0.01 * np.sqrt(np.trace(blocks.H_b) * np.trace(blocks.H_m)))

        regular.terminal = True  # type: ignore[attr-defined]
        begin = np.concatenate((start.position, start.velocity))
        if regular(0.0, begin) <= 0.0:
            continue
        count -= 1
        run = solve_ivp(rate, (0.0, duration), begin, rtol=1e-10, atol=1e-12, method="DOP853", events=regular)
        A = case.coupling(moving(begin))[0]
        first = A @ start.velocity
        for y in run.y.T:
            A = case.coupling(moving(y))[0]
            worst = max(worst, np.abs(A @ y[n:] - first).max() / (np.abs(A) @ np.abs(y[n:])).max())
    return float(worst)


def inertia_error(case: Case, rng: np.random.Generator, count: int) -> float:
    """Largest difference of H_b, H_bm and H_m from MuJoCo's mass matrix, over its largest entry."""
    judge, worst = MujocoJudge(case.model), 0.0
    for _ in range(count):
        state = case.state(rng, swing=0.1)
        blocks, theirs = case.model.blocks(state), judge.inertia(state)
        size = max(np.abs(block).max() for block in theirs)
        for ours, block in zip((blocks.H_b, blocks.H_bm, blocks.H_m), theirs, strict=True):
            worst = max(worst, np.abs(ours - block).max() / size)
    return float(worst)


def energy_error(case: Case, rng: np.random.Generator, count: int) -> float:
    """Largest miss of ``dE/dt = tau . qd - xd D_b xd - qd D_m qd`` over ``|tau| . |qd|``.

    E is kinetic and spring energy of our blocks, ``dE/dt = v H a + v dH v / 2 + x_b K_b xd_b``, the accelerations a are
    those that MuJoCo finds under random efforts, and dH is the central difference of H along v.
    """
    model, judge, worst, step = case.model, MujocoJudge(case.model), 0.0, 1e-5
    for _ in range(count):
        state = case.state(rng, swing=0.1)
        effort = rng.normal(size=model.n) * np.abs(np.diag(model.blocks(state).H_m))
        x, xd, qd = state.deflection, state.deflection_rate, state.velocity
        acceleration, base = judge.acceleration(state, effort)
        ahead, behind = (replace(state, position=state.position + t * qd, deflection=x + t * xd) for t in (step, -step))
        change = (_kinetic(case, ahead, xd, qd, xd, qd) - _kinetic(case, behind, xd, qd, xd, qd)) / (2.0 * step)
        rate = _kinetic(case, state, xd, qd, base, acceleration) + 0.5 * change + x @ model.K_b @ xd
        power = effort @ qd - qd @ (model.D_m * qd) - xd @ model.D_b @ xd
        size = np.abs(effort) @ np.abs(qd) + np.abs(xd) @ model.K_b @ np.abs(x)
        worst = max(worst, abs(rate - power) / size)
    return float(worst)


def total_energy(case: Case, state: ArmState) -> float:
    """Kinetic energy and that of the springs [J]."""
    xd, qd = state.deflection_rate, state.velocity
    kinetic = 0.5 * _kinetic(case, state, xd, qd, xd, qd)
    return kinetic + 0.5 * float(state.deflection @ case.model.K_b @ state.deflection)


def _kinetic(case: Case, state: ArmState, xd: Array, qd: Array, xdd: Array, qdd: Array) -> float:
    """``v H a`` at the posture of a state."""
    blocks = case.model.blocks(state)
    momentum = blocks.H_b @ xdd + blocks.H_bm @ qdd
    return float(xd @ momentum + qd @ (blocks.H_bm.T @ xdd + blocks.H_m @ qdd))


def _inverse(matrix: Array) -> tuple[Array, Array]:
    """Pseudo-inverse and null-space projector."""
    threshold = TINY * float(np.abs(matrix).max())
    found = damped_inverse(matrix, threshold, threshold)
    return found.inverse, found.null_projector()
