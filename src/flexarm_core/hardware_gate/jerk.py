r"""Set points whose acceleration changes no faster than a jerk limit, within all other limits.

Set points are sampled: ``v_k = v_(k-1) + a_k dt``, ``p_k = p_(k-1) + v_k dt`` and ``|a_k - a_(k-1)| <= J dt``. With
``d = J dt``, an acceleration ``b = n d + r`` (``0 <= r < d``) that falls to zero as fast as it may adds
``S(b) = d n (n - 1) / 2 + n r`` more of itself. So ``G(b) = b + S(b)``, odd in ``b``, is by how many times ``dt`` the
velocity changes if ``b`` is applied now and then ended. Its inverse is known, and ``a = G^-1((v_goal - v) / dt)``,
within the limits, reaches a velocity in the least number of samples, exactly and without overshoot: this is the law of
a stop. It has three phases (the acceleration falls, is held at its limit, returns to zero; compare Kroeger and Wahl
2010, IEEE T-RO 26(1)), whose sums are known in closed form: :func:`rest`.

An acceleration is allowed if the stop that may follow it keeps the limits of position and velocity. If no acceleration
is allowed, the stop continues: its limits were checked in the previous sample, so set points never leave them.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import inlined_kernel, kernel, views
from flexarm_core.entrance import finite, number
from flexarm_core.hardware_gate.limits import ACCELERATION, LOWER, UPPER, VELOCITY, JointLimits, is_allowed
from flexarm_core.types import Array

HALVINGS = 48  # of an interval of accelerations, in which the one is sought that ends at a position
CLOSE = 1e-9  # relative rounding errors
SHORTEST = 1e-9  # [s] between two commands
TO_VELOCITY, TO_POSITION, TO_REST = range(3)  # kinds of goals


@kernel
def ending(b: float, d: float) -> float:
    """Return ``S(b)``, odd: the sum of the accelerations after ``b`` if it falls to zero by steps ``d``."""
    n = np.floor(abs(b) / d)
    return np.sign(b) * (d * n * (n - 1.0) / 2.0 + n * (abs(b) - n * d))


@kernel
def start_of(change: float, most: float, d: float) -> float:
    """Return ``G^-1(change)``: the acceleration, at most ``most``, that changes a velocity by ``change`` [times dt]."""
    total = abs(change)
    if not total < most + ending(most, d):
        return np.sign(change) * most
    n = np.floor((np.sqrt(1.0 + 8.0 * total / d) - 1.0) / 2.0)
    return np.sign(change) * min((total - d * n * (n + 1.0) / 2.0) / (n + 1.0) + n * d, most)


@kernel
def rest(u: float, a: float, most: float, d: float) -> float:
    """Return the way until the rest of the fastest stop, divided by ``dt^2``.

    Args:
        u: velocity, divided by ``dt``.
        a: acceleration of the last sample.
        most: limit of the acceleration.
        d: limit of its change in a sample.
    """
    if u + ending(a, d) < 0.0:
        return -_rest_below(-u, -a, most, d)
    return _rest_below(u, a, most, d)


@kernel
def _rest_below(u: float, a: float, most: float, d: float) -> float:
    """Return :func:`rest` of a joint that has to accelerate downward, as ``u + S(a) >= 0``."""
    # The acceleration falls by d in each of k samples, as long as returning to zero does not end below zero velocity.
    k, more = 0.0, np.floor(max(a + most, 0.0) / d + CLOSE)
    last = more
    while k < more:
        i = np.ceil((k + more) / 2.0)
        if u + i * a - d * i * (i + 1.0) / 2.0 + ending(a - i * d, d) >= -CLOSE * most:
            k = i
        else:
            more = i - 1.0
    way = k * u + a * k * (k + 1.0) / 2.0 - d * k * (k + 1.0) * (k + 2.0) / 6.0
    u += k * a - d * k * (k + 1.0) / 2.0
    if k == last:  # it is held at the limit
        i = max(np.floor((u - ending(most, d)) / most), 0.0)
        way += i * u - most * i * (i + 1.0) / 2.0
        u -= i * most
    # It returns to zero, from the acceleration b that ends at rest.
    b = abs(start_of(u, most, d))
    n = np.floor(b / d)
    r = b - n * d
    fall = d * n * (n - 1.0) * (n - 2.0) / 6.0 + r * n * (n - 1.0) / 2.0
    return way + (u - np.sign(u) * b) + np.sign(u) * fall


@inlined_kernel
def _highest_way(u: float, a: float, most: float, d: float) -> float:
    """Return how far a joint gets at most, upward, in the fastest stop, divided by ``dt^2``."""
    if u + ending(a, d) >= 0.0:
        return max(rest(u, a, most, d), 0.0)
    if u <= 0.0:
        return 0.0
    return rest(-ending(a, d), a, most, d)  # it turns back sooner than from this velocity, which comes to rest


@kernel
def _ends(room: float, u: float, between: tuple[float, float], most: float, d: float, signed: bool) -> float:
    """Return the highest acceleration between two, after which a stop ends within ``room`` [times dt^2].

    The lowest one is returned if none does. ``signed``: the stop may pass the room on its way.
    """
    low, high = between
    for given in (high, low):
        after = u + given
        way = rest(after, given, most, d) if signed else _highest_way(after, given, most, d)
        if given == high and after + way <= room:
            return high
        if given == low and after + way > room:
            return low
    for _ in range(HALVINGS):
        given = 0.5 * (low + high)
        after = u + given
        way = rest(after, given, most, d) if signed else _highest_way(after, given, most, d)
        if after + way <= room:
            low = given
        else:
            high = given
    return low


class _Sample(NamedTuple):
    """What the accelerations of a sample depend on."""

    jerk: Annotated[Array, "n"]  # jerk limits [rad/s^3 | m/s^3]
    position: Annotated[Array, "n"]  # [rad | m]
    velocity: Annotated[Array, "n"]  # of the set points [rad/s | m/s]
    before: Annotated[Array, "n"]  # accelerations of the last sample [rad/s^2 | m/s^2]
    asked: Annotated[Array, "n"]  # accelerations that reach the goal in this sample
    moved: Annotated[Array, "n"]  # velocities of positions that are the goal [rad/s | m/s]
    braking: Annotated[Array, "n"]  # largest deceleration to rest [rad/s^2 | m/s^2]


_view_sample = views(_Sample, "n")


@kernel
def step(table: Array, sample: Array, reached: NDArray[np.bool_], kind: int, dt: float, out: Array) -> None:
    """Write the accelerations (n,) of set points for one sample into ``out``.

    Args:
        table: (8, n) joint limits.
        sample: see :class:`_Sample`.
        reached: (n,) whether the set point was at its goal a sample before.
        kind: kind of the goal: TO_VELOCITY, TO_POSITION or TO_REST.
        dt: time since the last command [s].
        out: (n,) accelerations.
    """
    s = _view_sample(sample, out.shape[0])
    for i in range(out.shape[0]):
        most = table[ACCELERATION, i]
        d = min(s.jerk[i] * dt, 2.0 * most)
        a = s.before[i] if s.jerk[i] < np.inf else 0.0
        u, want, drift = s.velocity[i] / dt, s.asked[i], s.moved[i] / dt
        lowest, highest = min(max(a - d, -most), most), max(min(a + d, most), -most)
        stop = min(max(start_of(-u, most, d), lowest), highest)
        high = max(min(start_of(table[VELOCITY, i] / dt - u, most, d), highest), stop)
        low = min(max(start_of(-table[VELOCITY, i] / dt - u, most, d), lowest), stop)
        if table[UPPER, i] < np.inf:
            high = _ends((table[UPPER, i] - s.position[i]) / dt**2, u, (stop, high), most, d, False)
        if table[LOWER, i] > -np.inf:
            low = -_ends((s.position[i] - table[LOWER, i]) / dt**2, -u, (-stop, -low), most, d, False)
        goal = want
        if kind == TO_REST:
            goal = start_of(-u, s.braking[i], d)
        elif kind == TO_VELOCITY:
            if not (reached[i] and low <= want <= high):
                goal = start_of(want, most, d)
        elif not ((reached[i] or abs(u + want - drift) <= min(d, most)) and low <= want <= high):
            goal = _ends(want + u - drift, u - drift, (low, high), most, d, True)
        out[i] = min(max(goal, low), high)


Memory = tuple[Array | None, int, NDArray[np.bool_], bool]


class SmoothSetPoints:
    """Set points of velocity or position that keep their limits, and reach goals without overshoot.

    Attributes:
        limited: whether there are jerk limits.
        acceleration: (n,) acceleration of the last sample.
    """

    def __init__(self, limits: JointLimits, kind: int) -> None:
        """Set the limits; ``kind``: TO_VELOCITY or TO_POSITION."""
        self._limits, self._kind = limits, kind
        self._jerk = np.broadcast_to(limits.jerk, limits.acceleration.shape).astype(float)
        self._sample = np.empty(_view_sample.size(self._jerk.size))
        self._sample[: self._jerk.size] = self._jerk
        self._moves = self._sample[self._jerk.size :]  # all but the jerk limits
        self._goal: Array | None = None
        self._samples = 1  # since that goal
        self._reached: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._follows = False  # whether all were reached, and no jerk is limited
        self.limited = bool(np.isfinite(self._jerk).any())
        self.reset()
        self.stop(self.acceleration, self.acceleration, limits.acceleration, 0.001)
        self.reset()

    def reset(self) -> None:
        """Restart, without acceleration."""
        n = self._jerk.size
        self.acceleration = np.zeros(n)
        self.leave()

    def follow(self, goal: Array, asked: Array, position: Array, velocity: Array, dt: float) -> Array:
        """Return the accelerations (n,) for a sample: the requested ones where the limits allow them.

        Args:
            goal: (n,) wanted velocities or positions.
            asked: (n,) accelerations that reach them in this sample.
            position: (n,) positions [rad | m].
            velocity: (n,) velocities of the set points [rad/s | m/s].
            dt: time since the last command [s].
        """
        if self._follows and is_allowed(self._limits, position, velocity, asked, dt):
            self._goal, self._samples = goal, 1
            return asked
        fastest, goal = self._limits.velocity, finite("goal", goal, self._jerk.size)
        dt = number("dt", dt, SHORTEST)
        since = self._samples * dt
        moved = 0.0 * goal if self._goal is None else np.clip((goal - self._goal) / since, -fastest, fastest)
        found = self._step(position, velocity, asked, moved, self._kind, self._limits.acceleration, dt)
        self._goal, self._samples, self._reached = goal, 1, found == asked
        self._follows = not self.limited and bool(self._reached.all())
        return found

    def leave(self) -> None:
        """Begin a stop: goals no longer count."""
        self.memory = None, 1, np.zeros(self._jerk.size, dtype=bool), False

    @property
    def memory(self) -> Memory:
        """The newest goal, samples since then, which joints reached it, and whether all did and no jerk is limited."""
        return self._goal, self._samples, self._reached, self._follows

    @memory.setter
    def memory(self, memory: Memory) -> None:
        self._goal, self._samples, self._reached, self._follows = memory

    def miss(self) -> None:
        """Take note of a sample without a goal."""
        self._samples += 1

    def stop(self, position: Array, velocity: Array, braking: Array, dt: float) -> Array:
        """Return the velocities (n,) after a sample of a stop; arguments as in :meth:`follow`.

        ``braking``: (n,) largest decelerations, as far as position limits do not need more [rad/s^2 | m/s^2].
        """
        none, velocity = np.zeros(self._jerk.size), finite("velocity", velocity, self._jerk.size)
        velocity = velocity + dt * self._step(position, velocity, none, none, TO_REST, braking, dt)
        return np.where(np.abs(velocity) <= CLOSE * self._limits.acceleration * dt, 0.0, velocity)

    def _step(
        self, position: Array, velocity: Array, asked: Array, moved: Array, kind: int, braking: Array, dt: float
    ) -> Array:  # fmt: skip
        n = self._jerk.size
        parts = (
            finite("position", position, n), finite("velocity", velocity, n), self.acceleration,
            finite("asked", asked, n), finite("goal", moved, n), finite("braking", braking, n),
        )  # fmt: skip
        np.concatenate(parts, out=self._moves)
        out = np.empty(n)
        step(self._limits.table, self._sample, self._reached, kind, number("dt", dt, SHORTEST), out)
        return out
