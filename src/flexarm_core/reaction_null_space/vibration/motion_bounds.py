r"""Limit the acceleration of a law to the joint limits, compiled: first the path slows down, then the law is scaled.

The acceleration of a law is linear in the rate change r' of the path clock and in the share g of base feedback:

    qdd = a + r' d - (1 - g) f          d: ``along`` the path,  f: of the base feedback,  0 <= g <= 1
    tau = E qdd + e

Joints must be able to stop before their position limits. With the available deceleration A of a joint, the largest
velocity towards an upper limit at a distance d is ``v = min(v_max, sqrt(A (d - qd t)))``, approached within a time t:

    (-v_lower - qd) / t  <=  qdd  <=  (v_upper - qd) / t,      |tau| <= tau_max

The measures are applied in this order until one is sufficient. (1) The path clock slows down (r'). (2) The base is
damped less (g); this never adds energy to the base. (3) Law and braking are mixed, ``qdd = b + s (qdd - b)`` with one
share s for all joints, so that the direction is kept. Proportional braking, ``b = -k qd - A^+ S dH_bm qd``, causes no
base reaction if the joints had no coupling momentum. (4) Efforts that still exceed the motor limits are cut off.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from flexarm_core.compiled import allocating_kernel, inlined_kernel, kernel
from flexarm_core.reaction_null_space.coupling.small_matrices import solve_definite, times
from flexarm_core.types import Array

MARGIN = 0.97  # share of the velocity and effort limits that is used
DISTANCE, SHARE = 0.02, 0.01  # margin to position limits: the smaller of [rad | m] and share of the range
STOP_TIME = 0.4  # [s] time in which a joint at its velocity limit is to be stopped
EFFORT_SHARE = 0.5  # share of the available effort that braking before a position limit may use
NO_LIMIT = -1.0  # nothing holds a motion back
KINDS = ("position", "velocity", "effort")  # limit i holds a motion back: joint i % n, kind i // n


class LimitedJoints(NamedTuple):
    """Joints, their limits, and what their motors do."""

    position: Array  # (n,) joint positions [rad | m]
    velocity: Array  # (n,) joint velocities [rad/s | m/s]
    limits: Array  # (4, n) lower and upper position, velocity, effort; infinite where there is no limit
    inertia: Array  # (n, n) E, effort per joint acceleration
    bias: Array  # (n,) e, effort at zero joint acceleration
    lacking: Array  # (n,) joint acceleration deficits that remain uncompensated
    time: float  # t, within which a velocity limit is approached [s]


@inlined_kernel
def acceleration_box(joints: LimitedJoints, low: Array, high: Array) -> None:
    """Compute acceleration bounds (n,) that keep every joint within its limits; always ``low <= high``."""
    for i in range(joints.position.shape[0]):
        up, down, braking = _fastest(joints, i)
        high[i] = max((up - joints.velocity[i]) / joints.time, -2.0 * braking) + joints.lacking[i]
        low[i] = min((-down - joints.velocity[i]) / joints.time, 2.0 * braking) + joints.lacking[i]


@kernel
def _fastest(joints: LimitedJoints, i: int) -> tuple[float, float, float]:
    """Return the largest velocities of joint i, up and down, and the deceleration that it counts on."""
    position, limits = joints.position[i], joints.limits
    up = down = MARGIN * limits[2, i]
    braking = limits[2, i] / STOP_TIME
    if limits[3, i] < np.inf:
        spare = max(limits[3, i] - abs(joints.bias[i]), 0.1 * limits[3, i])
        braking = min(braking, EFFORT_SHARE * spare / joints.inertia[i, i])
    if braking < np.inf:
        ahead = joints.velocity[i] * joints.time  # distance traveled until the velocity is within its bound
        kept = min(DISTANCE, SHARE * (limits[1, i] - limits[0, i]))
        up = min(up, math.sqrt(braking * max(limits[1, i] - kept - position - max(ahead, 0.0), 0.0)))
        down = min(down, math.sqrt(braking * max(position - kept - limits[0, i] + min(ahead, 0.0), 0.0)))
    return up, down, braking


@kernel
def _interval(a: Array, d: Array, low: Array, high: Array, least: float, most: float) -> tuple[float, float]:
    """Return the largest interval of x with ``low <= a + x d <= high``; it is empty if its first end is larger."""
    for i in range(a.shape[0]):
        size = max(abs(a[i]), 1.0)
        below, above = low[i] - a[i], high[i] - a[i]
        if abs(d[i]) <= 1e-12 * size:
            if below > 1e-9 * size or above < -1e-9 * size:
                return 1.0, 0.0
        elif d[i] > 0.0:
            least, most = max(least, below / d[i]), min(most, above / d[i])
        else:
            least, most = max(least, above / d[i]), min(most, below / d[i])
    return least, most


@allocating_kernel
def _rows(inertia: Array, a: Array) -> Array:
    """Return the accelerations and the efforts that they cause, stacked (2 n,)."""
    n = a.shape[0]
    rows = np.empty(2 * n)
    rows[:n] = a
    rows[n:] = times(inertia, a)
    return rows


@allocating_kernel
def _holder(acceleration: Array, joints: LimitedJoints, low: Array, high: Array) -> float:
    """Return the limit that leaves least room beside an acceleration (n,), as in ``KINDS``."""
    n, found, least = acceleration.shape[0], 0, np.inf
    rows = _rows(joints.inertia, acceleration)
    for i in range(2 * n):
        room = min(high[i] - rows[i], rows[i] - low[i]) / max(abs(rows[i]), 1.0)
        if room < least:
            found, least = i, room
    if found >= n:
        return float(n + found)
    upward = high[found] - rows[found] < rows[found] - low[found]
    up, down, _ = _fastest(joints, found)
    allowed, speed = (up, joints.velocity[found]) if upward else (down, -joints.velocity[found])
    return float(found if max(allowed, speed) < MARGIN * joints.limits[2, found] else n + found)


@inlined_kernel
def bound_motion(
    acceleration: Array, along: Array, feedback: Array, quiet: Array, joints: LimitedJoints, rate_change: Array
) -> tuple[float, float, float, float]:
    """Bring an acceleration within the limits; see the module docstring.

    Args:
        acceleration: (n,) input: acceleration a of the law; output: bounded acceleration.
        along: (n,) d, joint acceleration per unit of r'.
        feedback: (n,) f, joint acceleration due to the base feedback.
        quiet: (n,) ``-A^+ S dH_bm qd``, added to braking so that it causes no base reaction.
        joints: the joints.
        rate_change: (3,) r' that the clock requests, smallest and largest r' [1/s].

    Returns:
        r', g and s that were applied, and the limit that held the motion back, as in ``KINDS``, or NO_LIMIT.
    """
    n, velocity, limits, inertia, bias = len(acceleration), joints.velocity, joints.limits, joints.inertia, joints.bias
    wanted, least, most = rate_change[0], rate_change[1], rate_change[2]
    low, high = np.empty(2 * n), np.empty(2 * n)
    acceleration_box(joints, low[:n], high[:n])
    for i in range(n):
        low[n + i], high[n + i] = -MARGIN * limits[3, i] - bias[i], MARGIN * limits[3, i] - bias[i]
    rows, way = _rows(inertia, acceleration), _rows(inertia, along)
    first, last = _interval(rows, way, low, high, least, most)
    rate, share, mixed = wanted, 1.0, 1.0
    if first <= last:
        rate = min(max(wanted, first), last)
        acceleration += rate * along
        if rate == wanted:
            return rate, share, mixed, NO_LIMIT
        return rate, share, mixed, _holder(acceleration, joints, low, high)
    rate = least
    plain = acceleration + rate * along - feedback
    rows, way = _rows(inertia, plain), _rows(inertia, feedback)
    first, last = _interval(rows, way, low, high, 0.0, 1.0)
    if first <= last:
        acceleration[:] = plain + last * feedback
        return rate, last, mixed, _holder(acceleration, joints, low, high)
    gain = 1.0 / joints.time
    for i in range(n):
        if abs(velocity[i]) * gain > 2.0 * limits[2, i] / STOP_TIME:
            gain = 2.0 * limits[2, i] / STOP_TIME / abs(velocity[i])
    brake = quiet - gain * velocity
    rows, way = _rows(inertia, brake), _rows(inertia, plain - brake)
    first, last = _interval(rows, way, low, high, 0.0, 1.0)
    mixed = last if first <= last else 0.0
    acceleration[:] = brake + mixed * (plain - brake)
    held = _holder(acceleration, joints, low, high)
    if first > last:  # braking alone exceeds the limits: limit each joint and each motor separately
        acceleration[:] = np.minimum(np.maximum(acceleration, low[:n]), high[:n])
        effort, cut = times(inertia, acceleration), False
        for i in range(n):
            kept = min(max(effort[i], low[n + i]), high[n + i])
            cut = cut or kept != effort[i]
            effort[i] = kept
        if cut:
            acceleration[:] = solve_definite(inertia, effort)
    return rate, 0.0, mixed, held
