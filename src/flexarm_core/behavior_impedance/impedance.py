r"""Integrates ``M V' + B V + S y = f``, ``y' = V`` over one interval by the three-stage Radau IIA method.

Each interval needs one real and one complex linear solve. The method is of order 5, L-stable (a stiff spring or
a heavy damper settles, whatever the sampling period) and algebraically stable: with symmetric ``M``, ``B``, ``S`` >= 0
the energy ``V M V / 2 + y S y / 2`` grows by no more than ``f . y``, also in discrete time. ``M = 0`` gives the
velocity variant of the law (patent claim 3).

For constant matrices a Runge-Kutta method is a rational function ``R(h A)``; in partial fractions over the poles ``p``
of ``R``, with residues ``c``, the solution is

    V1 = sum_p (c / p) u_p,    y1 = sum_p (c / p) h u_p / p,    (p M + h B + h^2 / p S) u_p = p M V0 + h f

so that no linear system larger than ``M`` is solved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexarm_core.behavior_impedance.motion_space import solve
from flexarm_core.compiled import allocating_kernel
from flexarm_core.types import Array

# Poles and residues of the (2, 3) Pade approximation of exp: (1 + 2z/5 + z^2/20) / (1 - 3z/5 + 3z^2/20 - z^3/60).
_roots = np.roots([-1.0 / 60.0, 3.0 / 20.0, -3.0 / 5.0, 1.0])
_residues = -(1.0 + 0.4 * _roots + 0.05 * _roots**2) / (-0.6 + 0.3 * _roots - 0.05 * _roots**2)
_real, _pair = int(np.argmin(np.abs(_roots.imag))), int(np.argmax(_roots.imag))
POLE, RESIDUE = float(_roots[_real].real), float(_residues[_real].real)
POLES, RESIDUES = complex(_roots[_pair]), complex(_residues[_pair])


class System(NamedTuple):
    """Matrices (k, k) of ``M V' + B V + S y = f``."""

    M: Array  # inertia; zero for a law without inertia
    B: Array  # damping
    S: Array  # stiffness


@allocating_kernel
def propagate(system: System, h: float, momentum: Array, force: Array, V: Array, y: Array) -> None:
    """Compute velocities and displacements at the end of an interval, for several right-hand sides at once.

    Args:
        system: matrices of the equation.
        h: length of the interval [s].
        momentum: (k, m) initial momentum ``M V0``.
        force: (k, m) force, constant over the interval.
        V: (k, m) output: velocity at the end.
        y: (k, m) output: displacement over the interval.
    """
    M, B, S = system
    k, m = force.shape
    A, X = np.empty((k, k)), np.empty((k, m))
    C, Z = np.empty((k, k), dtype=np.complex128), np.empty((k, m), dtype=np.complex128)
    for i in range(k):
        for j in range(k):
            A[i, j] = POLE * M[i, j] + h * B[i, j] + h * h / POLE * S[i, j]
            C[i, j] = POLES * M[i, j] + h * B[i, j] + h * h / POLES * S[i, j]
        for j in range(m):
            X[i, j] = POLE * momentum[i, j] + h * force[i, j]
            Z[i, j] = POLES * momentum[i, j] + h * force[i, j]
    solve(A, X)
    solve(C, Z)
    for i in range(k):
        for j in range(m):
            u, w = RESIDUE / POLE * X[i, j], RESIDUES / POLES * Z[i, j]
            V[i, j] = u + 2.0 * w.real
            y[i, j] = h * (u / POLE + 2.0 * (w / POLES).real)
