r"""ObservedDynamics: predicts the effect of an effort from previous efforts; the model only predicts that of a change.

Notation: ``a`` measured joint accelerations (velocity differences), ``u`` efforts on the links, ``g`` the model's
gravity and velocity terms, ``H`` the model's joint inertia, ``L`` the inertia of a load (:class:`ToolLoad`). With ``z``
and ``w`` the same low pass of ``a`` and ``u - g``, and the inertia ``G = s (H - M) + L``, where ``M`` is the inertia by
which the hand is lighter than described,

    a(u) = z + G^-1 (u - w - g),      u(a) = w + g + G (a - z)

(incremental dynamic inversion; Sieberling, Chu and Mulder 2010, JGCD 33(6)). An undescribed payload, friction, contact
and the push of an elastic base are contained in ``z`` and ``w``, not in the model. An effort that holds an arm at rest
has zero acceleration here, even if the model predicts another one. Used as a servo, ``u(a)`` is an integral of the
error ``a - z`` and a velocity feedback of ``G / filter_time``. Too small a ``G`` makes the servo slow; too large a
``G`` makes it too strong, in the directions in which it is too large. So the load is not estimated joint by joint: two
joints that carry it share directions in which it does not move.

A joint *escapes* if it becomes faster than its acceleration limit allows. Meanwhile ``L`` is the inertia of the
heaviest load that explains the observations, as far as this does not throw the arm if the lightest load is the true
one. Otherwise ``L`` is the inertia of the lightest load. If a joint escapes, only a load or a lighter hand explains the
observations, and no hand shakes, the low pass is fast, too: a falling arm is caught in two periods, not in six. The low
pass is also fast at first, when it is the mean of the model's forecast and of few samples. While a joint escapes, ``z``
and ``w`` are those of the last sample at once, as far as it does not matter whether the last change of efforts has
already acted: a correction acts, its effect is observed, and only then comes the next one.

A load that the hand picks up or loses contradicts the earlier observations. Two cases are detected, and then the
observations of the load are discarded. If the hand seems to become lighter while a joint escapes after a calm time, it
has picked up a load, which looks like the opposite. If no single load explains the observations
(:attr:`ToolLoad.contradiction` above SURE within less than FILTER samples) and a joint escapes, a load was lost, and
the effort that supported it throws the wrist within some periods. Then ``z`` and ``w`` are means since the
contradiction began, and the next effort is right at once. If the contradiction of one load grows by RATE in each
sample, the observations are discarded, too: a load that no longer exists, mixed with newer observations, would throw
the arm later. If no joint has escaped for RESTED then, no load is estimated until the arm moves: if something else
holds the arm, such as a brake, changes of the efforts move nothing, which looks like an extreme inertia.

Contact with a rigid object, and efforts that act late, also look like a load at first, but later observations
contradict any load. So if a load is contradicted slowly, or another one within REFUTED, no load is used until none has
been contradicted for BELIEVED. A load is still estimated meanwhile, but a correction for it may not throw an arm
without a load, and inertia that the hand lacked before, or while a joint escaped, is not assumed to exist. While none
escapes, such a correction may change accelerations by their limits only: a slow servo is good enough then.

Where SEVERAL joints lose speed at once by more than the efforts can cause, the arm hit something, or the velocities
changed their scale. Neither shows the effect of efforts, so this sample is omitted, and for FILTER samples no load is
estimated. While others may hold the arm at rest, efforts that do nothing say nothing: ``z`` is 0, and ``w`` is kept, as
it would grow without a bound.

The one number ``s`` is adapted within bounds, by the response of the whole arm: with the filtered change of efforts
``y`` and the filtered change of accelerations ``x`` that followed it, ``y . x / (y . G^-1 y)`` is 1 for the right
inertia. Above STRONG ``s`` falls fast (the hand is lighter than described; a hand with a load never is), below WEAK it
rises slowly, on elastic bases beyond 1, but only while a joint escapes. While commands are small it returns to 1: the
push of a base that swings looks like a response, and a servo too weak would follow it.

Links that bend respond to an effort at once by much more than with their whole load: the filter is then as slow as the
largest bandwidth of a servo on them demands (see ``softness``), and no load is estimated.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flexarm_core.compiled import allocate, kernel, views
from flexarm_core.entrance import finite, number, numbers
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.hardware_gate.lateness import AT_REST
from flexarm_core.hardware_gate.limits import ACCELERATION, JointLimits
from flexarm_core.hardware_gate.limits import VELOCITY as VELOCITY_LIMIT
from flexarm_core.hardware_gate.load.tool_load import ToolLoad, view_load
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.types import ArmState, Array

FILTER, QUICK = 6.0, 2.0  # periods: time constant of the low passes, and while a joint escapes with another load
PRIOR = 3.0  # number of samples that the model's forecast counts for; until as many were measured, the mean is theirs
SETTLING = 2.0  # multiple of that time constant in which a servo on the accelerations corrects a velocity
STRONG, WEAK = 1.3, 0.7  # response relative to the expected one at which the share of the inertia falls and rises
FALL, RISE = 0.7, 1.15  # factors on the share in a sample
SHAKES = 0.99  # share below which a hand that is lighter than told may shake
FIRST, LEAST, MOST = 1.0, 0.03, 1.5  # share at first, and its bounds; on a rigid base it does not exceed 1
LEAST_HAND = 0.07  # least part of the told hand that counts, by the share and by what the hand lacks together
SMOOTH, MEMORY = 0.5, 0.02  # weight of a new sample in what is compared, and [s] how long it is remembered
COUNTS = 0.25  # fraction of the acceleration limits: smaller expected changes of the acceleration prove nothing
ESCAPES = 0.02  # fraction of the velocity limits: larger speeds beyond what the acceleration limits allow escape
CALM = 0.02  # [s] after so long without an escape a hand that seems lighter may have picked up a load
RESTED = 0.1  # [s] after so long without an escape a load that was seen to be another one is forgotten
STEP = 0.7  # fraction of the velocity limits that a correction for a heavy load may change a velocity by if it is light
UNLOADED = 0.5  # the same, relative to that, while there may be none, and the hand even lighter than told
BELIEVED = 0.2  # [s] a load is believed if nothing has contradicted one for so long
REFUTED = 0.5  # [s] if so soon after a load another one is refuted, there may be none
SEVERAL = 2  # joints that lose speed at once without a cause, for which a sample says nothing
LONGEST = 0.05  # [s] longest time between two states over which a velocity difference is an acceleration
SURE, RATE = 30.0, 5.0  # contradiction that only another load causes, within a few samples, and in each of many
CERTAIN = 0.1  # largest share of a difference that efforts that act late may explain, if a sample counts in full
NOISE = 0.003  # fraction of the velocity limits: smaller differences of velocities may be noise
STEADY = 0.5  # [s] time constant of what lasts, and with which the share returns to its first value


class ObservedDynamics:
    """Follows efforts and the motion that they cause.

    Attributes:
        settling: time in which a servo on the accelerations corrects a velocity error [s].
    """

    def __init__(self, dynamics: JointDynamics, limits: JointLimits, period: float, slowest: float = 0.0) -> None:
        """Observe an arm.

        Args:
            dynamics: the model's dynamics of the joints.
            limits: joint limits.
            period: nominal time between two commands [s].
            slowest: least time constant of a servo on the arm, as its links bend; 0: they do not [s].
        """
        self._dynamics, self._table, n = dynamics, limits.table, dynamics.model.n
        self._period, self._slowest = number("period", period, 0.0), number("slowest", slowest, 0.0)
        self._bends = self._slowest > FILTER * period
        self._most = MOST if dynamics.model.m and not self._bends else 1.0
        self._memory, self._seen = allocate(_view_seen, n)
        self._sample = np.ones(_view_sample.size(n))
        self._lost, self._none = np.zeros(n), np.zeros((n, n))
        self._stamp: int | None = None
        self._load = ToolLoad(dynamics, limits)
        self.reset()
        _loses(self._memory, limits.table, np.zeros(n), period, self._lost)  # compiles or loads
        _observe(self._memory, limits.table, self._sample, np.eye(n))
        _accelerate(self._memory, self._load.memory, True, np.eye(n), np.zeros(n), np.zeros((1, n)))
        self.reset()

    def reset(self, lasting: ArrayLike = 0.0) -> None:
        """Forget all states and efforts, but for ``lasting`` (n,), the effort beyond the model's that bears the arm."""
        lasting = np.array(lasting)  # it may be a part of the memory
        self._memory[:], self._seen.share[:] = 0.0, FIRST
        self._seen.lasting[:] = lasting
        self._stamp = None
        self._count = PRIOR  # number of samples that the low passes are the mean of
        self._filled = 0.0  # weight of measurements and forecasts in z; the rest was not known
        self._load.reset()
        self._rested = 0.0  # time since a joint escaped [s]
        self._held = False  # whether no load explains how the arm rests: others hold it, until it moves
        self._calm = 0.0  # time without an escape since a load was last forgotten [s]
        self._escapes, self._loaded, self._late = False, False, 0.0
        self._agreed = BELIEVED  # time for which nothing has contradicted a load [s]
        self._refuted = REFUTED  # time since a load was refuted [s]
        self._lacked = 0.0  # share of the told hand that was missing lately, while loads were believed
        self._apart = FILTER  # number of samples since joints lost speed without a cause
        self.settling = SETTLING * max(FILTER * self._period, self._slowest)

    def _bias(self, state: ArmState) -> Array:
        """Return the model's gravity and velocity terms (n,), without damping: what is told may not exist."""
        return self._dynamics.blocks(state).c_m

    @property
    def share(self) -> float:
        """Share of the model's inertia that a change of efforts counts for, ``s``."""
        return float(self._seen.share[0])

    @property
    def excess(self) -> Array:
        """(n,) speeds beyond what the acceleration limits allow since the joints were slower [rad/s | m/s]."""
        excess: Array = self._seen.velocity - self._seen.profile
        return excess

    @property
    def mean(self) -> Array:
        """(n,) mean of the measured accelerations over the low pass, ``z`` [rad/s^2 | m/s^2]."""
        mean: Array = self._seen.z
        return mean

    @property
    def lasting(self) -> Array:
        """(n,) mean of ``w - s H z``, the effort beyond the model's: weight of a load, friction [N*m | N]."""
        lasting: Array = self._seen.lasting
        return lasting

    def balance(self, state: ArmState) -> Array:
        """Return the effort (n,) that goes with the mean acceleration ``z``: ``w + g``, at first the model's."""
        if self._stamp is None:
            self.observe(state, None)
        effort: Array = self._seen.w + self._bias(state) + self._load.turned
        return effort

    def acceleration(self, state: ArmState, efforts: Array) -> Array:
        """Return the accelerations (k, n) that efforts (k, n) on the links cause."""
        found = finite("efforts", efforts, len(efforts), self._lost.size).copy()
        if self._stamp is None:
            self.observe(state, None)
        inertia = self._dynamics.terms(state)[0]
        _accelerate(self._memory, self._load.memory, self._believed, inertia, self._bias(state), found)
        return found

    @property
    def _believed(self) -> bool:
        """Whether nothing has contradicted a load for long."""
        return self._agreed >= BELIEVED

    @property
    def load(self) -> Array:
        """(n, n) inertia that a load adds, ``L``; zero unless the load is used."""
        return self._load.inertia if self._believed else self._none

    def inertia(self, state: ArmState) -> Array:
        """Return the inertia (n, n) that a change of efforts moves, ``G``."""
        inertia: Array = self._told(state) + self.load
        return inertia

    def _told(self, state: ArmState) -> Array:
        """Return what there is of the model's inertia (n, n)."""
        inertia: Array = self._seen.share * (self._dynamics.terms(state)[0] - self._load.missing)
        return inertia

    def effort(self, state: ArmState, acceleration: Array) -> Array:
        """Return the effort (n,) on the links that causes accelerations (n,), ``u(a)``."""
        effort = self.balance(state)
        change = acceleration - self._seen.z
        effort += (self._told(state) + self._load.inertia) @ change
        return effort - self._daring(state, change) if self._escapes or not self._believed else effort

    def _daring(self, state: ArmState, change: Array) -> Array:
        """Return the part of an effort (n,) that would throw the arm if the load that adds least is the truth."""
        least = self._load.least if self._believed else self._none
        extra = (self._load.inertia - least) @ change
        light = self._told(state) + least
        step = np.linalg.solve(light, extra) * self._late
        slower = np.maximum(-np.sign(step) * state.velocity, 0.0)
        share = STEP if self._load.loaded and self._believed else UNLOADED * STEP
        most = share * self._table[VELOCITY_LIMIT]
        if not self._believed and self._rested > 0.0:
            most = np.minimum(most, self._table[ACCELERATION] * self._late)
        part: Array = extra * max(1.0 - float(np.min((most + slower) / np.maximum(np.abs(step), 1e-300))), 0.0)
        return part

    def expect(self, acceleration: Array | None) -> None:
        """Store the accelerations (n,) that the next effort in force should cause; None: they are not known."""
        known = acceleration is not None
        change = numbers("acceleration", acceleration, self._lost.size) - self._seen.z if known else 0.0
        self._seen.expected[:] = self._seen.share * change

    def observe(
        self, state: ArmState, effort: Array | None, age: float = 0.0, *, doubted: bool = False, given_up: bool = False
    ) -> None:  # fmt: skip
        """Process a believed state.

        Args:
            state: the state.
            effort: (n,) effort on the links that was in force until then; None: none was.
            age: age of the state when the command that answers it acts, beyond one period [s].
            doubted: whether efforts may act late, or readings be wrong: both look like a load, so none is estimated.
            given_up: whether others may have the drives: then nothing lasts, and at rest, efforts say nothing.
        """
        periods = QUICK if self._loaded and self.share > SHAKES else FILTER
        filtered = max(periods, self._slowest / self._period) * (self._period + number("age", age, 0.0))
        self.settling = SETTLING * filtered
        seen, gravity = self._seen, self._bias(state)
        effort = None if effort is None else finite("effort", effort, gravity.size)
        before, self._stamp = self._stamp, state.stamp
        dt = 0.0 if before is None else (state.stamp - before) * 1e-9
        if effort is None or not 0.0 < dt <= LONGEST:
            seen.z[:], seen.expected[:] = 0.0, 0.0
            self._stand_at(state, gravity)
            if effort is None:
                damped = gravity + self._dynamics.model.D_m * state.velocity
                seen.w[:], seen.z[:] = seen.lasting, self._dynamics.model.forward_dynamics(state, damped)
            else:
                seen.w[:] = effort - gravity
            self._filled, self._escapes, self._loaded = float(effort is None), False, False
            self._count, seen.exerted[:] = PRIOR, seen.w
            self._load.pause()
            return
        if given_up and (np.abs(state.velocity) <= AT_REST * self._table[VELOCITY_LIMIT]).all():
            seen.z[:], seen.expected[:] = 0.0, 0.0
            self._stand_at(state, gravity)
            return
        if self._stopped_short(state, effort - gravity - seen.w, dt):
            seen.exerted[:] = effort - gravity
            self._stand_at(state, gravity)
            return
        self._count += 1
        if not self._bends:
            filtered = min(filtered, -dt / math.log(1.0 - 1.0 / self._count))
        self._filled = 1.0 - (1.0 - self._filled) * math.exp(-dt / filtered)
        least = FIRST if self._load.loaded else LEAST
        if self._load.lacks:
            least = max(LEAST_HAND / (1.0 - self._load.lacks), least)
            seen.share[0] = max(self.share, least)
        parts = ((dt, filtered, self._filled, least, self._most), state.velocity, gravity, effort)
        sample = np.concatenate(parts, out=self._sample)
        lasting = seen.lasting.copy()
        escapes = _observe(self._memory, self._table, sample, self._dynamics.terms(state)[0])
        if self._held and (np.abs(state.velocity) > ESCAPES * self._table[VELOCITY_LIMIT]).any():
            self._held = False
        if given_up:
            seen.lasting[:] = lasting
        if doubted or self._held:
            self._load.reset()
            self._escapes = self._loaded = False
        elif self._apart <= FILTER:
            self._escapes = self._loaded = False
        elif not self._bends:
            self._seek(state, dt, 1.0 - math.exp(-dt / filtered), escapes)
            if self._escapes and self.share > SHAKES:
                self._catch_up(state, dt)

    def _seek(self, state: ArmState, dt: float, new: float, escapes: bool) -> None:
        """Seek the load with a sample, whose weight in the low passes is ``new``; forget one that is refuted."""
        seen = self._seen
        self._late, sought = 2.0 * dt, escapes and not self._dynamics.model.m
        if self._believed or self._rested == 0.0:
            self._lacked = max(self._load.lacks, self._lacked - (dt / BELIEVED if self._believed else 0.0))
        self._load.observe(
            state, seen.exerted, seen.change, seen.accelerated, dt, self.share, new=new, late=self._late,
            escapes=sought, lacked=0.0 if self._believed else self._lacked,
        )  # fmt: skip
        self._calm += 0.0 if escapes else dt
        self._rested = 0.0 if escapes else self._rested + dt
        since, contradiction = self._load.since, self._load.contradiction
        self._agreed += dt
        self._refuted += dt
        if contradiction > SURE and (since >= FILTER or self._refuted < REFUTED or not escapes):
            self._agreed = 0.0
        if contradiction > max(SURE, RATE * since):
            if escapes and since < FILTER:
                seen.z[:], seen.w[:] = seen.since_z / since, seen.since_w / since
                self._count, self._filled = since, 1.0
            self._load.forget()
            self._refuted = 0.0
            self._held = self._rested > RESTED
        elif self._load.lacks and escapes and self._calm > CALM:
            self._calm = 0.0
            self._load.reset()
        if not self._load.since:
            seen.since_z[:], seen.since_w[:] = 0.0, 0.0
        self._escapes = sought and self._believed
        self._loaded = self._escapes and (self._load.loaded or self._load.lacks > 0.0)

    def _stand_at(self, state: ArmState, gravity: Array) -> None:
        """Begin the next sample at a state."""
        self._seen.gravity[:], self._seen.velocity[:] = gravity, state.velocity
        self._seen.profile[:] = np.clip(state.velocity, -self._table[VELOCITY_LIMIT], self._table[VELOCITY_LIMIT])

    def _stopped_short(self, state: ArmState, cause: Array, dt: float) -> bool:
        """Return whether joints lost speed at once without a cause (n,): a blow, or readings of another scale."""
        self._apart += 1
        if self._apart <= FILTER or not _loses(self._memory, self._table, state.velocity, dt, self._lost):
            return False
        caused = np.abs(np.linalg.solve(self._told(state), cause)) * dt / LEAST_HAND
        if (self._lost > caused).sum() < min(SEVERAL, caused.size):
            return False
        self._apart = 0
        return True

    def _catch_up(self, state: ArmState, dt: float) -> None:
        """Let ``z`` and ``w`` be those of the last sample, as far as it does not matter when efforts changed."""
        seen, limit = self._seen, self._table[VELOCITY_LIMIT]
        behind = (seen.accelerated - seen.z) / limit
        unsure = np.linalg.solve(self.inertia(state), seen.change) / (CERTAIN * limit)
        part = behind @ behind
        part /= part + unsure @ unsure + (NOISE / dt) ** 2
        seen.z[:] += part * (seen.accelerated - seen.z)
        seen.w[:] += part * (seen.exerted - seen.w)


