r"""What a law asks of joints, brought within their limits, compiled: first the path slows, then all is scaled.

A law's acceleration is linear in the rate of the path's clock and in the share of base feedback,

    qdd = a + r' d - (1 - g) f          d: ``along`` the path,  f: of the base feedback,  0 <= g <= 1
    tau = E qdd + e

Joints must be able to stop before their limits. With the deceleration A that a joint has, the fastest velocity that may
lead to an upper limit is ``v = min(v_max, sqrt(A (d - qd t)))`` at a distance d, approached within the time ``t``:

    (-v_lower - qd) / t  <=  qdd  <=  (v_upper - qd) / t,      |tau| <= tau_max

In this order, the first that is enough: the path's clock slows (r'); the base is damped less (g, which never gives the
base energy); law and braking are mixed, ``qdd = b + s (qdd - b)`` with one share s for all joints, so that the
direction is kept. Braking in proportion, ``b = -k qd - A^+ S dH_bm qd``, gives the base no reaction where the joints
had no momentum. What still is too much, an effort beyond the motors, is cut.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.reaction_null_space.coupling.small_matrices import solve_definite, times
from flexarm_core.types import Array

MARGIN = 0.97  # of velocity and effort limits that is used
DISTANCE, SHARE = 0.02, 0.01  # kept to position limits: the less of [rad | m] and of the range
STOP_TIME = 0.4  # [s] in which a joint at its velocity limit is to be stopped
EFFORT_SHARE = 0.5  # of the effort that braking before a position limit counts on


@kernel
def acceleration_box(
    position: Array, velocity: Array, limits: Array, inertia: Array, bias: Array, lacking: Array, time: float,
    low: Array, high: Array,
) -> None:  # fmt: skip
    """Accelerations (n,) between which every joint stays within its limits; ``low <= high`` always.

    Args:
        position: (n,) [rad | m].
        velocity: (n,) [rad/s | m/s].
        limits: (4, n) lower and upper position, velocity, effort; infinite where there is none.
        inertia: (n, n) E.
        bias: (n,) e.
        lacking: (n,) accelerations that the joints are found to fall short of what they are told.
        time: t, within which a limit of the velocity is approached [s].
        low: (n,) gets the least.
        high: (n,) gets the largest.
    """
    for i in range(position.shape[0]):
        fastest = MARGIN * limits[2, i]
        braking = limits[2, i] / STOP_TIME
        if limits[3, i] < np.inf:
            spare = max(limits[3, i] - abs(bias[i]), 0.1 * limits[3, i])
            braking = min(braking, EFFORT_SHARE * spare / inertia[i, i])
        up = down = fastest
        if braking < np.inf:
            ahead = velocity[i] * time  # on the way until the velocity has come to what it may be
            kept = min(DISTANCE, SHARE * (limits[1, i] - limits[0, i]))
            up = min(up, math.sqrt(braking * max(limits[1, i] - kept - position[i] - max(ahead, 0.0), 0.0)))
            down = min(down, math.sqrt(braking * max(position[i] - kept - limits[0, i] + min(ahead, 0.0), 0.0)))
        high[i] = max((up - velocity[i]) / time, -2.0 * braking) + lacking[i]
        low[i] = min((-down - velocity[i]) / time, 2.0 * braking) + lacking[i]


@kernel
def _interval(a: Array, d: Array, low: Array, high: Array, least: float, most: float) -> tuple[float, float]:
    """Largest interval of x within which ``low <= a + x d <= high``; empty where its first end is the larger."""
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


@kernel
def _rows(inertia: Array, a: Array) -> Array:
    """Accelerations and the efforts that come from them (2 n,)."""
    n = a.shape[0]
    rows = np.empty(2 * n)
    rows[:n] = a
    rows[n:] = times(inertia, a)
    return rows


@kernel
def bound_motion(
    acceleration: Array,
    along: Array,
    feedback: Array,
    bias_motion: Array,
    inertia: Array,
    bias: Array,
    position: Array,
    velocity: Array,
    limits: Array,
    lacking: Array,
    time: float,
    wanted: float,
    least: float,
    most: float,
) -> tuple[float, float, float]:
    """Bring an acceleration within the limits; see module.

    Args:
        acceleration: (n,) a of the law; gets what is within the limits.
        along: (n,) d.
        feedback: (n,) f.
        bias_motion: (n,) ``-A^+ S dH_bm qd``, with which braking leaves the base quiet.
        inertia: (n, n) E.
        bias: (n,) e.
        position: (n,).
        velocity: (n,).
        limits: (4, n) as of :func:`acceleration_box`, and so the next.
        lacking: (n,).
        time: t [s].
        wanted: r' that the clock wants [1/s].
        least: smallest r'.
        most: largest r'.

    Returns:
        r', g and s.
    """
    n = acceleration.shape[0]
    low, high = np.empty(2 * n), np.empty(2 * n)
    acceleration_box(position, velocity, limits, inertia, bias, lacking, time, low[:n], high[:n])
    for i in range(n):
        low[n + i], high[n + i] = -MARGIN * limits[3, i] - bias[i], MARGIN * limits[3, i] - bias[i]
    rows, way = _rows(inertia, acceleration), _rows(inertia, along)
    first, last = _interval(rows, way, low, high, least, most)
    rate, share, mixed = wanted, 1.0, 1.0
    if first <= last:
        rate = min(max(wanted, first), last)
        acceleration += rate * along
        return rate, share, mixed
    rate = least
    quiet = acceleration + rate * along - feedback
    rows, way = _rows(inertia, quiet), _rows(inertia, feedback)
    first, last = _interval(rows, way, low, high, 0.0, 1.0)
    if first <= last:
        acceleration[:] = quiet + last * feedback
        return rate, last, mixed
    gain = 1.0 / time
    for i in range(n):
        if abs(velocity[i]) * gain > 2.0 * limits[2, i] / STOP_TIME:
            gain = 2.0 * limits[2, i] / STOP_TIME / abs(velocity[i])
    brake = bias_motion - gain * velocity
    rows, way = _rows(inertia, brake), _rows(inertia, quiet - brake)
    first, last = _interval(rows, way, low, high, 0.0, 1.0)
    mixed = last if first <= last else 0.0
    acceleration[:] = brake + mixed * (quiet - brake)
    if first > last:  # braking alone is too much: no further than each motor can
        acceleration[:] = np.minimum(np.maximum(acceleration, low[:n]), high[:n])
        effort, cut = times(inertia, acceleration), False
        for i in range(n):
            kept = min(max(effort[i], low[n + i]), high[n + i])
            cut = cut or kept != effort[i]
            effort[i] = kept
        if cut:
            acceleration[:] = solve_definite(inertia, effort)
    return rate, 0.0, mixed
