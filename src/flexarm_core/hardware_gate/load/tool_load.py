r"""ToolLoad: estimates the undescribed load at the tool, and the inertia that it adds to the joints.

A rigid body at the tool exerts the wrench ``f = Y theta`` on it, linear in its ten parameters ``theta = [m, m c, I]``
(mass, first moment, and inertia about the origin of the tool frame; Atkeson, An and Hollerbach 1986, IJRR 5(3)):

    force  = m b + (skew(alpha) + skew(omega)^2) m c,    moment = m c x b + I alpha + omega x I omega

with the acceleration ``b`` of the tool against gravity, its angular velocity ``omega`` and acceleration ``alpha``, all
in tool axes. The difference between the real joint torques and the model's is ``J^T f``, plus three errors. FRACTION of
the described gravity of each joint may be wrong, but constantly: a separate unknown. Commands may act late, all by the
same time, so a part LATE of their change within a sample may be missing: one more unknown. The unknowns are eliminated,
so changes of the motion count in full. The rest is noise: the described friction, WRONG of the described inertia, and
the effect of errors of the measured accelerations with the heaviest possible load. Old observations are forgotten.

Accelerations and efforts are noisy, so both sides go through the same low pass. What holds at each instant holds for
such means, too, if the mean is that of ``J^T Y`` as well: of the motion at each instant, not the motion at its end. A
wrist turns and becomes faster while a mean is taken, and the difference would look like another load.

Often several loads explain the observations: a wrist in free fall gives no information about a mass. A linear estimate
of ``theta`` is then near their mean, which is none of them. So candidates are kept (:mod:`candidates`), and one whose
cost is within PLAUSIBLE of the least is plausible. Used is the plausible one that adds least: an inertia that is too
large makes corrections too strong, one that is too small makes them slow. Slow is too slow once a joint escapes, that
is, becomes faster than its acceleration limit allows. Then it is the one that adds most, and :attr:`ToolLoad.least`
says how far a correction may go. The noise for the heaviest load is far too large for a light one, so a light one would
be refuted late; for ``least`` the low pass must be explained with the noise that goes with the inertia of the load
itself.

A hand that is lighter than described is a load of ``-x`` times the described hand, so its cost is quadratic in ``x``.
It is used on a rigid base only, and only if neither a load nor the described hand is plausible: with the largest
plausible ``x`` (a servo that is too strong shakes a hand, one that is too weak is only slow), but while a joint escapes
with the likeliest ``x``. Noise of the accelerations alone looks like a lighter hand, because no torque belongs to it;
the part that it explains is subtracted. The described weight of the hand changes as the arm turns; the part of this
change that does not exist is subtracted.

When a load is picked up or put down, the load changes, and no single load explains the observations before and after.
So the cost of the likeliest explanation is watched. For one load it rises in each sample by half the number of
independent torques, on average. Its rise beyond that is summed, never below zero (CUSUM; Page 1954, Biometrika
41(1/2)). The sum says how much contradicts one load, and the time since it was zero says how abruptly.

The effect of an error of the accelerations depends on the load itself: it moves the load at its lever, so that an error
of the first joints becomes a torque of the last one. If only the described arm, or a load without a lever, were assumed
before the first observation, the first observations would seem so exact that no heavy load could explain them, then or
later. So each element of the inertia counts as large as in any load within POSSIBLE of the least cost.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocate, allocating_kernel, inlined_kernel, kernel, views
from flexarm_core.entrance import finite, number
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.hardware_gate.limits import ACCELERATION, FRICTION, VELOCITY, JointLimits
from flexarm_core.hardware_gate.load.candidates import (
    BALLS,
    MASSES,
    NEVER,
    Candidates,
    begin,
    fit,
    hand_inertia,
    joint_inertia,
    less_of_hand,
    parameters,
    view_candidates,
)
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.robot.kinematic_chain import LinkMotion, link_motion
from flexarm_core.types import ArmState, Array

FORGOTTEN = 0.2  # [s] time constant with which observations are forgotten
FRACTION, NOTHING = 0.4, 0.03  # errors of torques: fraction of gravity, and of the torque of the largest acceleration
LATE, JITTER = 1.0, 0.1  # samples by which commands may act late: all of them, and each on its own
WRONG = 0.1  # fraction of the torque of the told inertia that may be wrong
REPEATED = 2.5  # number of successive observations that repeat each other, as both sides are filtered
SPAN = 6.0  # samples that an acceleration is a mean of, after as many observations
SWAY = 0.3  # fraction by which the push of an elastic base may be wrong
QUIET, NOISY = 3e-4, 10.0  # least noise of a velocity as a fraction of its limit, and the largest, as its multiple
CALMS = 0.05  # weight of a new sample in the noise
UNSURE = 0.003  # fraction of an acceleration that may be wrong
PLAUSIBLE = 3.0  # largest excess of a cost: a log-likelihood ratio
POSSIBLE = 4.0  # the same for a load by which errors of accelerations are weighed
LIKELY = 1.5  # least lead of the cost of a lighter hand over all other costs, to be used while a joint escapes
MISSING = 0.9  # largest share of the told hand that may not be there
DARED = 2.0 / 3.0  # largest share of the told hand that is missing for all that a correction cares
EXPECTED, AROUND = 5, 0.05  # mass on the grid, and lever [m], of a load before anything was seen
SIGMAS = 4.0  # standard deviations of noise that may hide a light load
RATIO = 100.0  # largest inertia relative to that of the load that adds least


class _Inputs(NamedTuple):
    """A measurement; joint axes unless said otherwise."""

    size: int  # number N of coordinates; the first n are joints
    share: float  # of the model's inertia, that changes of efforts count for
    kept: float  # fraction of older observations that is not forgotten
    new: float  # weight of this sample in the low pass
    late: float  # time between an observation and the effect of the command that answers it [s]
    escapes: bool  # whether a joint escapes
    lacked: float  # least share of the told hand that is taken for missing
    q: Annotated[Array, "size"]  # in the middle of the sample, of the base at its end [rad | m]
    v: Annotated[Array, "size"]  # the same [rad/s | m/s]
    motion: Annotated[Array, "size"]  # accelerations in the sample
    gravity: Annotated[Array, 3]  # [m/s^2] in world axes
    inertia: Annotated[Array, "n", "n"]  # the model's
    weight: Annotated[Array, "n"]  # the model's gravity and velocity terms [N*m | N]
    effort: Annotated[Array, "n"]  # effort beyond those, without the push of the base [N*m | N]
    change: Annotated[Array, "n"]  # its change since the last sample, which may act late [N*m | N]
    variance: Annotated[Array, "n"]  # of it, beyond that of the model and friction


class _State(NamedTuple):
    """What was observed, and what follows."""

    number: Annotated[Array, 1]  # number of observations
    moments: Annotated[Array, 12, 12]  # sum of r^T r / variance over joints and observations, r = [lacking, change, A]
    steady: Annotated[Array, "n", 13]  # for each joint the sums of r / variance and 1 / variance
    shaken: Annotated[Array, 2]  # slope and curvature of the cost of a lighter hand that noise explains
    information: Annotated[Array, 10, 10]  # what they say of A theta = lacking: A^T A / variance
    seen: Annotated[Array, 10]  # A^T lacking / variance
    rows: Annotated[Array, "n", 12]  # low pass of r, each sample with its own motion
    mean: Annotated[Array, "n"]  # low pass of the accelerations
    noise: Annotated[Array, "n"]  # mean change of that within a sample
    heaviest: Annotated[Array, "n", "n"]  # largest magnitude of each element of the inertia of a possible load
    inertia: Annotated[Array, "n", "n"]  # of the load that is used
    least: Annotated[Array, "n", "n"]  # of the one that adds least; negative: of a lighter hand
    loaded: Annotated[Array, 1]  # whether nothing but a load explains what was seen
    missing: Annotated[Array, "n", "n"]  # inertia that the hand lacks
    parameters: Annotated[Array, 10]  # parameters of the likeliest load
    lacks: Annotated[Array, 1]  # share of the told hand that is not there
    borne: Annotated[Array, "n"]  # low pass of the efforts that would bear the told hand
    cost: Annotated[Array, 1]  # of the likeliest explanation
    misfit: Annotated[Array, 1]  # sum of what it rose beyond expectation
    since: Annotated[Array, 1]  # number of samples since that was zero
    turned: Annotated[Array, "n"]  # effort that the model has too much for the hand, beyond its low pass


_view_inputs = views(_Inputs, "n")
view_load = views(_State, "n")


class ToolLoad:
    """Estimate the load at the tool.

    Attributes:
        inertia: (n, n) inertia that the load adds to that of the joints.
        least: (n, n) the same of what adds least: a plausible load, if a joint escapes one that explains the last
            observations with its own noise; negative if then a hand lighter than described is plausible.
        missing: (n, n) inertia by which the hand is lighter than described.
        turned: (n,) change of the weight that the hand lacks, beyond its low pass, as an effort [N*m | N].
        memory: memory of the estimate, for :data:`view_load`.
        parameters: (10,) of the likeliest load, ``[m, m c, I_xx, I_yy, I_zz, I_xy, I_xz, I_yz]`` [kg, kg*m, kg*m^2].
    """

    def __init__(self, dynamics: JointDynamics, limits: JointLimits) -> None:
        """Estimate the load of an arm with the given dynamics of the joints and limits."""
        self._dynamics, self._table, model = dynamics, limits.table, dynamics.model
        self.memory, self._state = allocate(view_load, model.n)
        self._loads, self._candidates = allocate(view_candidates)
        self._measured = np.zeros(_view_inputs.size(model.n, model.n + model.m))
        self._measured[0] = model.n + model.m  # the views need it
        self._inputs: _Inputs = _view_inputs(self._measured, model.n)
        self._inputs.gravity[:] = model.gravity
        self.inertia, self.least, self.missing = self._state.inertia, self._state.least, self._state.missing
        self.parameters, self.turned = self._state.parameters, self._state.turned
        self.reset()
        none = np.zeros(model.n)
        for base in (np.zeros(model.m), np.ones(model.m)):  # compiles or loads: no tick waits for it
            self.observe(ArmState(0, none, none, base, base), none, none, none, 1.0)
        self.reset()

    def reset(self) -> None:
        """Discard all observations: any load is possible."""
        self.memory[:] = 0.0
        begin(self._candidates, self._dynamics.model.mass, self._dynamics.model.hand)
        self._begun = False

    def forget(self) -> None:
        """Discard all observations, but keep the missing inertia of the hand until the next observation."""
        lacks, missing = self.lacks, self.missing.copy()
        self.reset()
        self._state.lacks[:], self.missing[:] = lacks, missing

    def pause(self) -> None:
        """Use the described hand until the next observation: the missing inertia belongs to another posture."""
        self.missing[:], self.turned[:], self._state.lacks[:], self._begun = 0.0, 0.0, 0.0, False

    @property
    def contradiction(self) -> float:
        """Evidence against any single load for all observations: a log-likelihood ratio."""
        return float(self._state.misfit[0])

    @property
    def since(self) -> int:
        """Number of samples since there has been a contradiction; 0: there is none."""
        return int(self._state.since[0])

    @property
    def loaded(self) -> bool:
        """Whether only a load explains the observations."""
        return bool(self._state.loaded[0])

    @property
    def lacks(self) -> float:
        """Share of the described hand that does not exist."""
        return float(self._state.lacks[0])

    def observe(
        self, state: ArmState, effort: Array, change: Array, z: Array, dt: float, share: float = 1.0, *,
        new: float = 1.0, late: float = 0.002, escapes: bool = False, lacked: float = 0.0,
    ) -> None:  # fmt: skip
        """Process what was measured.

        Args:
            state: state of arm and base at the end of the sample.
            effort: (n,) effort on the links beyond the model's gravity and velocity terms [N*m | N].
            change: (n,) its change since the last sample: commands may act late [N*m | N].
            z: (n,) joint accelerations that go with it.
            dt: time since the last observation [s].
            share: share of the model's inertia that changes of efforts count for.
            new: weight of this sample in the low pass; the first one counts in full.
            late: time between an observation and the effect of the command that answers it [s].
            escapes: whether a joint is faster than its acceleration limit allows.
            lacked: least share of the described hand that is assumed to be missing, independent of the observations.
        """
        model, blocks, n, to = self._dynamics.model, self._dynamics.blocks(state), self._table.shape[1], self._inputs
        to.effort[:], to.change[:], to.variance[:] = finite("effort", effort, n), finite("change", change, n), 0.0
        half = 0.5 * number("dt", dt, 0.0)
        to.motion[:n] = finite("z", z, n)
        to.v[:n] = state.velocity - half * z
        to.q[:n] = state.position - half * to.v[:n]
        to.inertia[:], to.weight[:] = blocks.H_m, blocks.c_m
        if model.m:
            to.q[n:], to.v[n:], to.motion[n:] = state.deflection, state.deflection_rate, 0.0
            if np.count_nonzero(state.deflection) or np.count_nonzero(state.deflection_rate):
                to.motion[n:] = -(model.D_b @ state.deflection_rate + model.K_b @ state.deflection + blocks.c_b)
                _swing(blocks.H_b, blocks.H_bm, z, to.motion[n:], to.effort, to.variance)
            else:  # the base rests, or is unknown
                to.inertia[:] = self._dynamics.terms(state)[0]
        kept = math.exp(-number("dt", dt, 0.0) / FORGOTTEN)
        late, share = number("late", late, 0.0), number("share", share, 0.0)
        new, self._begun = number("new", new, 0.0) if self._begun else 1.0, True
        self._measured[:7] = n + model.m, share, kept, new, late, bool(escapes), number("lacked", lacked, 0.0, 1.0)
        chain = model.world_to_tool
        _observe(chain.links, self._table, self._measured, self.memory, self._loads)


@allocating_kernel
def _swing(H_b: Array, H_bm: Array, z: Array, base: Array, effort: Array, variance: Array) -> None:
    """Replace the force (m,) on the base by its acceleration, and take what it does to the joints off their effort.

    Args:
        H_b: (m, m) inertia of the base.
        H_bm: (m, n) coupling of base and joints.
        z: (n,) joint accelerations.
        base: force on entry, acceleration afterwards.
        effort: (n,) effort of the joints.
        variance: (n,) its variance, which becomes greater.
    """
    m, n = H_bm.shape
    for i in range(m):
        for j in range(n):
            base[i] -= H_bm[i, j] * z[j]
    factor = H_b.copy()
    cholesky(factor, m)
    cholesky_solve(factor, base, m)
    for j in range(n):
        push = 0.0
        for i in range(m):
            push += H_bm[i, j] * base[i]
        effort[j] -= push
        variance[j] += (SWAY * push) ** 2


@allocating_kernel
def _observe(links: Array, table: Array, measured: Array, memory: Array, loads: Array) -> None:
    """Add an observation to what was seen, and choose the load that is used.

    Args:
        links: chain to the tool, see :func:`link_motion`.
        table: (7, n) joint limits.
        measured: the measurement, :class:`_Inputs`.
        memory: :class:`_State`, changed in place.
        loads: :class:`Candidates`, changed in place.
    """
    n = table.shape[1]
    given, state, candidates = _view_inputs(measured, n), view_load(memory, n), view_candidates(loads)
    J, moved, w, Y, now = np.zeros((6, n)), np.zeros(6), np.zeros(3), np.zeros((6, 10)), np.empty(12)
    down = np.zeros(3)
    _tool_motion(links, given, J, moved, w, down)
    _wrench(moved, w, Y)
    for k in range(12):
        for m in range(12):
            state.moments[k, m] *= given.kept
    state.number[0] += 1.0
    span = 0.5 * given.late * min(state.number[0], SPAN)  # time over which an acceleration is a mean
    noise, doubt = np.empty(n), np.empty(n)
    if state.number[0] == 1.0:
        _expected(candidates.mass[EXPECTED], J, state.heaviest)
        state.mean[:] = given.motion[:n]
    for i in range(n):
        quiet, step = QUIET * table[VELOCITY, i] / span, given.new * (given.motion[i] - state.mean[i])
        state.mean[i] += step
        state.noise[i] += max(CALMS, 1.0 / state.number[0]) * (abs(step) - state.noise[i])
        state.noise[i] = min(max(state.noise[i], quiet), NOISY * quiet)
        noise[i] = state.noise[i] + UNSURE * abs(state.mean[i])
    hand_inertia(candidates, 1.0, J, state.missing)
    state.shaken[:] *= given.kept
    for j in range(n):
        row, steady, moves, squares = state.rows[j], state.steady[j], 0.0, given.variance[j]
        now[0], now[1] = given.effort[j], given.change[j]
        for i in range(n):
            now[0] -= given.inertia[j, i] * given.motion[i]
            moves += given.inertia[j, i] * state.mean[i]
            squares += ((given.inertia[j, i] + state.heaviest[j, i]) * noise[i]) ** 2
        for k in range(10):
            now[2 + k] = 0.0
            for i in range(6):
                now[2 + k] += J[i, j] * Y[i, k]
        for k in range(12):
            row[k] += given.new * (now[k] - row[k])
        squares += (JITTER * row[1]) ** 2
        wrong = NOTHING * given.inertia[j, j] * table[ACCELERATION, j] + WRONG * abs(moves) + table[FRICTION, j]
        squares += wrong**2
        doubt[j] = wrong + JITTER * abs(row[1]) + FRACTION * abs(given.weight[j]) + np.sqrt(given.variance[j])
        precision = 1.0 / (REPEATED * squares)
        for i in range(n):
            noisy = state.missing[j, i] * state.noise[i] ** 2 * precision
            state.shaken[0] -= noisy * given.inertia[j, i]
            state.shaken[1] += noisy * state.missing[j, i]
        steady[12] = given.kept * steady[12] + precision
        for k in range(12):
            steady[k] = given.kept * steady[k] + row[k] * precision
            for m in range(12):
                state.moments[k, m] += row[k] * row[m] * precision
    cost = _eliminate(given, state)
    fit(candidates, state.information, state.seen)
    cost += _choose(given, state, candidates, J, noise, doubt)
    if state.number[0] > SPAN:
        rise = cost - given.kept * state.cost[0] - 0.5 * n / REPEATED
        state.misfit[0] = max(state.misfit[0] + rise, 0.0)
        state.since[0] = state.since[0] + 1.0 if state.misfit[0] > 0.0 else 0.0
    state.cost[0] = cost
    _turn(given, state, candidates.hand, J, down)


@inlined_kernel
def _eliminate(given: _Inputs, state: _State) -> float:
    """Write what the observations say of the load, and return what they cost if there is none.

    They are taken as if there were whatever steady torques and whatever one delay.

    ``x^2 / (2 D)`` is the cost of an unknown ``x`` with variance ``D``; the ``x`` that costs least takes
    ``s s^T D / (1 + D S)`` off the moments, ``s`` and ``S`` being its products with all others and with itself.
    """
    left, column = state.moments.copy(), np.empty(12)
    for j in range(state.steady.shape[0]):
        variance, steady = (FRACTION * given.weight[j]) ** 2, state.steady[j]
        part = variance / (1.0 + variance * steady[12])
        for k in range(12):
            for m in range(12):
                left[k, m] -= part * steady[k] * steady[m]
    column[:] = left[1]
    part = LATE**2 / (1.0 + LATE**2 * column[1])
    for k in range(10):
        state.seen[k] = left[2 + k, 0] - part * column[2 + k] * column[0]
        for m in range(10):
            state.information[k, m] = left[2 + k, 2 + m] - part * column[2 + k] * column[2 + m]
    return 0.5 * (left[0, 0] - part * column[0] ** 2)


@inlined_kernel
def _expected(mass: float, J: Array, L: Array) -> None:
    """Write the root mean square (n, n) of the inertia of a load before anything was seen.

    Its lever ``c`` is AROUND in all directions. What joint ``i`` does to joint ``j`` has the mean
    ``m (v_i . v_j + AROUND^2 w_i . w_j)`` and changes with ``m c . (v_j x w_i + v_i x w_j)``.
    """
    n = J.shape[1]
    for i in range(n):
        for j in range(n):
            mean, square = 0.0, 0.0
            for k in range(3):
                a, b = (k + 1) % 3, (k + 2) % 3
                mean += J[k, i] * J[k, j] + AROUND * AROUND * J[3 + k, i] * J[3 + k, j]
                lever = J[a, j] * J[3 + b, i] - J[b, j] * J[3 + a, i] + J[a, i] * J[3 + b, j] - J[b, i] * J[3 + a, j]
                square += (AROUND * lever) ** 2
            L[i, j] = mass * np.sqrt(mean * mean + square)


@inlined_kernel
def _tool_motion(links: Array, given: _Inputs, J: Array, moved: Array, w: Array, down: Array) -> None:
    """Add to zeros the tool's Jacobian (6, n), acceleration against gravity (6,), angular velocity and gravity (3,)."""
    n, size = J.shape[1], given.size
    rotation, twist, bias, jacobian = np.empty((3, 3)), np.empty(6), np.empty(6), np.empty((6, size))
    link_motion(links, given.q, given.v, LinkMotion(np.empty(3), rotation, twist, bias, jacobian))
    for i in range(6):
        for j in range(size):
            bias[i] += jacobian[i, j] * given.motion[j]
        bias[i] -= given.gravity[i] if i < 3 else 0.0
    for i in range(3):  # in tool axes
        for k in range(3):
            w[i] += rotation[k, i] * twist[3 + k]
            down[i] += rotation[k, i] * given.gravity[k]
            for part in range(0, 6, 3):
                moved[part + i] += rotation[k, i] * bias[part + k]
                for j in range(n):
                    J[part + i, j] += rotation[k, i] * jacobian[part + k, j]


