"""Response: how late the commands of effort mode act, seen in what the arm does."""

from __future__ import annotations

from collections import deque

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

INTERVAL = 0.005  # [s] of motion that is looked at as one
DELAYS = np.array([0.0, 0.005, 0.01, 0.02, 0.04, 0.08])  # [s] that are told from each other
LONGEST = 0.04  # [s] between two states, and of a moment of rest
MEMORY = 0.1  # [s] time constant in which evidence is forgotten
SLOW = 0.05  # [s] time constant of what is left out
EVIDENCE = 2e-5  # [s] by which misfits must differ: 3 % of the effort limits for 0.02 s
CONFIRMED = 4  # intervals in a row
MOVING = 0.02  # share of a velocity limit: at rest friction takes whatever is commanded
BETTER = 0.5  # share of the misfit of commands in time that is left with the delay


class Response:
    """Compares the effort that a motion needed with the commands that were sent now, and some time before.

    Over an interval the model says which effort moved the joints, ``tau = H_m qdd + H_bm^T xdd_b + c_m + D_m qd`` with
    the accelerations that were measured. For every delay ``d`` the misfit ``J_d = sum |tau - u(t - d)|^2 dt`` is kept,
    efforts as shares of their limits, less their means over SLOW: what friction and errors of the model add changes
    slowly, and is in every ``J_d`` alike. So the least of them tells the delay as soon as commands change quickly.

    Attributes:
        age: by which commands act late, from the time of the states [s]; 0 where they act in time, or nothing is known.
    """

    def __init__(self, model: ArmModel, effort_limit: Array, velocity_limit: Array) -> None:
        """Watch an arm with these limits (n,)."""
        self._model, self._limit, self._moving = model, effort_limit, MOVING * velocity_limit
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self.age = 0.0
        self._moved = 0  # stamp of the last state in motion
        self._begin()

    def _begin(self) -> None:
        self._misfit = np.zeros(len(DELAYS))
        self._in_a_row = 0
        self._slow: Array | None = None  # (d, n) mean of what is not explained
        self._start: ArmState | None = None
        self._times: deque[float] = deque()  # [s] of states
        self._impulses: deque[Array] = deque()  # (n,) of all commands until then
        self._origin = 0

    def on_state(self, state: ArmState, command: Array) -> None:
        """A believed state came, an effort (n,) was in force."""
        if (np.abs(state.velocity) > self._moving).any():
            self._moved = state.stamp
        elif (state.stamp - self._moved) * 1e-9 > LONGEST:
            self._begin()
            return
        if self._start is None:
            self._start, self._origin = state, state.stamp
            self._times.append(0.0)
            self._impulses.append(np.zeros(len(command)))
            return
        now, begin = ((stamp - self._origin) * 1e-9 for stamp in (state.stamp, self._start.stamp))
        dt = now - self._times[-1]
        self._impulses.append(self._impulses[-1] + command * dt)
        self._times.append(now)
        while self._times[1] < now - DELAYS[-1] - 2.0 * LONGEST:
            self._times.popleft()
            self._impulses.popleft()
        if now - begin < INTERVAL:
            return
        if dt <= LONGEST:
            self._judge(self._start, state, begin, now)
        self._start = state

    def _judge(self, before: ArmState, state: ArmState, begin: float, now: float) -> None:
        model, dt = self._model, now - begin
        blocks = model.blocks(before)
        moved = blocks.H_m @ (state.velocity - before.velocity) / dt + blocks.c_m + model.D_m * before.velocity
        if model.m:
            moved += blocks.H_bm.T @ (state.deflection_rate - before.deflection_rate) / dt
        times, impulses = np.array(self._times), np.array(self._impulses)
        sent = (_at(times, impulses, now - DELAYS) - _at(times, impulses, begin - DELAYS)) / dt
        error = (moved - sent) / self._limit
        self._slow = error if self._slow is None else error + np.exp(-dt / SLOW) * (self._slow - error)
        self._misfit = np.exp(-dt / MEMORY) * self._misfit + dt * ((error - self._slow) ** 2).sum(axis=1)
        best = int(np.argmin(self._misfit))
        gain = self._misfit[0] - self._misfit[best]
        late = gain > EVIDENCE and self._misfit[best] < BETTER * self._misfit[0] and begin - DELAYS[-1] >= times[0]
        self._in_a_row = self._in_a_row + 1 if late else 0
        if self._in_a_row >= CONFIRMED:
            self.age = float(DELAYS[best])
        elif self.age and self._misfit[np.searchsorted(DELAYS, self.age)] - self._misfit[0] > EVIDENCE:
            self.age = 0.0


def _at(times: Array, values: Array, asked: Array) -> Array:
    """Values (k, n) between the samples (l, n), at the times asked for (k,)."""
    place = np.clip(np.searchsorted(times, asked), 1, len(times) - 1)
    share = ((asked - times[place - 1]) / (times[place] - times[place - 1]))[:, None]
    return values[place - 1] + np.clip(share, 0.0, 1.0) * (values[place] - values[place - 1])
