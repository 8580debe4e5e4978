r"""Predicted readings of force/torque sensors and IMUs at a state, and their derivatives (compiled).

Readings ``r(x, v, a)`` are affine in the accelerations. Under given efforts ``a`` depends on the state through the
inverse dynamics ``T(x, v, a)`` minus the hinge forces, which gives, with ``D = dr/da``::

    dr/ds = dr/ds|_a - D M^-1 dT/ds|_a        s = x, v

The derivatives change as slowly as the posture does: a share of them is renewed each sample, by forward differences.
"""

from __future__ import annotations

import math

from flexarm_core.compiled import inlined_kernel
from flexarm_core.flexible_dynamics.coupled_hinges import follow
from flexarm_core.flexible_dynamics.dense import inverse_sweep
from flexarm_core.flexible_dynamics.estimation.covariance import assign_rows
from flexarm_core.flexible_dynamics.estimation.imu import imu_reading
from flexarm_core.flexible_dynamics.estimation.memory import Filter
from flexarm_core.flexible_dynamics.kinematics import load_bodies, move_bodies
from flexarm_core.flexible_dynamics.recursion import hinge_forces, respond
from flexarm_core.types import Array

DIFFERENCE = 1e-6  # [sqrt(kg)*m | rad | m, and their rates] step of the forward differences


@inlined_kernel
def read_motion(s: Filter, x: Array, v: Array, a: Array, readings: Array) -> None:
    """Compute readings (c, 6) at given accelerations, and the forces ``effort`` of ``s.now``.

    Requires ``load_bodies`` at coordinates ``x`` and rates ``v``.
    """
    plan, tree, ws, modes = s.plan, s.tree, s.now, s.ahead.motion
    frame, influence = s.constants.frame, s.constants.influence
    inverse_sweep(tree, ws, a)
    for i in range(plan.sensors):
        b = plan.body[i]
        if plan.felt[i] > 0:
            for c in range(6):
                readings[i, c] = -ws.through[b, c]
        elif b < 0:
            for c in range(3):
                readings[i, 3 + c] = 0.0
                readings[i, c] = 0.0
                for j in range(3):
                    readings[i, c] += frame[i, 2 + j, c] * tree.root[j]
        else:
            k, e = tree.modes[b], tree.first_mode[b]
            for m in range(k):
                modes[0, m], modes[1, m], modes[2, m] = x[e + m], v[e + m], a[e + m]
            imu_reading(ws, b, frame[i], influence[i][:, :k], modes[:, :k], readings[i])


@inlined_kernel
def renew(s: Filter, share: float) -> None:
    """Renew a share of the derivatives at the state ``s.ahead.x, s.ahead.v``.

    Requires ``forward_sweeps`` there, which gave ``s.ahead.a``. The others are copied from the stored ones. A contact
    wrench is constant in the axes of its body, like the sensor that measures it.
    """
    tree, ws, plan, kept, f = s.tree, s.now, s.plan, s.kept, s.ahead
    size, N, linear = plan.size, plan.N, plan.linear
    effort, forces, unit, a = ws.effort, f.lines[0], f.lines[1], f.lines[2]
    here, there = f.readings[0], f.readings[1]
    assign_rows(f.shown, kept.shown)
    assign_rows(f.forces, kept.forces)
    states = min(2 * N, math.ceil(2 * N * share))
    coordinates = min(size, math.ceil(size * share))
    f.renewed[0], f.renewed[1] = states, coordinates
    for i in range(size):
        unit[i] = 0.0
    for m in range(coordinates):
        j = (int(kept.turn[1]) + m) % size
        unit[j] = 1.0
        respond(tree, ws, unit, False, f.responses[m])
        unit[j] = 0.0
    load_bodies(tree, ws, f.x, f.v)
    read_motion(s, f.x, f.v, f.a, here)
    for m in range(coordinates):
        j = (int(kept.turn[1]) + m) % size
        for i in range(size):
            a[i] = f.a[i] + f.responses[m, i]
        read_motion(s, f.x, f.v, a, there)
        for i in range(plan.sensors):
            for b in range(6):
                f.forces[j, linear + 6 * i + b] = there[i, b] - here[i, b]
    for m in range(states):
        j = (int(kept.turn[0]) + m) % (2 * N)
        state, place = f.x if j < N else f.v, plan.free[j % N]
        was = state[place]
        state[place] += DIFFERENCE
        follow(tree, state)
        move_bodies(tree, ws, f.x, f.v)
        load_bodies(tree, ws, f.x, f.v)
        read_motion(s, f.x, f.v, f.a, there)
        hinge_forces(tree, f.x, f.v, kept.hinge, 0.0, forces)
        state[place] = was
        follow(tree, state)
        for i in range(plan.sensors):
            for b in range(6):
                f.shown[j, linear + 6 * i + b] = there[i, b] - here[i, b]
        for i in range(size):
            missing = effort[i] - forces[i]
            for r in range(linear, plan.rows):
                f.shown[j, r] -= f.forces[i, r] * missing
        for r in range(linear, plan.rows):
            f.shown[j, r] /= DIFFERENCE
