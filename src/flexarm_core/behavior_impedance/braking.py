r"""How an arm comes to rest from a commanded motion, and bounds on the way of its points (compiled).

``x`` counts samples from where the sample began that ended at the commanded joint positions: up to x = 1 the joints
move at the commanded velocity, then each sample takes ``a dt`` from the velocity of every joint until it rests, as
``RedundancySolver.stop`` has it; within a sample they move evenly.

A *lever* bounds how far a point of a capsule moves for each unit that a joint moves: the largest distance from the axis
of a revolute joint at which it can be, 1 for a prismatic one.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.ik_redundancy.solver import LIMITED
from flexarm_core.robot.kinematic_chain import PRISMATIC
from flexarm_core.types import Array

MOTION = 5  # of a joint: begin; displacement in the first sample; what each sample takes off; samples; stretch


def build_levers(capsules: Array, links: Array) -> Array:
    """Levers (c, n) of capsules (c, 8) on a chain of links (n + 1, 13), prismatic joints at zero [m/rad | 1]."""
    levers = np.zeros((len(capsules), len(links) - 1))
    for row, capsule in zip(levers, capsules, strict=True):
        ends, last = capsule[1:7].reshape(2, 3), int(capsule[0])
        aside, reach = np.hypot(ends[:, 0], ends[:, 1]).max(), np.linalg.norm(ends, axis=1).max()
        for i in range(last, -1, -1):
            row[i] = 1.0 if links[i, 12] == PRISMATIC else aside
            # What lies within the reach of this joint's origin, seen from the joint before.
            aside, reach = np.hypot(links[i, 9], links[i, 10]) + reach, np.linalg.norm(links[i, 9:12]) + reach
    return levers


@kernel
def begin_braking(
    position: Array, velocity: Array, acceleration: Array, links: Array, dt: float, motion: Array
) -> float:
    """Braking from joint positions and velocities (n,) into ``motion`` (n, 5); x at which the last joint rests.

    Args:
        position: (n,) at x = 1 [rad | m].
        velocity: (n,) up to there [rad/s | m/s].
        acceleration: (n,) limits, also infinite [rad/s^2 | m/s^2].
        links: (n + 1, 13) of the chain.
        dt: sample time [s].
        motion: (n, 5) gets, for each joint, the position at x = 0, the displacement in the first sample, how much less
            it is in each further one, after how many further ones it rests, and the largest distance by which prismatic
            joints up to this one have moved what they carry.
    """
    end, stretch = 0.0, 0.0
    for i in range(position.shape[0]):
        step = velocity[i] * dt
        size, loss, more = abs(step), acceleration[i] * (1.0 - LIMITED) * dt * dt, 0.0
        if loss < size:
            more = math.floor(size / loss)
        else:
            loss = size
        if size > 0.0:
            end = max(end, 1.0 + more)
        motion[i, 0], motion[i, 1], motion[i, 2], motion[i, 3] = position[i] - step, step, loss, more
        if links[i, 12] == PRISMATIC:
            stretch += abs(position[i]) + whole_way(motion, i)
        motion[i, 4] = stretch
    return end


@kernel
def whole_way(motion: Array, i: int) -> float:
    """How far a joint moves in all [rad | m]."""
    more = motion[i, 3]
    return (1.0 + more) * abs(motion[i, 1]) - 0.5 * motion[i, 2] * more * (more + 1.0)


@kernel
def braking_rate(motion: Array, i: int, x: float) -> float:
    """How far a joint moves per sample in the sample that begins at or before x [rad | m]; later it is less."""
    return max(abs(motion[i, 1]) - max(math.floor(x), 0.0) * motion[i, 2], 0.0)


@kernel
def braking_position(motion: Array, x: float, q: Array) -> None:
    """Joint positions into ``q`` (n,) at x [rad | m]."""
    sample = math.floor(x)
    for i in range(q.shape[0]):
        step = motion[i, 1]
        whole = min(sample, 1.0 + motion[i, 3])
        way = whole * abs(step) - 0.5 * motion[i, 2] * whole * max(whole - 1.0, 0.0)
        way += (x - sample) * braking_rate(motion, i, x)
        q[i] = motion[i, 0] + (way if step >= 0.0 else -way)


@kernel
def lever(levers: Array, row: int, last: int, i: int, links: Array, motion: Array) -> float:
    """Lever of joint i on capsule ``row``, which moves with joint ``last``, prismatic joints where they are."""
    if links[i, 12] == PRISMATIC:
        return 1.0
    return levers[row, i] + motion[last, 4] - motion[i, 4]


@kernel
def whole_reach(levers: Array, row: int, last: int, links: Array, motion: Array) -> float:
    """Bound on the way of any point of a capsule's axis in all [m]."""
    total = 0.0
    for i in range(last + 1):
        total += lever(levers, row, last, i, links, motion) * whole_way(motion, i)
    return total


@kernel
def step_bounds(
    levers: Array, row: int, last: int, links: Array, motion: Array, x: float, y: float, slant: float
) -> tuple[float, float]:
    r"""Bounds on the height h over a plane of any point of a capsule's axis from x to y, ``s = 0 ... 1`` on this step.

    ``|dh/ds| <= sum_j L_j w_j`` with the levers L and the ways w at the rates of the begin, and
    ``|d^2h/ds^2| <= sum_j L_j (w_j (w_j + 2 sum_(i<j) w_i) + b_j (y - x)^2)``, w in the brackets of revolute joints
    only, with b the displacement that braking takes off in a sample. Within one sample braking takes off nothing. The
    axis of the first joint stays where it is, so that what turns about it counts with the sine of its angle to the
    plane's normal, ``slant``: an arm on a table that turns about the vertical comes no nearer to it.

    Returns:
        Bound on the way, bound on the second derivative [m].
    """
    length, turned, way, bend = y - x, 0.0, 0.0, 0.0
    for j in range(last + 1):
        w, arm = braking_rate(motion, j, x) * length, lever(levers, row, last, j, links, motion)
        revolute = links[j, 12] != PRISMATIC
        share = slant if j == 0 and revolute else 1.0
        way += share * arm * w
        bend += 2.0 * arm * w * turned
        if revolute:
            bend += share * arm * w * w
            turned += share * w
        if length > 1.0 and w > 0.0:
            bend += share * arm * motion[j, 2] * length * length
    return way, bend


@kernel
def step_end(x: float, length: float, end: float) -> float:
    """Where a step from x ends: with a sample, where it is longer than one; within it, where it is shorter."""
    if x < 1.0:
        return min(x + length, 1.0)
    sample = math.floor(x)
    if x > sample or length < 1.0:
        return min(x + length, sample + 1.0, end)
    return min(x + math.floor(length), end)