@inlined_kernel
def _choose(
    given: _Inputs, state: _State, candidates: Candidates, J: Array, noise: Array, doubt: Array
) -> float:  # fmt: skip
    """Write the inertia that is used, the largest elements of that of possible loads, and the likeliest parameters.

    Returns what the likeliest explanation costs less than no load does, as a number that is not positive.
    """
    n = J.shape[1]
    L, told, inverse = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            told[i, j] = given.share * given.inertia[i, j]
    factor = told.copy()
    _invert(factor, inverse)
    slope, curvature = less_of_hand(candidates, state.information, state.seen)
    slope, curvature = slope - state.shaken[0], max(curvature - state.shaken[1], 1e-300)
    share = min(max(-slope, 0.0) / curvature, MISSING)
    nothing = share * (slope + 0.5 * share * curvature)
    least, likeliest, lightest, loaded, rigid = nothing, NEVER, 0.0, False, given.size == n
    state.parameters[:] = 0.0
    for a in range(MASSES):
        for b in range(BALLS):
            likeliest = min(likeliest, candidates.cost[a, b])
            if candidates.cost[a, b] < least:
                least = candidates.cost[a, b]
                parameters(candidates.mass[a], candidates.ball[a, b], state.parameters)
    state.inertia[:], state.heaviest[:], state.missing[:], state.lacks[:] = 0.0, 0.0, 0.0, 0.0
    if least < nothing - PLAUSIBLE:  # there is a load
        lightest = np.inf
    for a in range(MASSES):
        for b in range(BALLS):
            if candidates.cost[a, b] > least + POSSIBLE:
                continue
            joint_inertia(candidates.mass[a], candidates.ball[a, b], J, L)
            for i in range(n):
                for j in range(n):
                    state.heaviest[i, j] = max(state.heaviest[i, j], abs(L[i, j]))
            if candidates.cost[a, b] > least + PLAUSIBLE:
                continue
            added, loaded = _trace(inverse, L), True
            if added < lightest:
                lightest = added
                state.inertia[:] = L
    proven = nothing < -PLAUSIBLE and not loaded
    likely = given.escapes and nothing < min(likeliest, 0.0) - LIKELY
    if rigid and (proven or likely):
        if not given.escapes:  # the lightest plausible one
            root = np.sqrt(slope * slope + 2.0 * curvature * (least + PLAUSIBLE))
            share = min((root - slope) / curvature, MISSING)
        state.lacks[0] = share
    if given.lacked > state.lacks[0]:
        state.lacks[0] = given.lacked
    if state.lacks[0] > 0.0:
        hand_inertia(candidates, state.lacks[0], J, state.missing)
    state.least[:], state.loaded[0] = state.inertia, 1.0 if lightest > 0.0 else 0.0
    if not given.escapes:
        return least
    lightest, theta = np.inf if state.loaded[0] else 0.0, np.empty(10)
    for a in range(MASSES):
        for b in range(BALLS):
            if candidates.cost[a, b] > least + PLAUSIBLE:
                continue
            joint_inertia(candidates.mass[a], candidates.ball[a, b], J, L)
            added = _trace(inverse, L)
            if added < lightest:
                parameters(candidates.mass[a], candidates.ball[a, b], theta)
                if _explains(told, L, theta, state.rows, noise, doubt):
                    lightest = added
                    state.least[:] = L
    if rigid and not (proven or likely or state.loaded[0]):  # a lighter hand is plausible, and adds least
        root, likeliest_share = np.sqrt(slope * slope + 2.0 * curvature * (least + PLAUSIBLE)), share
        share = min((root - slope) / curvature, DARED)
        if nothing < likeliest:
            share = max(share, likeliest_share)
        hand_inertia(candidates, share, J, factor)
        state.least[:] = -given.share * factor
    factor[:] = told + state.least - given.share * state.missing
    _invert(factor, inverse)
    most = 0.0
    for a in range(MASSES):
        for b in range(BALLS):
            if candidates.cost[a, b] > least + PLAUSIBLE:
                continue
            joint_inertia(candidates.mass[a], candidates.ball[a, b], J, L)
            added = _trace(inverse, L)
            if most < added <= RATIO:
                most = added
                state.inertia[:] = L + given.share * state.missing
    return least


