"""Response: estimates the delay of effort commands from the motion of the arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.entrance import numbers
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

INTERVAL = 0.005  # [s] length of the motion intervals that are evaluated
DELAYS = np.array([0.0, 0.005, 0.01, 0.02, 0.03, 0.045, 0.065, 0.09])  # [s] candidate delays
LONGEST = 0.04  # [s] longest time between two states, and longest moment of rest
KEPT = 1024  # states in the history: half of them cover more than the longest delay, at up to 4 kHz
MEMORY = 0.1  # [s] time constant with which old evidence is forgotten
SLOW = 0.05  # [s] time constant of the slow part, which is subtracted
EVIDENCE = 2e-5  # [s] required difference of misfits: 3 % of the effort limits for 0.02 s
CONFIRMED = 4  # consecutive intervals that must show a delay before it is accepted
MOVING = 0.02  # fraction of the velocity limit: friction hides the commands of slow or reversing joints
TOLD = 1.6  # number of intervals that a delay must last to be detected
MOVED = 0.7  # with the delay, the misfit must be below this fraction of the misfit without any commands
BETTER = 0.4  # with the delay, the misfit must be below this fraction of the misfit with commands in time
CLOSEST = 1.1  # number of intervals that a delay must last to cast doubt on ``unexplained``
CLEAR = 0.5  # with commands in time, the misfit must be below this fraction of that with such a delay
STRANGE = 2e-4  # [s] misfit of one interval, with any delay and without commands, of a motion that others cause


class Response:
    """Compares the effort that a motion needed with the commands sent now and some time before.

    For each interval the model gives the effort that moved the joints, ``tau = H_m qdd + H_bm^T xdd_b + c_m + D_m qd``,
    from measured accelerations. For every delay ``d`` the misfit ``J_d = sum |tau - u(t - d)|^2 dt`` is summed,
    with efforts as fractions of their limits, minus their means over SLOW: friction and model errors change slowly and
    are in every ``J_d`` equally. A joint that is at rest or reverses is ignored: there static friction balances
    the command, and the effort it held back appears later as motion. The smallest misfit shows the delay as soon as the
    commands change quickly, if it is also smaller than the misfit without any commands: contact and friction can
    balance commands, late or not, and nothing moves.

    The term of an elastic base, ``H_bm^T xdd_b``, also depends on the commands, if a controller damps the base. If the
    base is not measured, only the joint directions that the base motion does not affect are evaluated: the errors
    without their component in the range of ``H_bm^T``. If the base has as many elastic joints as the arm has joints, no
    direction is left.

    A drive that gets no command in time may brake by itself. No delay explains that motion, and its misfit would hide
    for a long time when the late commands act again. So for an arm on a rigid base, the evaluation begins anew after
    such an interval, and the motion stays ``doubted``. Elastic bases and their friction move joints like that as well.

    Attributes:
        age: delay of the commands, from the time of the states [s]; 0 if they act in time, or if it is unknown.
        suspected: age before the acknowledgment, until the motion shows that commands act in time [s].
        unexplained: (n,) mean over SLOW of the measured joint accelerations minus those that the commands should cause:
            errors of the model, payload, friction; 0 where unknown, while commands may be late, and for an arm on an
            elastic base.
        doubted: whether the motion fits the assumption of no commands better than that of commands in time, until
            another delay than 0 fits worse, or the arm rests; always False for an arm on an elastic base.
    """

    def __init__(
        self, model: ArmModel, effort_limit: Array, velocity_limit: Array, *, base_measured: bool = True
    ) -> None:
        """Evaluate an arm with these limits (n,); ``base_measured``: whether states contain the motion of the base."""
        self._model, self._limit = model, numbers("effort_limit", effort_limit, model.n)
        self._base_measured = base_measured
        self.age = self.suspected = 0.0
        self._moving = MOVING * numbers("velocity_limit", velocity_limit, model.n)
        self.reset()
        nothing = np.zeros(model.n)  # call the compiled functions once, so that no tick waits for their compilation
        _add_misfit(np.array([0.0, 1.0]), np.zeros((2, nothing.size)), 0.0, 1.0, nothing, self._limit,
                    np.zeros((model.n, 0)), np.zeros(model.n, dtype=bool), self._slow, self._misfit)  # fmt: skip
        self.reset()

    def acknowledge(self) -> None:
        """Assume that commands act in time again, as the operator confirmed; keep the old age as ``suspected``."""
        suspected = max(self.age, self.suspected)
        self.reset()
        self.suspected = suspected

    def reset(self) -> None:
        """Forget all states and commands."""
        self.age = self.suspected = 0.0
        self._moved = 0  # stamp of the last moving state
        self._count, self._origin = 0, 0
        self._times = np.zeros(KEPT)  # [s] times of the states
        self._impulses = np.zeros((KEPT, self._limit.size))  # time integrals of the commands up to these times
        self._begin()

    def _begin(self) -> None:
        """Begin the evaluation of a new motion; earlier commands are kept."""
        self._forget()
        self.doubted = False
        self.unexplained = np.zeros(self._limit.size)
        self._start: ArmState | None = None

    def _forget(self) -> None:
        self._misfit = np.zeros(DELAYS.size + 1)  # last entry: misfit without any commands
        self._slow = np.full((DELAYS.size + 1, self._limit.size), np.nan)  # slow mean of the residual
        self._in_a_row = 0

    @property
    def hinted(self) -> bool:
        """Whether the motion is doubted, or fits a delay, or no commands, better than commands in time."""
        return bool(self.doubted or self._misfit[0] - self._misfit[1:].min() > EVIDENCE)

    def on_state(self, state: ArmState, command: Array) -> None:
        """Process a believed state, and the effort (n,) that was in force until then."""
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
        self.unexplained = np.zeros(self._limit.size)
        if dt <= LONGEST:
            self._judge(self._start, state, begin, now)
        self._start = state

    def _record(self, stamp: int, command: Array) -> float:
        """Store a command (n,) that was in force until a stamp [ns]; return the time since the last state [s]."""
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
        earlier = np.exp(-dt / MEMORY) * misfit
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
        if misfit[1:].min() - misfit[0] > EVIDENCE:
            self.suspected, self.doubted = 0.0, False
        if not model.m:
            self.doubted = self.doubted or bool(misfit[0] - misfit[-1] > EVIDENCE)
            added = misfit - earlier
            if added.min() > max(STRANGE, 0.6 * added[0]):
                self._forget()
                self.doubted = True
        in_time = misfit[0] <= CLEAR * misfit[:-1][CLOSEST * dt < DELAYS].min()
        if in_time and not model.m and self.age == self.suspected == 0.0:
            effort = np.nan_to_num(self._slow[0]) * self._limit
            self.unexplained = np.linalg.solve(blocks.H_m, effort).astype(np.float64, copy=False)


def _middle(one: ArmState, other: ArmState) -> ArmState:
    """Return the midpoint of two states, where the dynamics approximate their mean over the interval."""
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
    """Add the errors of an interval to the misfits (d,) of all delays, and update the slow means (d, n).

    ``unknown`` (n, k): orthonormal directions, of efforts as fractions of the limits, that are ignored; ``silent``
    (n,): joints that are ignored and whose means restart.
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
    """Return the index of the sample before a time and the fraction to the next one, limited to the range."""
    place = min(max(int(np.searchsorted(times, asked)) - 1, 0), times.size - 2)
    share = float((asked - times[place]) / (times[place + 1] - times[place]))
    return place, min(max(share, 0.0), 1.0)
