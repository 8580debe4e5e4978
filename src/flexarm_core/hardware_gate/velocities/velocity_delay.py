"""VelocityDelay: finds velocities that are later than the positions beside them, and replaces them by better ones."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocate, kernel, views
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.types import ArmState, Array

INTERVAL = 0.004  # [s] length of the intervals that are compared: noise of a velocity counts once for each
MEMORY = 0.3  # [s] time constant with which earlier intervals are forgotten
LEAST = 5.0  # number of intervals before a delay is told
ALIKE = 1e-3  # share of the changes that the integrals must leave, to tell a delay from a scale
SURE = 4.0  # standard errors by which a delay must differ from what is believed
FINEST = 1e-6  # [rad | m] least error of the motion in an interval: smaller motions say nothing
LIKEST = 0.99  # largest correlation of errors of neighboring intervals that is counted
SPAN, OLD = 0.002, 0.02  # [s] over which positions are differentiated at least, and at most
BETTER = 1.25  # multiple of the delay of these velocities that measured ones must have, to be replaced
KEPT = 16  # states of which the positions are kept
TOLD = 0.25  # share of the time between two states above which a delay is told
SHORTEST, LONGEST = 6e-4, 0.02  # [s] shorter delays do no harm; longer ones are not told from other errors


class VelocityDelay:
    """Compares the motion of the position with the integral of the velocity, joint by joint.

    Drives filter velocities, or take them from differences of positions. A velocity that is late by d and wrong by a
    factor, ``(1 + s) v(t) = dp/dt (t - d)``, leaves ``y = p(t + T) - p(t) - z = d x + s z + O(d^2)``, with the change
    of velocity ``x = v(t + T) - v(t)`` and its integral z: d by least squares over many intervals T. So neither a
    scale nor a position that stands still (``s = -1``) counts as a delay; noise makes d smaller. The rest of y shows
    how certain d is. If it goes on from interval to interval (correlation r, as of a position drive that moves in
    another way within each period than the velocities at its ends tell), N intervals count as ``N (1 - r) / (1 + r)``.

    Where that is worse, differences of positions over SPAN stand for the velocities: late by half of it.

    Attributes:
        measured: delay of the measured velocities [s]; 0 if none is certain.
        delay: delay of the velocities that are used [s].
    """

    def __init__(self, limits: JointLimits) -> None:
        """Compare the readings of joints with these limits."""
        n = limits.velocity.size
        self._memory, self._rows = allocate(_view, n)
        none = np.zeros(n)
        _compare(none, none, none, none, 1.0, self._memory)
        self.reset()

    def reset(self) -> None:
        """Forget all motion."""
        self._memory[:] = 0.0
        self.delay = self.measured = 0.0
        self._before: ArmState | None = None
        self._period = 0.0  # between the newest two states [s]
        self._positions: deque[tuple[int, Array]] = deque(maxlen=KEPT)

    @property
    def matters(self) -> bool:
        """Whether the delay is to be reported: differences of positions over a sample are late by half of it.

        A drive that has gone a part of the way to its set point when it is measured seems to be late by less.
        """
        return self.measured > TOLD * self._period

    def mended(self, state: ArmState) -> ArmState:
        """Return a state, with velocities of its positions if those are later than these."""
        self.delay = self.measured
        if self.measured == 0.0:
            return state
        for stamp, position in reversed(self._positions):
            time = (state.stamp - stamp) * 1e-9
            if time > OLD or self.measured < BETTER * 0.5 * time:
                break
            if time >= SPAN - 1e-9:
                self.delay = 0.5 * time
                return replace(state, velocity=(state.position - position) / time)
        return state

    def on_state(self, state: ArmState) -> None:
        """Compare a believed state, as it was measured, with the one before."""
        before, self._before = self._before, state
        if before is None or not 0 < state.stamp - before.stamp <= OLD * 1e9:
            self._rows.time[:] = 0.0
            self._positions.clear()
        else:
            parts = before.position, before.velocity, state.position, state.velocity
            self._period = (state.stamp - before.stamp) * 1e-9
            self.measured = _compare(*parts, self._period, self._memory)
        self._positions.append((state.stamp, state.position))


class _Rows(NamedTuple):
    """Sums over the intervals."""

    time: Annotated[Array, 1]  # since the interval began [s]
    intervals: Annotated[Array, 1]  # how many there were, fading
    begin: Annotated[Array, "n"]  # velocity at the begin of the interval
    moved: Annotated[Array, "n"]  # motion of the position in the interval
    integral: Annotated[Array, "n"]  # z of the interval
    xx: Annotated[Array, "n"]  # fading sums of products
    xz: Annotated[Array, "n"]
    zz: Annotated[Array, "n"]
    xy: Annotated[Array, "n"]
    zy: Annotated[Array, "n"]
    yy: Annotated[Array, "n"]
    rest: Annotated[Array, "n"]  # what d and s left of y in the interval before
    same: Annotated[Array, "n"]  # fading sums of its square, and of products of two in a row
    next: Annotated[Array, "n"]
    delay: Annotated[Array, "n"]  # delay that is believed [s]


_view = views(_Rows, "n")


@kernel
def _compare(
    position_before: Array, velocity_before: Array, position: Array, velocity: Array, dt: float, memory: Array
) -> float:
    """Add the motion between two states; return the largest delay [s]."""
    n = position.shape[0]
    r = _view(memory, n)
    if r.time[0] == 0.0:
        for i in range(n):
            r.begin[i], r.moved[i], r.integral[i] = velocity_before[i], 0.0, 0.0
    r.time[0] += dt
    for i in range(n):
        r.moved[i] += position[i] - position_before[i]
        r.integral[i] += 0.5 * (velocity_before[i] + velocity[i]) * dt
    largest, ends = 0.0, r.time[0] >= INTERVAL
    kept = math.exp(-r.time[0] / MEMORY)
    if ends:
        r.time[0], r.intervals[0] = 0.0, kept * r.intervals[0] + 1.0
    for i in range(n):
        if ends:
            x, z, y = velocity[i] - r.begin[i], r.integral[i], r.moved[i] - r.integral[i]
            r.xx[i], r.xz[i], r.zz[i] = kept * r.xx[i] + x * x, kept * r.xz[i] + x * z, kept * r.zz[i] + z * z
            r.xy[i], r.zy[i], r.yy[i] = kept * r.xy[i] + x * y, kept * r.zy[i] + z * y, kept * r.yy[i] + y * y
            det = r.xx[i] * r.zz[i] - r.xz[i] * r.xz[i]
            if r.intervals[0] >= LEAST and det > ALIKE * r.xx[i] * r.zz[i]:
                late = (r.xy[i] * r.zz[i] - r.zy[i] * r.xz[i]) / det
                scale = (r.zy[i] * r.xx[i] - r.xy[i] * r.xz[i]) / det
                rest = max(r.yy[i] - late * r.xy[i] - scale * r.zy[i], 0.0) / (r.intervals[0] - 2.0)
                left = y - late * x - scale * z
                r.same[i], r.next[i] = kept * r.same[i] + left * left, kept * r.next[i] + left * r.rest[i]
                r.rest[i] = left
                like = min(max(r.next[i] / r.same[i], 0.0), LIKEST) if r.same[i] > 0.0 else 0.0
                rest = max(rest * (1.0 + like) / (1.0 - like), FINEST * FINEST)
                unsure = SURE * math.sqrt(rest * r.zz[i] / det)
                believed = min(max(r.delay[i], late - unsure), late + unsure)
                r.delay[i] = min(believed, LONGEST) if believed >= SHORTEST else 0.0
        largest = max(largest, r.delay[i])
    return largest
