"""Time integration of the forward dynamics (compiled), for simulation."""

from __future__ import annotations

from flexarm_core.compiled import kernel
from flexarm_core.flexible_dynamics.kinematics import load_bodies, move_bodies
from flexarm_core.flexible_dynamics.recursion import articulate, forward_sweeps, hinge_forces, respond
from flexarm_core.flexible_dynamics.tree import BodyTree, Index, Workspace, view_tree, view_workspace
from flexarm_core.types import Array


@kernel
def runge_kutta(integers: Index, constants: Array, memory: Array, effort: Array, h: float, steps: int) -> None:
    """Integrate by the classical Runge-Kutta method: accurate but explicit, so the step must resolve every mode.

    Advances the coordinates ``x`` and rates ``v`` of the workspace by ``steps`` steps of ``h`` [s] with constant hinge
    efforts (h,). External wrenches in the workspace stay constant in axes of their bodies.
    """
    tree, ws = view_tree(integers, constants), view_workspace(memory)
    x, v, lines = ws.x, ws.v, ws.lines
    k1, k2, k3, k4, at, rate = lines[0], lines[1], lines[2], lines[3], lines[4], lines[5]
    for _ in range(steps):
        forward_sweeps(tree, ws, x, v, effort, k1)
        for i in range(len(x)):
            at[i], rate[i] = x[i] + 0.5 * h * v[i], v[i] + 0.5 * h * k1[i]
        forward_sweeps(tree, ws, at, rate, effort, k2)
        for i in range(len(x)):
            at[i], rate[i] = x[i] + 0.5 * h * v[i] + 0.25 * h * h * k1[i], v[i] + 0.5 * h * k2[i]
        forward_sweeps(tree, ws, at, rate, effort, k3)
        for i in range(len(x)):
            at[i], rate[i] = x[i] + h * v[i] + 0.5 * h * h * k2[i], v[i] + h * k3[i]
        forward_sweeps(tree, ws, at, rate, effort, k4)
        for i in range(len(x)):
            x[i] += h * v[i] + h * h / 6.0 * (k1[i] + k2[i] + k3[i])
            v[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])


@kernel
def implicit_midpoint(integers: Index, constants: Array, memory: Array, effort: Array, h: float, steps: int) -> None:
    """Integrate by the implicit midpoint rule; stable for modes of any stiffness.

    Springs and dampers are solved exactly, all other terms with one correction. With the mean acceleration ``a`` over
    the step, ``x += h v + h^2/2 a`` and ``v += h a``, of second order. Inertia and bias are evaluated first at
    ``x + h/2 v, v``, then at the midpoint ``x + h/2 v + h^2/4 a, v + h/2 a``: two evaluations of the acceleration per
    step. Predicting the midpoint from the previous step would need only one, but makes stiff modes unstable.

    The arguments are those of :func:`runge_kutta`.
    """
    tree, ws = view_tree(integers, constants), view_workspace(memory)
    x, v, mean, at, rate = ws.x, ws.v, ws.acceleration, ws.lines[0], ws.lines[1]
    ws.step[0] = h
    for _ in range(steps):
        for i in range(len(x)):
            at[i], rate[i] = x[i] + 0.5 * h * v[i], v[i]
        for stage in range(2):
            move_bodies(tree, ws, at, rate)
            load_bodies(tree, ws, at, rate)
            articulate(tree, ws)
            hinge_forces(tree, x, v, effort, 0.5 * h, ws.total)
            restore_springs(tree, ws, at, rate)
            respond(tree, ws, ws.total, True, mean)
            if stage == 0:
                for i in range(len(x)):
                    at[i] += 0.25 * h * h * mean[i]
                    rate[i] += 0.5 * h * mean[i]
        for i in range(len(x)):
            x[i] += h * v[i] + 0.5 * h * h * mean[i]
            v[i] += h * mean[i]
    ws.step[0] = 0.0


@kernel
def restore_springs(tree: BodyTree, ws: Workspace, at: Array, rate: Array) -> None:
    """Write modal forces to ``ws.total`` that refer spring and damper forces of the bias to the start of the step."""
    x, v, half = ws.x, ws.v, 0.5 * ws.step[0]
    for i in range(len(tree.parent)):
        k, e = tree.modes[i], tree.first_mode[i]
        for m in range(k):
            s = 0.0
            for n in range(k):
                faster = rate[e + n] - v[e + n]
                s += tree.K[i, m, n] * (at[e + n] - x[e + n] + half * faster) + tree.C[i, m, n] * faster
            ws.total[e + m] = s
