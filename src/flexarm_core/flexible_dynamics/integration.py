"""Classical Runge-Kutta steps of the recursion (compiled), for simulation: explicit, so the step must resolve every mode."""

from __future__ import annotations

from flexarm_core.flexible_dynamics.recursion import forward_dynamics
from flexarm_core.flexible_dynamics.tree import Index, kernel
from flexarm_core.types import Array


@kernel
def runge_kutta(
    integers: Index, constants: Array, memory: Array, x: Array, v: Array, effort: Array, h: float, steps: int, work: Array
) -> None:
    """Advance coordinates ``x`` and rates ``v`` (h + K,) in place by ``steps`` of ``h`` [s] under constant efforts.

    ``work`` is (6, h + K). External wrenches in ``memory`` are held in axes of their bodies.
    """
    k1, k2, k3, k4, at, rate = work[0], work[1], work[2], work[3], work[4], work[5]
    for _ in range(steps):
        forward_dynamics(integers, constants, memory, x, v, effort, k1)
        for i in range(len(x)):
            at[i], rate[i] = x[i] + 0.5 * h * v[i], v[i] + 0.5 * h * k1[i]
        forward_dynamics(integers, constants, memory, at, rate, effort, k2)
        for i in range(len(x)):
            at[i], rate[i] = x[i] + 0.5 * h * v[i] + 0.25 * h * h * k1[i], v[i] + 0.5 * h * k2[i]
        forward_dynamics(integers, constants, memory, at, rate, effort, k3)
        for i in range(len(x)):
            at[i], rate[i] = x[i] + h * v[i] + 0.5 * h * h * k2[i], v[i] + h * k3[i]
        forward_dynamics(integers, constants, memory, at, rate, effort, k4)
        for i in range(len(x)):
            x[i] += h * v[i] + h * h / 6.0 * (k1[i] + k2[i] + k3[i])
            v[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
