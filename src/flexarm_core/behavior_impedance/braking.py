r"""Braking motion of an arm from a commanded motion to rest, and bounds on the travel of its points (compiled).

``x`` is the time in samples since the beginning of the sample that ended at the commanded joint positions. Up to x = 1
the joints move at the commanded velocity. Then every sample reduces the velocity of each joint by ``a dt`` until the
joint is at rest, as in ``RedundancySolver.stop``. The velocity is constant within a sample.

A *lever* is a bound on the travel of any point of a capsule per unit of joint motion: for a revolute joint the largest
possible distance of the point from the joint axis, for a prismatic joint 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.ik_redundancy.solver import LIMITED
from flexarm_core.robot.kinematic_chain import PRISMATIC
from flexarm_core.types import Array

MOTION = 5  # length of a joint's row, see ``motion`` in begin_braking


class Braking(NamedTuple):
    """An arm that brakes to rest."""

    links: Array  # (n + 1, 15) links of the chain
    levers: Array  # (c, n) see build_levers
    motion: Array  # (n, 5) see begin_braking


def build_levers(capsules: Array, links: Array) -> Array:
    """Compute the levers (c, n) of capsules (c, 8) on a chain (n + 1, 15), prismatic joints at zero [m/rad | 1]."""
    levers = np.zeros((len(capsules), len(links) - 1))
    for row, capsule in zip(levers, capsules, strict=True):
        ends, last = capsule[1:7].reshape(2, 3), int(capsule[0])
        aside, reach = np.hypot(ends[:, 0], ends[:, 1]).max(), np.linalg.norm(ends, axis=1).max()
        for i in range(last, -1, -1):
            row[i] = 1.0 if links[i, 12] == PRISMATIC else aside
            # Bounds seen from the previous joint, for all points within ``reach`` of this joint's origin.
            aside, reach = np.hypot(links[i, 9], links[i, 10]) + reach, np.linalg.norm(links[i, 9:12]) + reach
    return levers


@kernel
def begin_braking(
    position: Array, velocity: Array, acceleration: Array, links: Array, dt: float, motion: Array
) -> float:
    """Compute the braking motion from joint positions and velocities; return x at which the last joint is at rest.

    Args:
        position: (n,) joint positions at x = 1 [rad | m].
        velocity: (n,) joint velocities up to x = 1 [rad/s | m/s].
        acceleration: (n,) acceleration limits, may be infinite [rad/s^2 | m/s^2].
        links: (n + 1, 15) links of the chain.
        dt: sampling period [s].
        motion: (n, 5) output, for each joint: position at x = 0; displacement in the first sample; decrease of the
            displacement in each further sample; number of further samples until rest; upper bound on the total
            extension of the prismatic joints up to this one.
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
    """Return the total travel of a joint [rad | m]."""
    more = motion[i, 3]
    return (1.0 + more) * abs(motion[i, 1]) - 0.5 * motion[i, 2] * more * (more + 1.0)


@kernel
def braking_rate(motion: Array, i: int, x: float) -> float:
    """Return the travel of a joint in the sample that contains x [rad | m]; it is smaller in later samples."""
    return max(abs(motion[i, 1]) - max(math.floor(x), 0.0) * motion[i, 2], 0.0)


@kernel
def braking_position(motion: Array, x: float, q: Array) -> None:
    """Write the joint positions at x into ``q`` (n,) [rad | m]."""
    sample = math.floor(x)
    for i in range(q.shape[0]):
        step = motion[i, 1]
        whole = min(sample, 1.0 + motion[i, 3])
        way = whole * abs(step) - 0.5 * motion[i, 2] * whole * max(whole - 1.0, 0.0)
        way += (x - sample) * braking_rate(motion, i, x)
        q[i] = motion[i, 0] + (way if step >= 0.0 else -way)


@kernel
def lever(arm: Braking, row: int, last: int, i: int) -> float:
    """Return the lever of joint i on capsule ``row``, which moves with joint ``last``, with prismatic extension."""
    if arm.links[i, 12] == PRISMATIC:
        return 1.0
    return arm.levers[row, i] + arm.motion[last, 4] - arm.motion[i, 4]  # type: ignore[no-any-return]


@kernel
def whole_reach(arm: Braking, row: int, last: int) -> float:
    """Return a bound on the total travel of any point of a capsule's axis [m]."""
    total = 0.0
    for i in range(last + 1):
        total += lever(arm, row, last, i) * whole_way(arm.motion, i)
    return total


@kernel
def step_bounds(arm: Braking, row: int, last: int, x: float, y: float, slant: float) -> tuple[float, float]:
    r"""Bound the change of the height h of any point of a capsule's axis over a plane, from x to y.

    With ``s = 0 ... 1`` over this step: ``|dh/ds| <= sum_j L_j w_j``, with levers L and travels w at the initial
    rates, and ``|d^2h/ds^2| <= sum_j L_j (w_j (w_j + 2 sum_(i<j) w_i) + b_j (y - x)^2)``, where the w in the inner
    parentheses are those of revolute joints only, and b is the decrease of the displacement per sample due to braking
    (zero within one sample). The axis of the first joint is fixed. Rotation about it is therefore weighted with
    ``slant``, the sine of the angle between this axis and the plane's normal: an arm on a table that turns about the
    vertical axis does not approach the table.

    Returns:
        Bound on the travel, bound on the second derivative [m].
    """
    length, turned, way, bend = y - x, 0.0, 0.0, 0.0
    for j in range(last + 1):
        w, far = braking_rate(arm.motion, j, x) * length, lever(arm, row, last, j)
        revolute = arm.links[j, 12] != PRISMATIC
        share = slant if j == 0 and revolute else 1.0
        way += share * far * w
        bend += 2.0 * far * w * turned
        if revolute:
            bend += share * far * w * w
            turned += share * w
        if length > 1.0 and w > 0.0:
            bend += share * far * arm.motion[j, 2] * length * length
    return way, bend


@kernel
def step_end(x: float, length: float, end: float) -> float:
    """Return the end of a step from x: steps longer than one sample end at a sample, shorter ones stay within it."""
    if x < 1.0:
        return min(x + length, 1.0)
    sample = math.floor(x)
    if x > sample or length < 1.0:
        return min(x + length, sample + 1.0, end)
    return min(x + math.floor(length), end)