@kernel
def _explains(told: Array, L: Array, theta: Array, rows: Array, noise: Array, doubt: Array) -> bool:
    """Return whether a load explains the low pass, whenever within a sample efforts act.

    Its own inertia (n, n) says what errors of the accelerations mean.
    """
    first, last = 0.0, 1.0
    for j in range(rows.shape[0]):
        most, lacks = doubt[j], rows[j, 0]
        for i in range(rows.shape[0]):
            most += SIGMAS * abs(told[j, i] + L[j, i]) * noise[i]
        for k in range(10):
            lacks -= rows[j, 2 + k] * theta[k]
        change = rows[j, 1]
        if abs(change) * 1e6 > most:
            one, other = (lacks - most) / change, (lacks + most) / change
            first, last = max(first, min(one, other)), min(last, max(one, other))
        elif abs(lacks) > most:
            return False
    return first <= last


@kernel
def _invert(A: Array, inverse: Array) -> None:
    """Write the inverse of a positive definite matrix (n, n), which its Cholesky factor replaces."""
    n = A.shape[0]
    cholesky(A, n)
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
        cholesky_solve(A, inverse[i], n)


@inlined_kernel
def _turn(given: _Inputs, state: _State, hand: Array, J: Array, down: Array) -> None:
    """Write what the model bears too much of the hand in this posture, beyond the low pass of the same."""
    for j in range(J.shape[1]):
        weight = 0.0
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            weight += hand[1 + i] * (J[3 + a, j] * down[b] - J[3 + b, j] * down[a]) - hand[0] * J[i, j] * down[i]
        state.borne[j] += given.new * (weight - state.borne[j])
        state.turned[j] = state.lacks[0] * (state.borne[j] - weight)


