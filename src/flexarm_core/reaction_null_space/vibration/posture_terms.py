"""Terms of the control laws at one posture: selected motions of the base, their damping, and inertias (compiled).

The symbols are those of ``controller`` and ``torque_law``. With ``load = D_b xd_b + K_b x_b + c_b`` the base
acceleration is ``xdd_b = -H_b^-1 (load + H_bm qdd)``. Elimination of ``xdd_b`` gives, for joint efforts
``H_m a + c_m + D_m qd``,

    (H_m - H_bm^T H_b^-1 H_bm) qdd = H_m a + H_bm^T H_b^-1 load

Directions without a spring, u, that are not selected give way freely: ``xdd_u = -H_uu^-1 (load_u + H_um qdd)``. What is
selected then feels only ``rows H_bm qdd`` with ``rows = S - S H_bu H_uu^-1 E_u``, and the tool moves by the generalized
Jacobian ``J_m - J_b E_u^T H_uu^-1 H_um`` (Umetani and Yoshida 1989).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import allocating_kernel
from flexarm_core.reaction_null_space.coupling.base_modes import find_modes
from flexarm_core.reaction_null_space.coupling.small_matrices import (
    backward,
    cholesky_semidefinite,
    forward,
    product,
    times,
)
from flexarm_core.types import Array


@allocating_kernel
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


@allocating_kernel
def floating(K_b: Array, S: Array) -> NDArray[np.int64]:
    """Return the directions (u,) without a spring that are not among the given motions S (k, m)."""
    free = np.empty(K_b.shape[0], np.int64)
    count = 0
    for i in range(K_b.shape[0]):
        kept = K_b[i, i] > 0.0
        for j in range(S.shape[0]):
            kept = kept or S[j, i] != 0.0
        if not kept:
            free[count] = i
            count += 1
    return free[:count]


@allocating_kernel
def floating_response(H_b: Array, pushes: Array, free: NDArray[np.int64]) -> Array:
    """Return the accelerations (m, c) of free directions under generalized forces (m, c); 0 in the other directions."""
    u, m, c = free.shape[0], pushes.shape[0], pushes.shape[1]
    H, x, L, response = np.empty((u, u)), np.empty((u, c)), np.empty((u, u)), np.zeros((m, c))
    for i in range(u):
        x[i] = pushes[free[i]]
        for j in range(u):
            H[i, j] = H_b[free[i], free[j]]
    cholesky_semidefinite(H, L)
    forward(L, x)
    backward(L, x)
    for i in range(u):
        response[free[i]] = x[i]
    return response


@allocating_kernel
def select(H_b: Array, K_b: Array, S: Array, soft: int, damping_ratio: float, literal_gain: float) -> Any:
    """Return the selected motions at one posture: rows S (k, m) and their damping ``S H_b G_b`` (k, m).

    Args:
        H_b: (m, m) base inertia.
        K_b: (m, m) base stiffness.
        S: (k, m) given rows; used if ``soft`` is 0. Free directions that they do not select give way.
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
    rows, free = S.copy(), floating(K_b, S)
    if free.shape[0] > 0:
        rows -= floating_response(H_b, product(H_b, S.T), free).T
    H = product(product(rows, H_b), rows.T)
    D = literal_gain * H if literal_gain > 0.0 else damping_of(H, product(product(S, K_b), S.T), damping_ratio)
    return rows, product(D, S)


@allocating_kernel
def yielding_inertia(H_b: Array, H_bm: Array, H_m: Array, rows: Array) -> Array:
    """Return the joint inertia (n, n) when motions S (k, m) yield: ``H_m - (S H_bm)^T (S H_b S^T)^-1 S H_bm``."""
    coupled = product(rows, H_bm)
    H = product(product(rows, H_b), rows.T)
    L = np.empty_like(H)
    cholesky_semidefinite(H, L)
    forward(L, coupled)
    return H_m - product(coupled.T, coupled)


@allocating_kernel
def base_acceleration(L: Array, H_bm: Array, load: Array, acceleration: Array) -> Array:
    """Return the base acceleration ``-H_b^-1 (load + H_bm qdd)`` (m,) with ``H_b = L L^T``."""
    x = (-load - times(H_bm, acceleration)).reshape(-1, 1)
    forward(L, x)
    backward(L, x)
    return x[:, 0].copy()


@allocating_kernel
def giving_way(H_bm: Array, H_m: Array, S: Array, K_b: Array) -> Array:
    """Return the map (n, m) from the base rate to the joint velocity that it causes in joints without effort.

    The map is ``-H_m^-1 H_bm^T S^T (S K_b S^T)^-1 S K_b``; only the selected motions S (k, m) of the base enter.
    """
    SK = product(S, K_b)
    K, L, L_m = product(SK, S.T), np.empty((S.shape[0], S.shape[0])), np.empty_like(H_m)
    cholesky_semidefinite(K, L)
    forward(L, SK)
    backward(L, SK)
    moved = product(H_bm.T, product(S.T, SK))
    cholesky_semidefinite(H_m, L_m)
    forward(L_m, moved)
    backward(L_m, moved)
    return -moved


@allocating_kernel
def coupled_inertia(L: Array, H_bm: Array) -> Array:
    """Return ``H_bm^T H_b^-1 H_bm`` (n, n)."""
    X = H_bm.copy()
    forward(L, X)
    return product(X.T, X)


@allocating_kernel
def yielded_inertia(H_bm: Array, H_m: Array) -> Array:
    """Return ``H_bm H_m^-1 H_bm^T`` (m, m)."""
    L_m, X = np.empty_like(H_m), H_bm.T.copy()
    cholesky_semidefinite(H_m, L_m)
    forward(L_m, X)
    return product(X.T, X)
