"""Friction of all joints over one integration step (compiled): the set-valued law, solved to machine precision.

Over a step ``h`` the joint velocity becomes ``v+ = v + h (a + W t)`` under a friction effort ``t``, with the joint
acceleration ``a`` without friction and the mobility ``W``. The viscous part is taken at the mean of both velocities,
which is equivalent to no viscous part with modified ``a`` and ``W``. The dry part ``m`` of each joint obeys ``m = -L``
where ``v+ > r``, ``m = L`` where ``v+ < r`` and ``|m| <= L`` where ``v+ = r``; with ``r = 0`` this is Coulomb's law at
the end of the step. It is the optimality condition of

    minimize  m^T W m / 2 + c^T m,    c = a + (v - r) / h,    subject to    |m| <= L

whose unique solution an active-set method finds in finitely many iterations. ``L`` depends on the mean velocity of the
step and is found by fixed-point iteration.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.types import Array
from flexarm_sim.box_minimum import least_in_box

Index = NDArray[np.intp]

PASSES = 3  # iterations over the friction level, which depends on the velocity
RETURN = 1.0 / 3.0  # fraction of its distance to the sticking position by which a joint returns in a step


# Plain tuples: for numba a named one costs seven times as much.
# Positions [rad | m], velocities and accelerations without friction (c,) of a robot at the start of a step.
Motion = tuple[Array, Array, Array]
# Joints with friction: (n,) their indices among the c coordinates; (7, n) from ``JointFriction.table``; (7, n) state;
# (2 n + 8, n) work array. Rows of the state: position, velocity, acceleration without friction, sticking position, 1 if
# sticking, dry effort, and friction effort [N*m | N]. Input: rows 3 to 5 of the previous step; all are overwritten.
Rubbing = tuple[Index, Array, Array, Array]


@kernel
def friction_step(robot: Motion, rubbing: Rubbing, response: Array, h: float, still: bool, effort: Array) -> None:
    """Compute the friction effort over one step.

    Args:
        robot: motion of the robot.
        rubbing: joints with friction.
        response: (n, c) accelerations per effort on each joint, with all coordinates free [1/(kg*m^2) | 1/kg].
        h: length of the step [s].
        still: whether a sticking joint is assumed to be exactly at its sticking position, and at rest.
        effort: (c,) gets the friction effort of the joints [N*m | N].
    """
    position, velocity, acceleration = robot
    joints, table, motion, work = rubbing
    n = len(joints)
    mobility = work[n + 8 :]
    for i in range(n):
        held = still and motion[4, i] > 0.0
        motion[0, i] = motion[3, i] if held else position[joints[i]]
        motion[1, i] = 0.0 if held else velocity[joints[i]]
        motion[2, i] = acceleration[joints[i]]
        for j in range(n):
            mobility[i, j] = response[i, joints[j]]
    solve_friction(table, mobility, motion, work, h)
    for i in range(n):
        effort[joints[i]] = motion[6, i]


@kernel
def solve_friction(table: Array, mobility: Array, motion: Array, work: Array, h: float) -> None:
    """Compute the friction effort in ``motion``, the state of the joints; mobility (n, n) is overwritten."""
    n = len(mobility)
    position, velocity, free, place, stuck, dry = motion[0], motion[1], motion[2], motion[3], motion[4], motion[5]
    low, high, offset, wanted, end = work[n], work[n + 1], work[n + 2], work[n + 3], work[n + 4]
    add_viscosity(table[2], mobility, velocity, free, work[n + 5], h)
    for i in range(n):
        # a sticking joint returns to its sticking position: integration errors do not accumulate
        wanted[i] = -RETURN * (position[i] - place[i]) / h if stuck[i] > 0.0 else 0.0
        offset[i] = free[i] + (velocity[i] - wanted[i]) / h
        end[i] = velocity[i]
    for _ in range(PASSES):
        for i in range(n):
            mean = 0.5 * (velocity[i] + end[i])
            angle = table[5, i] * (position[i] + 0.5 * h * mean) + table[6, i]
            ratio = mean * table[3, i]
            level = table[0, i] + table[1, i] * math.exp(-ratio * ratio) + table[4, i] * math.sin(angle)
            low[i], high[i] = -level, level
            if velocity[i] * end[i] < 0.0 and stuck[i] == 0.0:
                # it reverses within the step: the mean sign dissipates energy where the last sign would add some
                low[i] = -level * (abs(end[i]) - abs(velocity[i])) / (end[i] - velocity[i])
                high[i] = low[i]
        least_in_box(mobility, offset, work, dry)
        for i in range(n):
            rate = offset[i]
            for j in range(n):
                rate += mobility[i, j] * dry[j]
            end[i] = wanted[i] if low[i] < dry[i] < high[i] else wanted[i] + h * rate
    for i in range(n):
        if not low[i] < dry[i] < high[i]:
            stuck[i] = 0.0
        elif stuck[i] == 0.0:
            stuck[i], place[i] = 1.0, position[i] + 0.5 * h * velocity[i]
        motion[6, i] = dry[i] - 0.5 * table[2, i] * (velocity[i] + end[i])


@kernel
def add_viscosity(viscous: Array, mobility: Array, velocity: Array, free: Array, column: Array, h: float) -> None:
    """Modify mobility and acceleration for viscous friction at the mean velocity, by one rank-1 update per joint."""
    n = len(viscous)
    for k in range(n):
        half = 0.5 * h * viscous[k]
        share = half / (1.0 + half * mobility[k, k])
        brake = share * (free[k] + 2.0 * velocity[k] / h)
        for i in range(n):
            column[i] = mobility[i, k]
        for i in range(n):
            free[i] -= column[i] * brake
            for j in range(n):
                mobility[i, j] -= share * column[i] * column[j]