class _Seen(NamedTuple):
    """What was observed; means are low passes."""

    share: Annotated[Array, 1]  # of the model's inertia that changes of efforts count for, s
    response: Annotated[Array, 1]  # fading sum of y . x, see the module
    later: Annotated[Array, 1]  # the same of their means
    forecast: Annotated[Array, 1]  # y . G^-1 y
    z: Annotated[Array, "n"]  # mean acceleration
    w: Annotated[Array, "n"]  # mean of u - g
    gravity: Annotated[Array, "n"]  # g of the last state
    velocity: Annotated[Array, "n"]  # its velocity
    profile: Annotated[Array, "n"]  # the same as far as the acceleration limits allow
    cause: Annotated[Array, "n"]  # mean change of u - g
    effect: Annotated[Array, "n"]  # mean change of the acceleration
    expected: Annotated[Array, "n"]  # change of the acceleration that the effort should cause, with the whole inertia
    lasting: Annotated[Array, "n"]  # mean of w - s H z
    accelerated: Annotated[Array, "n"]  # a of the last sample
    exerted: Annotated[Array, "n"]  # u - g of the last sample
    change: Annotated[Array, "n"]  # change of that since the sample before
    since_z: Annotated[Array, "n"]  # sum of accelerated since what was seen contradicts itself
    since_w: Annotated[Array, "n"]  # sum of u - g since then
    factor: Annotated[Array, "n", "n"]  # work array


