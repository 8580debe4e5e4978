"""Stillness: finds joints whose readings do not change, to the last bit, although they should move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocate, kernel, views
from flexarm_core.entrance import finite
from flexarm_core.hardware_gate.limits import ACCELERATION, VELOCITY, JointLimits
from flexarm_core.types import ArmState, Array

STILL = 3  # identical consecutive readings after which to check whether the joint should have moved
EVERY = 0.004  # [s] shortest time between two such checks
MOTION, CHANGE = 0.02, 0.1  # [rad | m] and fraction of the velocity limit: largest hidden motion
CLAIMED = 0.005  # [rad | m] motion that the readings claim themselves
SUDDEN, SLOW = 5.0, 0.02  # multiple of the acceleration limit, and fraction of the velocity limit: a stop may be sudden


class Stillness:
    """Integrate, for each joint, the motion that identical readings would hide.

    Readings that have noise do not repeat by themselves. Where they do, a joint is taken to move on as before, and as
    the command asks. If the readings of a joint repeated while nothing was commanded, or repeated and continued, the
    joint is *quiet*: it may be at rest, where payload, friction and model errors balance the command. Then only what
    the command asks for beyond that at its first identical reading counts, by more than ``stiction``; and it may have
    come to rest within a sample, by that friction and SUDDEN times its acceleration limit.
    """

    def __init__(self, limits: JointLimits, stiction: Array) -> None:
        """Check joints.

        Args:
            limits: joint limits.
            stiction: (n,) accelerations that friction may balance although nobody mentioned it [rad/s^2 | m/s^2].
        """
        n = limits.table.shape[1]
        self._table, none = limits.table, np.zeros(n)
        self._memory, self._rows = allocate(_view, n)
        self._rows.stiction[:] = finite("stiction", stiction, n)
        self._readings = self._memory[3 * n :]  # what is forgotten
        _note(none, none, none, none, 0.0, self._memory)  # compiles or loads
        _judge(self._table, none, none, none, True, self._memory)
        self.reset()

    def reset(self) -> None:
        """Discard all readings and all knowledge about the joints."""
        self._rows.quiet[:] = 0.0
        self.forget()

    def forget(self) -> None:
        """Forget all readings."""
        self._readings[:] = 0.0
        self._waited = 0.0

    def learn(self, state: ArmState, before: ArmState) -> None:
        """Learn from two states which joints are quiet, while nothing is commanded."""
        same = (state.position == before.position) & (state.velocity == before.velocity)
        self._rows.quiet[same] = 1.0

    def stopped(self, state: ArmState, before: ArmState) -> int:
        """Return the first joint, not a quiet one, whose readings do not change while those of others do, or -1."""
        same = (state.position == before.position) & (state.velocity == before.velocity)
        noisy = np.flatnonzero(same & (self._rows.quiet == 0.0))
        return int(noisy[0]) if noisy.size and not same.all() else -1

    def on_state(
        self,
        state: ArmState,
        before: ArmState,
        dt: float,
        caused: Callable[[ArmState], tuple[Array, Array]],
        *,
        coasts: bool,
    ) -> int:
        """Return the first joint that should have moved, -1 if there is none.

        Args:
            state: received state.
            before: state before it.
            dt: time between the two [s].
            caused: function of a state that returns the joint velocity (n,) and acceleration (n,) that the command in
                force causes; called only if readings do not change.
            coasts: whether a joint continues to move without a command, as in effort mode.
        """
        most = _note(before.position, before.velocity, state.position, state.velocity, dt, self._memory)
        if most < STILL:
            self._waited = 0.0
            return -1
        self._waited += dt
        if self._waited < EVERY:
            return -1
        velocity, acceleration = caused(state)
        self._waited = 0.0
        return int(_judge(self._table, state.velocity, velocity, acceleration, coasts, self._memory))

    @property
    def partial(self) -> bool:
        """Whether the readings of some joints continue to change."""
        return bool(self._rows.repeats.min() < STILL)

    @property
    def hidden(self) -> Array:
        """(n,) velocities that the identical readings hide [rad/s | m/s]."""
        hidden: Array = self._rows.hidden
        return hidden


class _Rows(NamedTuple):
    """What is known of each joint; all but the first three is forgotten with the readings."""

    stiction: Annotated[Array, "n"]  # acceleration that friction may balance
    quiet: Annotated[Array, "n"]  # 1: readings of the joint have stood still before and gone on
    hidden: Annotated[Array, "n"]  # velocity that identical readings hide
    repeats: Annotated[Array, "n"]  # identical readings after the first one
    time: Annotated[Array, "n"]  # since then [s]
    judged: Annotated[Array, "n"]  # part of this time that was judged [s]
    before: Annotated[Array, "n"]  # velocity before these readings
    first: Annotated[Array, "n"]  # time between that velocity and the first of these readings [s]
    asked: Annotated[Array, "n"]  # acceleration that the command asked for when the judging began
    change: Annotated[Array, "n"]  # hidden change of the velocity
    motion: Annotated[Array, "n"]  # hidden motion


_view = views(_Rows, "n")


@kernel
def _note(
    position_before: Array, velocity_before: Array, position: Array, velocity: Array, dt: float, memory: Array
) -> int:
    """Count the identical readings of each joint; return the largest count."""
    most, r = 0.0, _view(memory, position.shape[0])
    for i in range(position.shape[0]):
        if position[i] == position_before[i] and velocity[i] == velocity_before[i]:
            r.repeats[i] += 1.0
            r.time[i] += dt
            most = max(most, r.repeats[i])
            continue
        if r.repeats[i] >= STILL:
            r.quiet[i] = 1.0
        r.repeats[i] = r.time[i] = r.judged[i] = r.asked[i] = r.change[i] = r.motion[i] = 0.0
        r.before[i], r.first[i] = velocity_before[i], dt
    return int(most)


@kernel
def _judge(
    table: Array, claimed: Array, velocity: Array, acceleration: Array, coasts: bool, memory: Array
) -> int:  # fmt: skip
    """Add the motion hidden since the last judgment; return the first joint that hides too much, or -1."""
    found, r = -1, _view(memory, claimed.shape[0])
    for i in range(claimed.shape[0]):
        r.hidden[i] = claimed[i]
        if r.repeats[i] < STILL:
            continue
        quiet = r.quiet[i] > 0.0
        if quiet and r.judged[i] == 0.0:
            r.asked[i] = acceleration[i]
        dt = r.time[i] - r.judged[i]
        r.judged[i] = r.time[i]
        more = acceleration[i] - r.asked[i]
        r.change[i] += np.copysign(max(abs(more) - (r.stiction[i] if quiet else 0.0), 0.0), more) * dt
        r.hidden[i] = velocity[i]
        if coasts:
            sudden = (SUDDEN * table[ACCELERATION, i] + r.stiction[i]) * r.first[i] + SLOW * table[VELOCITY, i]
            before = np.copysign(max(abs(r.before[i]) - (sudden if quiet else 0.0), 0.0), r.before[i])
            if abs(before) > abs(r.hidden[i]):
                r.hidden[i] = before
        r.hidden[i] += r.change[i]
        r.motion[i] += r.hidden[i] * dt
        hides = abs(r.motion[i]) > MOTION or abs(r.change[i]) > CHANGE * table[VELOCITY, i]
        if found < 0 and (hides or abs(claimed[i]) * r.time[i] > CLAIMED):
            found = i
    return found
