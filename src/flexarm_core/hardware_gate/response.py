"""Response: how late the commands of effort mode act, seen in what the arm does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.entrance import numbers
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

INTERVAL = 0.005  # [s] of motion that is looked at as one
DELAYS = np.array([0.0, 0.005, 0.01, 0.02, 0.03, 0.045, 0.065, 0.09])  # [s] that are told from each other
LONGEST = 0.04  # [s] between two states, and of a moment of rest
KEPT = 1024  # states: half of them last for longer than any delay, at up to 4 kHz
MEMORY = 0.1  # [s] time constant in which evidence is forgotten
SLOW = 0.05  # [s] time constant of what is left out
EVIDENCE = 2e-5  # [s] by which misfits must differ: 3 % of the effort limits for 0.02 s
CONFIRMED = 4  # intervals in a row
MOVING = 0.02  # share of a velocity limit: at rest, and where a joint turns, friction takes whatever is commanded
TOLD = 1.6  # intervals that a delay must last to be told
MOVED = 0.7  # share of the misfit of no commands at all that is left with the delay
BETTER = 0.4  # share of the misfit of commands in time that is left with the delay


class Response:
    """Compares the effort that a motion needed with the commands that were sent now, and some time before.

    Over an interval the model says which effort moved the joints, ``tau = H_m qdd + H_bm^T xdd_b + c_m + D_m qd`` with
    the accelerations that were measured. For every delay ``d`` the misfit ``J_d = sum |tau - u(t - d)|^2 dt`` is kept,
    efforts as shares of their limits, less their means over SLOW: what friction and errors of the model add changes
    slowly, and is in every ``J_d`` alike. A joint that is at rest or turns says nothing: there friction takes what is
    commanded, and what it took before comes back as motion later. So the least of them tells the delay as soon as
    commands change quickly, if it is less than that of no commands at all too: contact and friction take commands, late
    or not, and nothing moves.

    What an elastic base does, ``H_bm^T xdd_b``, is led by commands as well, of a controller that damps it. Where it is
    not measured, only those directions of the joints are looked at in which no motion of the base pushes: errors less
    their part in the range of ``H_bm^T``. Over a base of as many directions as the arm has joints none is left.

    Attributes:
        age: by which commands act late, from the time of the states [s]; 0 where they act in time, or nothing is known.
        suspected: the age before somebody said that it is mended, until commands were seen to act in time [s].
        doubted: whether the motion is explained better by no commands at all than by commands in time.
    """

    def __init__(
        self, model: ArmModel, effort_limit: Array, velocity_limit: Array, *, base_measured: bool = True
    ) -> None:
        """Watch an arm with these limits (n,); ``base_measured``: whether states tell how its base moves."""
        self._model, self._limit = model, numbers("effort_limit", effort_limit, model.n)
        self._base_measured = base_measured
        self.age = self.suspected = 0.0
        self._moving = MOVING * numbers("velocity_limit", velocity_limit, model.n)
        self.reset()
        nothing = np.zeros(model.n)  # what is compiled is called once, so that no tick waits for it
        _add_misfit(np.array([0.0, 1.0]), np.zeros((2, nothing.size)), 0.0, 1.0, nothing, self._limit,
                    np.zeros((model.n, 0)), np.zeros(model.n, dtype=bool), self._slow, self._misfit)  # fmt: skip
        self.reset()

    def acknowledge(self) -> None:
        """Somebody says that nothing is late any more."""
        suspected = max(self.age, self.suspected)
        self.reset()
        self.suspected = suspected

    def reset(self) -> None:
        """Forget what was seen."""
        self.age = self.suspected = 0.0
        self._moved = 0  # stamp of the last state in motion
        self._count, self._origin = 0, 0
        self._times = np.zeros(KEPT)  # [s] of states
        self._impulses = np.zeros((KEPT, self._limit.size))  # of all commands until then
        self._begin()

    def _begin(self) -> None:
        """Judge a motion from its begin; the commands before it are still known."""
        self._misfit = np.zeros(DELAYS.size + 1)  # the last one: of no commands at all
        self._slow = np.full((DELAYS.size + 1, self._limit.size), np.nan)  # mean of what is not explained
        self._in_a_row = 0
        self.doubted = False
        self._start: ArmState | None = None

    def on_state(self, state: ArmState, command: Array) -> None:
        """A believed state came, an effort (n,) was in force."""
        dt = self._record(state.stamp, command)
        if (np.abs(state.velocity) > self._moving).any():
            self._moved = state.stamp
        elif (state.stamp - self._moved) * 1e-9 > LONGEST:
            self._begin()
            return
        if self._start is None:
            self._start = state
            return
        now, begin = ((stamp - self._origin) * 1e-9 for stamp in (state.stamp, self._start.stamp))
        if now - begin < INTERVAL:
            return
        if dt <= LONGEST:
            self._judge(self._start, state, begin, now)
        self._start = state

    def _record(self, stamp: int, command: Array) -> float:
        """Remember a command (n,) until a stamp [ns]; the time since the last one [s]."""
        if self._count == 0:
            self._origin, self._count = stamp, 1
            return 0.0
        if self._count == KEPT:  # the older half is not needed any more
            self._count = KEPT // 2
            self._times[: self._count] = self._times[-self._count :]
            self._impulses[: self._count] = self._impulses[-self._count :]
        last, now = self._count - 1, (stamp - self._origin) * 1e-9
        dt = float(now - self._times[last])
        self._times[self._count], self._impulses[self._count] = now, self._impulses[last] + command * dt
        self._count += 1
        return dt

    def _judge(self, before: ArmState, state: ArmState, begin: float, now: float) -> None:
        model, dt = self._model, now - begin
        middle = _middle(before, state)
        blocks = model.blocks(middle)
        moved = blocks.H_m @ (state.velocity - before.velocity) / dt + blocks.c_m + model.D_m * middle.velocity
        slowest = np.minimum(np.abs(before.velocity), np.abs(state.velocity))
        silent = (slowest <= self._moving) | (before.velocity * state.velocity < 0.0)
        unknown = np.eye(model.n)[:, silent]
        if model.m and self._base_measured:
            moved += blocks.H_bm.T @ (state.deflection_rate - before.deflection_rate) / dt
        elif model.m:
            unknown = np.linalg.qr(np.column_stack((unknown, blocks.H_bm.T / self._limit[:, None])))[0]
        times, misfit, unknown = self._times[: self._count], self._misfit, np.ascontiguousarray(unknown)
        _add_misfit(times, self._impulses, begin, now, moved, self._limit, unknown, silent, self._slow, misfit)
        best = int(misfit[:-1].argmin())
        late = misfit[0] - misfit[best] > EVIDENCE and misfit[best] < BETTER * misfit[0]
        late = late and (self.suspected > 0.0 or misfit[best] < MOVED * misfit[-1])
        late = late and DELAYS[best] >= TOLD * dt and begin - DELAYS[-1] >= times[0]
        self._in_a_row = self._in_a_row + 1 if late else 0
        if self._in_a_row >= CONFIRMED:
            self.age = float(DELAYS[best])
        elif misfit[np.searchsorted(DELAYS, self.age)] - misfit[0] > EVIDENCE:
            self.age = 0.0
        self.doubted = bool(misfit[0] - misfit[-1] > EVIDENCE)
        if misfit[1:].min() - misfit[0] > EVIDENCE:
            self.suspected = 0.0


def _middle(one: ArmState, other: ArmState) -> ArmState:
    """The state between two: of its dynamics the mean over the time between them differs least."""
    return ArmState(
        one.stamp,
        0.5 * (one.position + other.position),
        0.5 * (one.velocity + other.velocity),
        0.5 * (one.deflection + other.deflection),
        0.5 * (one.deflection_rate + other.deflection_rate),
    )


@kernel
def _add_misfit(
    times: Array,
    impulses: Array,
    begin: float,
    now: float,
    moved: Array,
    limit: Array,
    unknown: Array,
    silent: NDArray[np.bool_],
    slow: Array,
    misfit: Array,
) -> None:
    """Add to the misfits (d,) of all delays what an interval shows, and to the slow means (d, n).

    ``unknown`` (n, k): orthonormal directions, of shares of the limits, that are left out; ``silent`` (n,): joints
    whose means begin anew.
    """
    dt, error = now - begin, np.empty(moved.size)
    forgotten, kept = np.exp(-dt / SLOW), np.exp(-dt / MEMORY)
    for d in range(misfit.size):
        sent = d < DELAYS.size
        first, first_share = _between(times, begin - DELAYS[d] if sent else begin)
        second, second_share = _between(times, now - DELAYS[d] if sent else begin)
        total = 0.0
        for i in range(moved.size):
            until = impulses[second, i] + second_share * (impulses[second + 1, i] - impulses[second, i])
            since = impulses[first, i] + first_share * (impulses[first + 1, i] - impulses[first, i])
            error[i] = (moved[i] - (until - since) / dt) / limit[i]
        for k in range(unknown.shape[1]):
            along = 0.0
            for i in range(moved.size):
                along += unknown[i, k] * error[i]
            for i in range(moved.size):
                error[i] -= along * unknown[i, k]
        for i in range(moved.size):
            if silent[i]:
                slow[d, i] = np.nan
                continue
            slow[d, i] = error[i] if np.isnan(slow[d, i]) else error[i] + forgotten * (slow[d, i] - error[i])
            total += (error[i] - slow[d, i]) ** 2
        misfit[d] = kept * misfit[d] + dt * total


@kernel
def _between(times: Array, asked: float) -> tuple[int, float]:
    """The sample before a time, and how far it is on to the next one; at the ends, those."""
    place = min(max(int(np.searchsorted(times, asked)) - 1, 0), times.size - 2)
    share = float((asked - times[place]) / (times[place + 1] - times[place]))
    return place, min(max(share, 0.0), 1.0)