class _Sample(NamedTuple):
    """A state and the effort in force until then."""

    dt: float  # time since the last state [s]
    filtered: float  # time constant of the low passes [s]
    filled: float  # weight of what is known in z
    least: float  # bounds of the share of the inertia
    most: float
    velocity: Annotated[Array, "n"]
    gravity: Annotated[Array, "n"]  # g
    effort: Annotated[Array, "n"]  # u


_view_seen = views(_Seen, "n")
_view_sample = views(_Sample, "n")


@kernel
def _loses(memory: Array, table: Array, velocity: Array, dt: float, lost: Array) -> bool:
    """Write the speeds (n,) that joints lost beyond ``z``, 0 where it is next to nothing; return whether one did."""
    found, o = False, _view_seen(memory, velocity.shape[0])
    for i in range(velocity.shape[0]):
        before = o.velocity[i]
        lost[i] = abs(velocity[i] - before - o.z[i] * dt)
        if abs(velocity[i]) > abs(before) or lost[i] <= ESCAPES * table[VELOCITY_LIMIT, i]:
            lost[i] = 0.0
        found = found or lost[i] > 0.0
    return found


@kernel
def _observe(memory: Array, table: Array, sample: Array, inertia: Array) -> bool:
    """Add a sample to the memory, with the inertia ``H`` (n, n); see the module. Returns whether a joint escapes."""
    n = inertia.shape[0]
    o, s = _view_seen(memory, n), _view_sample(sample, n)
    dt = s.dt
    new, kept, slowly = 1.0 - np.exp(-dt / s.filtered), np.exp(-dt / MEMORY), 1.0 - np.exp(-dt / STEADY)
    response, later, forecast, counts, escapes = 0.0, 0.0, 0.0, False, False
    for i in range(n):
        cause = s.effort[i] - o.gravity[i] - o.w[i]
        effect = (s.velocity[i] - o.velocity[i]) / dt - o.z[i]
        exerted = s.effort[i] - 0.5 * (o.gravity[i] + s.gravity[i])
        o.change[i], o.exerted[i] = exerted - o.exerted[i], exerted
        o.accelerated[i] = o.z[i] + effect
        o.since_z[i] += o.accelerated[i]
        o.since_w[i] += o.w[i] + cause
        o.w[i] += new * cause
        o.z[i] += new * effect
        o.cause[i] += SMOOTH * (cause - o.cause[i])
        o.effect[i] += SMOOTH * (effect - o.effect[i])
        response += cause * effect
        later += o.cause[i] * o.effect[i]
        forecast += cause * o.expected[i] / o.share[0]
        counts = counts or abs(o.expected[i]) > COUNTS * o.share[0] * table[ACCELERATION, i]
        o.gravity[i], o.velocity[i] = s.gravity[i], s.velocity[i]
        before, change = o.profile[i], table[ACCELERATION, i] * dt
        if s.velocity[i] * before < 0.0:
            o.profile[i] = 0.0
        elif abs(s.velocity[i]) < abs(before):
            o.profile[i] = s.velocity[i]
        else:
            o.profile[i] = before + min(max(s.velocity[i] - before, -change), change)
        escapes = escapes or abs(s.velocity[i] - o.profile[i]) > ESCAPES * table[VELOCITY_LIMIT, i]
    for i in range(n):
        lacking = o.w[i]
        for j in range(n):
            lacking -= o.share[0] / s.filled * inertia[i, j] * o.z[j]
        o.lasting[i] += slowly * (lacking - o.lasting[i])
    if not counts:
        o.response[0] *= kept
        o.later[0] *= kept
        o.forecast[0] *= kept
        o.share[0] += max(FIRST - o.share[0], 0.0) * slowly
        return escapes
    o.response[0] = kept * o.response[0] + response
    o.later[0] = kept * o.later[0] + later
    o.forecast[0] = kept * o.forecast[0] + forecast
    seen, factor = max(o.response[0], o.later[0]), 1.0
    if seen > STRONG * o.forecast[0]:
        factor = min(max(FALL, s.least / o.share[0]), 1.0)
    elif escapes and seen < WEAK * o.forecast[0]:
        factor = min(RISE, s.most / o.share[0])
    o.share[0] *= factor
    o.forecast[0] /= factor
    return escapes


@kernel
def _accelerate(memory: Array, load: Array, believed: bool, inertia: Array, bias: Array, rows: Array) -> None:
    """Replace efforts, rows of (k, n), by the accelerations that they cause; see :class:`ObservedDynamics`.

    Args:
        memory: see :class:`_Seen`.
        load: memory of the load.
        believed: whether the inertia of the load counts.
        inertia: (n, n) the model's.
        bias: (n,) the model's gravity and velocity terms.
        rows: efforts on entry, accelerations afterwards.
    """
    n = rows.shape[1]
    o, tool = _view_seen(memory, n), view_load(load, n)
    for i in range(n):
        for j in range(n):
            added = tool.inertia[i, j] if believed else 0.0
            o.factor[i, j] = o.share[0] * (inertia[i, j] - tool.missing[i, j]) + added
    cholesky(o.factor, n)
    for k in range(rows.shape[0]):
        for i in range(n):
            rows[k, i] -= o.w[i] + bias[i] + tool.turned[i]
        cholesky_solve(o.factor, rows[k], n)
        for i in range(n):
            rows[k, i] += o.z[i]
