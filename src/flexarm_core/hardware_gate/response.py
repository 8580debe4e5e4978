"""Response: estimates the delay of effort commands from the motion of the arm."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import allocate, allocating_kernel, inlined_kernel, kernel, pack, views
from flexarm_core.entrance import number, numbers
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

INTERVAL = 0.005  # [s] length of the motion intervals that are evaluated
DELAYS = np.array([0.0, 0.00125, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.045, 0.065, 0.09])  # [s] candidate delays
ROWS = DELAYS.size + 1  # of the evidence: a row for each delay, and one for no commands at all
LONGEST = 0.04  # [s] longest time between two states, and longest moment of rest
KEPT = 1024  # states in the history: half of them cover more than the longest delay, at up to 4 kHz
MEMORY = 0.1  # [s] time constant with which old evidence is forgotten
USUAL = 0.3  # [s] time constant of the mean square errors that are usual for a joint
SLOW = 0.05  # [s] time constant of the slow part, which is subtracted
EXPLAINED = 0.4  # largest fraction of the misfit of commands in time that is left with a delay that is believed
EVIDENCE = 9.0  # required difference of misfits: a log-likelihood ratio
HINT = 3.0  # difference of misfits that casts doubt on commands in time
FLOOR = 0.003  # fraction of the effort limits: error that is usual for every joint
NOISE = 0.0005  # fraction of the velocity limits: noise that is usual for every measured velocity
MOVING = 0.02  # fraction of the velocity limit: friction hides the commands of slow or reversing joints
TOLD = 1.6  # number of intervals that a delay must last to be distinguishable from commands without delay
STRANGE = 2e-4  # [s] square error of one interval, with any delay and without commands, of a motion that others cause
ALIKE = 0.6  # such a motion leaves at least this fraction of the square error of commands in time, with any delay


class Response:
    """Compares the effort that a motion needed with the commands sent now and some time before.

    For each interval the model gives the effort that moved the joints, ``tau = H_m qdd + H_bm^T xdd_b + c_m``, from
    measured accelerations, without damping: described damping may not exist, and real damping changes slowly. For every
    delay ``d`` and joint ``i`` the error ``e = tau - u(t - d)`` minus its mean over SLOW is ``r_i``: friction and model
    errors change slowly and are in every ``e`` equally. The misfit of ``d`` is ``J_d = sum log(1 + (r_i / s_i)^2)``:
    the negative log-likelihood of errors with a Cauchy distribution (Huber 1981, Robust Statistics), whose scale
    ``s_i`` is what is usual for this joint: the mean square error over USUAL with the delay that fits best. So light
    joints with small efforts count as much as strong ones, noisy sensors count for little, and a motion that no delay
    explains, such as a drive that brakes by itself, counts for no delay. A joint that is at rest or reverses is
    ignored: there static friction balances the command, and the effort it held back appears later as motion. Delays
    that are too short to matter (``bearable``) or to be detected count as commands in time. A longer one is detected if
    its misfit is less than all of theirs by EVIDENCE, and less than the misfit without any commands: contact and
    friction can balance commands, late or not, and nothing moves.

    The term of an elastic base, ``H_bm^T xdd_b``, also depends on the commands, if a controller damps the base. If the
    base is not measured, only the joint directions that the base motion does not affect are evaluated: the errors
    without their component in the range of ``H_bm^T``. If the base has as many elastic joints as the arm has joints, no
    direction is left.

    An undescribed load looks like a delay, or like missing commands, because it responds slowly. So on a rigid base
    every motion is judged twice: with the described inertia, and with that of the load that the gate has found.
    Commands act late, or not at all, if both say so; one is enough to say that they act in time.

    A drive that gets no command in time may brake by itself. No delay explains that motion. So for an arm on a rigid
    base, the evaluation restarts when such a motion begins and when it ends, and the motion stays ``doubted``. Elastic
    bases and their friction move joints like that as well.

    Attributes:
        age: delay of the commands, from the time of the states [s]; 0 if they act in time, or if it is unknown.
        suspected: age before the acknowledgment, until the motion shows that commands act in time [s].
        doubted: whether the motion fits the assumption of no commands better than that of commands in time, until
            commands in time fit best, or the arm rests; always False for an arm on an elastic base.
        seems_late: whether the motion fits a delay that matters better, by HINT, than commands in time or no commands.
    """

    def __init__(
        self,
        model: ArmModel,
        effort_limit: Array,
        velocity_limit: Array,
        bearable: float,
        *,
        base_measured: bool = True,
    ) -> None:
        """Evaluate an arm.

        Args:
            model: arm model.
            effort_limit: (n,) effort limits [N*m | N].
            velocity_limit: (n,) velocity limits [rad/s | m/s].
            bearable: shorter delays need not be detected [s].
            base_measured: whether states contain the motion of the base.
        """
        self._model, self._limit = model, numbers("effort_limit", effort_limit, model.n)
        self._bearable = min(number("bearable", bearable, 0.0), float(DELAYS[-1]))
        self.age = self.suspected = 0.0
        n, self._moving = model.n, MOVING * numbers("velocity_limit", velocity_limit, model.n)
        self._constants = pack(_Constants(model.m, base_measured, self._limit, self._moving))
        self._memories, self._evidence = zip(*(allocate(_view_evidence, n) for _ in range(2)), strict=True)
        self._inputs = np.empty(_view_inputs.size(n, model.m))
        self.reset()
        self._inputs[:] = np.eye(1, self._inputs.size, 1)  # load the compiled functions: no tick waits for them
        _moves(self._moving, np.zeros(n))
        _add_interval(self._constants, self._inputs, np.array([0.0, 1.0]), np.zeros((2, n)), self._memories[0])
        self.reset()

    def acknowledge(self, least: float = 0.0) -> None:
        """Assume that commands act in time again, as the operator confirmed.

        Args:
            least: age that is suspected at least [s]; the old age is suspected in any case.
        """
        suspected = max(self.age, self.suspected, number("least", least, 0.0))
        self.reset()
        self.suspected = suspected

    def reset(self) -> None:
        """Forget all states and commands."""
        self.age = self.suspected = 0.0
        self._moved = 0  # stamp of the last moving state
        self._count, self._origin = 0, 0
        for evidence in self._evidence:
            evidence.usual[:], evidence.weight[:] = 0.0, 0.0
        self._times = np.zeros(KEPT)  # [s] times of the states
        self._impulses = np.zeros((KEPT, self._limit.size))  # time integrals of the commands up to these times
        self._begin()

    def _begin(self) -> None:
        """Begin the evaluation of a new motion; earlier commands are kept."""
        self._forget()
        self.doubted = self._loaded = False
        self._start: ArmState | None = None

    def _forget(self) -> None:
        for evidence in self._evidence:
            evidence.misfit[:], evidence.square[:], evidence.slow[:] = 0.0, 0.0, np.nan
        self._hints = self.seems_late = False

    @property
    def hinted(self) -> bool:
        """Whether the motion is doubted, or fits a delay, or no commands, better than commands in time."""
        return self.doubted or self._hints

    def on_state(self, state: ArmState, command: Array, load: Array | None = None) -> None:
        """Process a believed state.

        Args:
            state: the state.
            command: (n,) effort that was in force until then.
            load: (n, n) joint inertia of a load that the model does not contain; None: unknown.
        """
        dt = self._record(state.stamp, numbers("command", command, self._limit.size))
        if _moves(self._moving, state.velocity):
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
            self._judge(self._start, state, begin, now, load)
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

    def _judge(self, before: ArmState, state: ArmState, begin: float, now: float, load: Array | None) -> None:
        model, dt = self._model, now - begin
        times = self._times[: self._count]
        if load is not None and load.any() and not (self._loaded or model.m):
            self._loaded = True
            self._memories[1][:] = self._memories[0]
        evidence = self._evidence[: 1 + self._loaded]
        idle = self.doubted and all(e.misfit[-1] < e.misfit[:-1].min() for e in evidence)
        blocks = model.blocks(_middle(before, state))
        for memory, added in zip(self._memories[: 1 + self._loaded], (None, load), strict=False):
            H = blocks.H_m if added is None else blocks.H_m + added
            parts = (
                (begin, now), before.velocity, state.velocity, before.deflection_rate, state.deflection_rate,
                blocks.c_m, H.ravel(), blocks.H_bm.ravel(),
            )  # fmt: skip
            _add_interval(
                self._constants, np.concatenate(parts, out=self._inputs), times, self._impulses, memory
            )  # fmt: skip
        misfit, square = np.array([e.misfit for e in evidence]), np.array([e.square for e in evidence])
        short = int(np.searchsorted(DELAYS, max(TOLD * dt, self._bearable)))
        in_time, delayed, none = misfit[:, :short].min(1), misfit[:, short:-1].min(1), misfit[:, -1]
        self._hints = bool((in_time - misfit.min(1) > HINT).all())
        self.seems_late = bool(((in_time - delayed > HINT) & (none - delayed > HINT)).all())
        explained = bool(((in_time - delayed > EVIDENCE) & (delayed < EXPLAINED * in_time)).all())
        late = explained and begin - DELAYS[-1] >= times[0]
        if late and (self.suspected > 0.0 or (none - delayed > EVIDENCE).all()):
            self.age = float(DELAYS[short + misfit[:, short:-1].argmin(1).min()])
        elif (misfit[:, np.searchsorted(DELAYS, self.age)] - in_time > EVIDENCE).any():
            self.age = 0.0
        if (misfit[:, short:].min(1) - in_time > EVIDENCE).any():
            self.suspected, self.doubted = 0.0, False
        if model.m:
            return
        self.doubted = self.doubted or bool((in_time - none > EVIDENCE).all())
        least = np.maximum(STRANGE, ALIKE * square[:, 0])
        rests = idle and (square[:, -1] > np.maximum(STRANGE, square[:, 0])).all()
        if (square.min(1) > least).all() or rests:
            self._forget()
            self.doubted = True


def _middle(one: ArmState, other: ArmState) -> ArmState:
    """Return the midpoint of two states, where the dynamics approximate their mean over the interval."""
    return ArmState(
        one.stamp,
        0.5 * (one.position + other.position),
        0.5 * (one.velocity + other.velocity),
        0.5 * (one.deflection + other.deflection),
        0.5 * (one.deflection_rate + other.deflection_rate),
    )


class _Constants(NamedTuple):
    """Arm and limits."""

    m: int  # number of elastic joints
    measured: bool  # whether the motion of the base is measured
    limit: Annotated[Array, "n"]  # effort limits
    moving: Annotated[Array, "n"]  # velocities below which friction hides the commands


_view_constants = views(_Constants, "n")


class _Inputs(NamedTuple):
    """Times and velocities at both ends of an interval, and dynamics in its middle."""

    begin: float
    now: float
    velocity_before: Annotated[Array, "n"]
    velocity: Annotated[Array, "n"]
    rate_before: Annotated[Array, "m"]
    rate: Annotated[Array, "m"]
    c_m: Annotated[Array, "n"]
    H_m: Annotated[Array, "n", "n"]
    H_bm: Annotated[Array, "m", "n"]


_view_inputs = views(_Inputs, "n", "m")


class _Evidence(NamedTuple):
    """What is known of each delay, and without any commands (last row)."""

    misfit: Annotated[Array, ROWS]
    square: Annotated[Array, ROWS]  # square error of the last interval
    slow: Annotated[Array, ROWS, "n"]  # slow mean of the residual
    usual: Annotated[Array, ROWS, "n"]  # sums of the square errors over USUAL
    weight: Annotated[Array, "n"]  # number of errors in them


_view_evidence = views(_Evidence, "n")


class _Efforts(NamedTuple):
    """Efforts that a motion needed, and how well they are known."""

    moved: Array  # (n,) the efforts
    scale: Array  # (n,) usual errors, as fractions of the limits
    silent: NDArray[np.bool_]  # (n,) joints that are ignored and whose means restart
    unknown: Array  # (n, k) orthonormal directions, of efforts as fractions of the limits, that are ignored


@allocating_kernel
def _add_interval(constants: Array, inputs: Array, times: Array, impulses: Array, memory: Array) -> None:
    """Add the errors of an interval to the evidence.

    Args:
        constants: see :class:`_Constants`.
        inputs: see :class:`_Inputs`.
        times: (k,) times of the states [s].
        impulses: (k, n) time integrals of the commands up to these times.
        memory: see :class:`_Evidence`; changed in place.
    """
    n = impulses.shape[1]
    arm = _view_constants(constants, n)
    m, limit = arm.m, arm.limit
    u, e = _view_inputs(inputs, n, m), _view_evidence(memory, n)
    dt = u.now - u.begin
    moved, scale, silent, left = np.empty(n), np.empty(n), np.zeros(n, dtype=np.bool_), 0
    for i in range(n):
        before, after = u.velocity_before[i], u.velocity[i]
        total, noise = 0.0, 0.0
        for j in range(n):
            total += u.H_m[i, j] * (u.velocity[j] - u.velocity_before[j])
            noise += (u.H_m[i, j] * (NOISE / MOVING / dt * arm.moving[j])) ** 2
        moved[i] = total / dt + u.c_m[i]
        if m and arm.measured:
            total = 0.0
            for j in range(m):
                total += u.H_bm[j, i] * (u.rate[j] - u.rate_before[j])
            moved[i] += total / dt
        silent[i] = min(abs(before), abs(after)) <= arm.moving[i] or before * after < 0.0
        left += 1 if silent[i] else 0
        usual = np.inf
        for row in range(e.usual.shape[0]):
            usual = min(usual, e.usual[row, i])
        scale[i] = np.sqrt(FLOOR**2 + (np.sqrt(noise) / limit[i]) ** 2 + usual / max(e.weight[i], 1.0))
        if not silent[i]:
            e.weight[i] = 1.0 + np.exp(-dt / USUAL) * e.weight[i]
    base = m if m and not arm.measured else 0
    unknown, column = np.zeros((n, left + base)), 0
    for i in range(n):
        if silent[i]:
            unknown[i, column], column = 1.0, column + 1
        for j in range(base):
            unknown[i, left + j] = u.H_bm[j, i] / limit[i]
    if base:
        unknown = np.ascontiguousarray(np.linalg.qr(unknown)[0])
    _add_misfit(times, impulses, arm, u, _Efforts(moved, scale, silent, unknown), e)


@inlined_kernel
def _add_misfit(
    times: Array, impulses: Array, arm: _Constants, u: _Inputs, effort: _Efforts, e: _Evidence
) -> None:  # fmt: skip
    """Add the errors of an interval to the misfits of all delays, and update the slow means."""
    n, dt = impulses.shape[1], u.now - u.begin
    error = np.empty(n)
    forgotten, kept, remembered = np.exp(-dt / SLOW), np.exp(-dt / MEMORY), np.exp(-dt / USUAL)
    for d in range(ROWS):
        sent = d < DELAYS.size
        first, first_share = _between(times, u.begin - DELAYS[d] if sent else u.begin)
        second, second_share = _between(times, u.now - DELAYS[d] if sent else u.begin)
        total, squares = 0.0, 0.0
        for i in range(n):
            until = impulses[second, i] + second_share * (impulses[second + 1, i] - impulses[second, i])
            since = impulses[first, i] + first_share * (impulses[first + 1, i] - impulses[first, i])
            error[i] = (effort.moved[i] - (until - since) / dt) / arm.limit[i]
        for k in range(effort.unknown.shape[1]):
            along = 0.0
            for i in range(n):
                along += effort.unknown[i, k] * error[i]
            for i in range(n):
                error[i] -= along * effort.unknown[i, k]
        for i in range(n):
            if effort.silent[i]:
                e.slow[d, i] = np.nan
                continue
            slow = e.slow[d, i]
            e.slow[d, i] = error[i] if np.isnan(slow) else error[i] + forgotten * (slow - error[i])
            left = (error[i] - e.slow[d, i]) ** 2
            e.usual[d, i] = remembered * e.usual[d, i] + left
            squares += left
            total += np.log(1.0 + left / effort.scale[i] ** 2)
        e.misfit[d] = kept * e.misfit[d] + total
        e.square[d] = dt * squares


@kernel
def _moves(moving: Array, velocity: Array) -> bool:
    """Return whether a joint is faster than its limit ``moving`` (n,)."""
    moves = False
    for i in range(velocity.shape[0]):
        moves = moves or abs(velocity[i]) > moving[i]
    return moves


@kernel
def _between(times: Array, asked: float) -> tuple[int, float]:
    """Return the index of the sample before a time and the fraction to the next one, limited to the range."""
    place = min(max(int(np.searchsorted(times, asked)) - 1, 0), times.size - 2)
    share = float((asked - times[place]) / (times[place + 1] - times[place]))
    return place, min(max(share, 0.0), 1.0)