@kernel
def _trace(A: Array, B: Array) -> float:
    """Return the trace of the product of two symmetric matrices (n, n)."""
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            total += A[i, j] * B[i, j]
    return total


@inlined_kernel
def _wrench(moved: Array, w: Array, Y: Array) -> None:
    """Write the wrench ``Y`` (6, 10) per parameter of a body that moves with ``[b; alpha]`` (6,) and ``omega`` (3,)."""
    b, a = moved[:3], moved[3:]
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        Y[i, 0] = b[i]
        Y[i, 1 + i] = w[i] * w[i] - square
        Y[i, 1 + j] = w[i] * w[j] - a[k]
        Y[i, 1 + k] = w[i] * w[k] + a[j]
        Y[3 + i, 1 + j] = b[k]
        Y[3 + i, 1 + k] = -b[j]
    for k in range(6):  # I alpha + omega x I omega, for each number of I
        one, other = (k, k) if k < 3 else ((0, 1), (0, 2), (1, 2))[k - 3]
        spin, turned = np.zeros(3), np.zeros(3)
        spin[one], turned[one] = w[other], a[other]
        spin[other], turned[other] = w[one], a[one]
        for i in range(3):
            Y[3 + i, 4 + k] = turned[i] + w[(i + 1) % 3] * spin[(i + 2) % 3] - w[(i + 2) % 3] * spin[(i + 1) % 3]
