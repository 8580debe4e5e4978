"""PathClock: the time base of a reference stream, which can run slower than the sample clock, wait, and catch up.

The clock keeps the received references. With a lag ``l`` and a clock rate ``r`` the law follows

    x(t - l),      v = r xd(t - l),      a = r^2 xdd(t - l) + r' xd(t - l)

so the tool stays on its path at any path speed. A clock without lag returns the references unchanged.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.types import Array, CartesianReference, JointReference

SLOWING, HASTE = 8.0, 2.0  # [1/s] largest rate of change of the clock rate: when slowing down, when speeding up
CATCHING_UP = 0.25  # largest excess of the clock rate over 1 while the clock catches up
CATCHING_TIME = 0.5  # [s] time in which a small lag is removed
ON_TIME = 1e-6  # [s] lag below which the clock counts as on time
References = tuple[CartesianReference | None, JointReference | None]


class PathClock:
    """References of a path at the time of the path clock.

    Attributes:
        lag: delay of the clock [s].
        rate: clock rate; 1: real time.
        longest: time for which references are kept [s].
    """

    def __init__(self, longest_lag: float) -> None:
        """Start without lag; ``longest_lag``: time for which references are kept [s]."""
        self.longest = longest_lag
        self.reset()

    def reset(self) -> None:
        """Forget the references and set the lag to 0 and the rate to 1."""
        self.lag, self.rate = 0.0, 1.0
        self._kept: deque[tuple[int, References]] = deque()
        self._stamp: int | None = None

    @property
    def exhausted(self) -> bool:
        """Whether the lag exceeds the time for which references are kept."""
        return self.lag > self.longest

    def take(self, stamp: int, tool: CartesianReference | None, joints: JointReference | None) -> References:
        """Store the references of a sample [ns] and return the references at the time of the clock.

        The returned velocities and accelerations are those of a path whose clock runs at rate 1.
        """
        if self._stamp is not None:
            dt = max(stamp - self._stamp, 0) * 1e-9
            self.lag = max(self.lag + (1.0 - self.rate) * dt, 0.0)
            if self.lag < ON_TIME and abs(self.rate - 1.0) < 1e-3:
                self.lag, self.rate = 0.0, 1.0
        self._stamp = stamp
        self._kept.append((stamp, (tool, joints)))
        then = stamp - round(self.lag * 1e9)
        while len(self._kept) > 1 and self._kept[1][0] <= then:
            self._kept.popleft()
        if self.lag == 0.0 and self.rate == 1.0:
            return tool, joints
        (first, before), (second, after) = self._kept[0], self._kept[min(1, len(self._kept) - 1)]
        since, gap = max(then - first, 0) * 1e-9, (second - first) * 1e-9
        return (
            _tool(before[0], after[0], since, gap, stamp),
            _joints(before[1], after[1], since, gap, stamp),
        )

    def bounds(self, dt: float, allowed: float) -> tuple[float, float, float]:
        """Return the wanted, the smallest and the largest rate of change of the clock rate [1/s].

        Args:
            dt: time to the next sample [s].
            allowed: largest clock rate; 0: the path must wait.
        """
        ahead = min(CATCHING_UP, self.lag / CATCHING_TIME)
        goal = min(1.0 + ahead, allowed)
        least, most = max(-SLOWING, -self.rate / dt), HASTE
        if goal == 1.0 and self.rate == 1.0:
            return 0.0, least, most
        return min(max((goal - self.rate) / max(dt, 0.02), least), most), least, most

    def advance(self, change: float, dt: float) -> None:
        """Apply the rate change that the law used [1/s] for a time ``dt`` [s]."""
        if change != 0.0:
            self.rate = max(self.rate + change * dt, 0.0)


def _between(
    before: tuple[Array, Array, Array], after: tuple[Array, Array, Array], since: float, gap: float
) -> tuple[Array, Array, Array]:
    """Interpolate position, velocity, acceleration (k,) between two samples, extrapolating each by its derivatives."""
    share = min(since / gap, 1.0) if gap > 0.0 else 0.0
    parts = []
    for (x, v, a), d in ((before, since if gap > 0.0 else 0.0), (after, since - gap if gap > 0.0 else 0.0)):
        parts.append((x + d * (v + 0.5 * d * a), v + d * a, a))
    one, other = parts
    mixed = [(1.0 - share) * p + share * q for p, q in zip(one, other, strict=True)]
    return mixed[0], mixed[1], mixed[2]


def _tool(
    before: CartesianReference | None, after: CartesianReference | None, since: float, gap: float, stamp: int
) -> CartesianReference | None:
    if before is None or after is None:
        return after
    zero = np.zeros(3)
    turned = Rotation.from_matrix(after.rotation @ before.rotation.T).as_rotvec()  # in the reference frame
    x, v, a = _between(
        (np.concatenate((before.position, zero)), before.velocity, before.acceleration),
        (np.concatenate((after.position, turned)), after.velocity, after.acceleration),
        since,
        gap,
    )
    rotation = Rotation.from_rotvec(x[3:]).as_matrix() @ before.rotation
    return replace(after, stamp=stamp, position=x[:3], rotation=rotation, velocity=v, acceleration=a)


def _joints(
    before: JointReference | None, after: JointReference | None, since: float, gap: float, stamp: int
) -> JointReference | None:
    if before is None or after is None or before.position is None or after.position is None:
        return after
    zero = np.zeros(len(after.position))

    def motion(one: JointReference) -> tuple[Array, Array, Array]:
        assert one.position is not None
        velocity = zero if one.velocity is None else one.velocity
        return one.position, velocity, zero if one.acceleration is None else one.acceleration

    x, v, a = _between(motion(before), motion(after), since, gap)
    return JointReference(stamp, x, v, a)
