"""The two steps of the filter (compiled): preparation after a command was sent, and correction by a sample."""

from __future__ import annotations

import math

from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.flexible_dynamics.coupled_hinges import follow
from flexarm_core.flexible_dynamics.dense import inverse_sweep
from flexarm_core.flexible_dynamics.estimation.covariance import (
    add_product,
    add_pushes,
    add_transposed_product,
    assign,
    assign_rows,
    condense,
    influence_of_noise,
    show_loads,
    spread,
)
from flexarm_core.flexible_dynamics.estimation.memory import (
    FROZEN,
    OUTLIER,
    UNREADABLE,
    USED,
    Ahead,
    Constants,
    Filter,
    Inputs,
    Kept,
    Outputs,
    Plan,
    Settings,
    view_filter,
    view_inputs,
    view_outputs,
)
from flexarm_core.flexible_dynamics.estimation.motion_readings import read_motion, renew
from flexarm_core.flexible_dynamics.kinematics import load_bodies, move_bodies, place_bodies
from flexarm_core.flexible_dynamics.recursion import articulate, forward_sweeps, hinge_forces, respond
from flexarm_core.flexible_dynamics.tree import BodyTree, Index, Workspace
from flexarm_core.types import Array

RENEWAL = 0.016  # [s] in which all derivatives of the readings are renewed
SURPRISE = 3.0  # innovation, in standard deviations, after which all of them are renewed
JUMP = 3.0  # change of a predicted reading since then, in standard deviations of its noise, that does the same
REPEATS = 10  # times that all of them are renewed at once after a start
VARIANCE_CHANGE = 0.1  # share by which the variance of a gauge's noise may differ from the prepared one
PUSH_TIME = 0.1  # [s] in which a push that is not sudden changes by its deviation, and until which it is expected on
SHIFT_TIME = 0.01  # [s] over which innovations are averaged for that
REFUSED, TOUCH_UNREADABLE, LEFT_OUT, DIVERGED = -1, 1, 2, 4


@kernel
def prepare(integers: Index, memory: Array, t: float) -> None:
    """Prepare transition, gain and corrected covariance for a sample ``t`` seconds after the last one; 0: at once.

    The state of the filter does not change: the preparation may be repeated with another ``t``.

    Args:
        integers: this and ``memory``: see ``memory.Filter``.
        memory: afterwards its ``onward`` is articulated at the estimate with the step.
        t: expected length of the sampling period [s].
    """
    s = view_filter(integers, memory)
    plan, tree, c, kept, f, ws, wt = s.plan, s.tree, s.constants, s.kept, s.ahead, s.now, s.onward
    N, size, rows = plan.N, plan.size, plan.rows
    f.step[0] = t
    assign(f.used, kept.used)
    assign(f.R, kept.R)
    load(tree, wt, -1, kept, t)
    move_bodies(tree, wt, kept.x, kept.v)
    load_bodies(tree, wt, kept.x, kept.v)
    articulate(tree, wt)
    unit = f.lines[0]
    for i in range(size):
        unit[i] = 0.0
    for i in range(N):
        unit[plan.free[i]] = 1.0
        respond(tree, wt, unit, False, f.a)  # M is symmetric: this is also the row of the coordinate
        unit[plan.free[i]] = 0.0
        for j in range(size):
            f.columns[j, i] = f.a[j]
        for j in range(N):
            f.L[i, j] = f.a[plan.free[j]]
    move_covariance(plan, c, kept, f)
    if plan.sensors > 0:
        expect(tree, wt, plan, kept, f)
        load(tree, ws, plan.touched, kept, 0.0)
        forward_sweeps(tree, ws, f.x, f.v, kept.hinge, f.a)
        share = 1.0 if t == 0.0 or kept.turn[2] > 0.0 else t / RENEWAL
        renew(s, share)
    else:
        assign_rows(f.shown, kept.shown)
    show_loads(plan, c, f)
    influence_of_noise(plan, c, f)
    if kept.lively[0] > 0.0:
        add_pushes(plan, c, f, t / PUSH_TIME)
    spread(f, rows)
    condense(f, rows)


@inlined_kernel
def load(tree: BodyTree, ws: Workspace, body: int, kept: Kept, step: float) -> None:
    """Set the contact wrench on one body (-1: none), the lasting forces on modes, and the step of a workspace."""
    ws.wrench[:, :] = 0.0
    first = len(tree.stiffness)
    for e in range(len(ws.force)):
        ws.force[e] = kept.lasting[first + e]
    ws.step[0] = step
    if body >= 0:
        for i in range(6):
            ws.wrench[body, i] = kept.touch[i]


@inlined_kernel
def move_covariance(plan: Plan, c: Constants, kept: Kept, f: Ahead) -> None:
    """Compute ``F`` and ``F P F^T``; see ``estimator``."""
    N, M, t = plan.N, kept.P.shape[0], f.step[0]
    for i in range(N):
        for j in range(N):
            by_y, by_yd = 0.0, 0.0
            for m in range(N):
                by_y -= f.L[i, m] * c.K[m, j]
                by_yd -= f.L[i, m] * (0.5 * t * c.K[m, j] + c.C[m, j])
            same = 1.0 if i == j else 0.0
            f.Ft[j, i], f.Ft[N + j, i] = same + 0.5 * t * t * by_y, t * same + 0.5 * t * t * by_yd
            f.Ft[j, N + i], f.Ft[N + j, N + i] = t * by_y, same + t * by_yd
    for j in range(plan.loads):
        for i in range(N):
            s = 0.0
            for m in range(N):
                s += f.L[m, i] * c.onto[m, j]
            f.Ft[2 * N + j, i], f.Ft[2 * N + j, N + i] = 0.5 * t * t * s, t * s
        f.Ft[2 * N + j, 2 * N + j] = max(0.0, 1.0 - c.fading[j] * t)
    f.B[:, :] = 0.0
    f.moved[:, :] = 0.0
    add_transposed_product(f.Ft, kept.P, f.B, M)
    add_product(f.B, f.Ft, f.moved, 1.0)


@inlined_kernel
def step_on(tree: BodyTree, wt: Workspace, plan: Plan, kept: Kept, f: Ahead, t: float) -> None:
    """Predict ``f.state`` by the mean accelerations over ``t`` seconds; requires ``wt`` articulated at the estimate."""
    N = plan.N
    hinge_forces(tree, kept.x, kept.v, kept.hinge, 0.5 * t, wt.total)
    respond(tree, wt, wt.total, True, f.a)
    for i in range(N):
        j = plan.free[i]
        f.state[i] = kept.x[j] + t * kept.v[j] + 0.5 * t * t * f.a[j]
        f.state[N + i] = kept.v[j] + t * f.a[j]
    for j in range(plan.loads):
        f.state[2 * N + j] = f.Ft[2 * N + j, 2 * N + j] * kept.load[j]


@inlined_kernel
def expect(tree: BodyTree, wt: Workspace, plan: Plan, kept: Kept, f: Ahead) -> None:
    """Compute where the arm will be if efforts and contact stay as they are: there the readings are linearized."""
    N, t = plan.N, f.step[0]
    own = f.lines[1]
    if plan.touched >= 0:
        for i in range(6):
            own[i] = wt.p[plan.touched, i]
            wt.p[plan.touched, i] -= kept.touch[i]
    step_on(tree, wt, plan, kept, f, t)
    if plan.touched >= 0:
        for i in range(6):
            wt.p[plan.touched, i] = own[i]
    for i in range(plan.size):
        f.x[i], f.v[i] = kept.x[i] + t * kept.v[i], kept.v[i]
    for i in range(N):
        f.x[plan.free[i]], f.v[plan.free[i]] = f.state[i], f.state[N + i]
    follow(tree, f.x)
    follow(tree, f.v)


@kernel
def correct(integers: Index, memory: Array, inputs: Array, outputs: Array) -> int:
    """Predict to a sample and correct by it; requires :func:`prepare`.

    Arguments as there, ``memory.Inputs`` and ``memory.Outputs``. The prediction of the state uses the time step of the
    sample; gain and covariance are the prepared ones. They are recomputed from the prepared matrices if rows are
    omitted unexpectedly, if the noise of a gauge has changed, and if the base is pushed.

    Returns:
        ``REFUSED`` if joints are not finite, then nothing has changed; else the sum of those that apply of
        ``TOUCH_UNREADABLE``, ``LEFT_OUT`` and ``DIVERGED``.
    """
    s = view_filter(integers, memory)
    plan, tree, c, kept, f, ws, wt = s.plan, s.tree, s.constants, s.kept, s.ahead, s.now, s.onward
    N, n, rows = plan.N, plan.n, plan.rows
    given, out = view_inputs(inputs, n, rows), view_outputs(outputs, N, rows, plan.channels)
    for i in range(n):
        if not (math.isfinite(given.position[i]) and math.isfinite(given.velocity[i])):
            return REFUSED
        if not math.isfinite(given.effort[i]):
            return REFUSED
    status, t = 0, given.step[0]
    for i in range(n):
        kept.hinge[plan.actuated[i]] = given.effort[i]
    if plan.touched >= 0 and not touch(s, given):
        status = TOUCH_UNREADABLE
    if t != f.step[0]:
        load(tree, wt, plan.touched, kept, t)
        move_bodies(tree, wt, kept.x, kept.v)
        load_bodies(tree, wt, kept.x, kept.v)
        articulate(tree, wt)
    elif plan.touched >= 0:
        for i in range(6):
            wt.p[plan.touched, i] -= kept.touch[i]
    step_on(tree, wt, plan, kept, f, t)
    watch_gauges(s, given, out)
    for i in range(n):
        kept.x[plan.actuated[i]], kept.v[plan.actuated[i]] = given.position[i], given.velocity[i]
    put_state(tree, plan, c, kept, f)
    load(tree, ws, plan.touched, kept, 0.0)
    if plan.sensors > 0:
        forward_sweeps(tree, ws, kept.x, kept.v, kept.hinge, kept.a)
        load_bodies(tree, ws, kept.x, kept.v)
        read_motion(s, kept.x, kept.v, kept.a, f.readings[0])
    if rows > 0:
        innovate(plan, c, f, given, out)
        if weigh(s, given, out, t):
            status |= LEFT_OUT
        for r in range(rows):
            out.innovation[r], out.variance[r] = f.innovation[r], f.S[r, r]
            if f.used[r] > 0.0:
                for m in range(len(f.state)):
                    f.state[m] += f.gain[r, m] * f.innovation[r]
        put_state(tree, plan, c, kept, f)
    sound = keep(s, given)
    status |= 0 if sound else DIVERGED
    load(tree, ws, plan.touched if sound else -1, kept, 0.0)
    forward_sweeps(tree, ws, kept.x, kept.v, kept.hinge, kept.a)
    for i in range(plan.size):
        if not math.isfinite(kept.a[i]):  # finite rates may be too large for their squares
            kept.a[:] = 0.0
            status |= DIVERGED
            break
    for i in range(N):
        j = plan.free[i]
        out.y[i], out.yd[i], out.ydd[i] = kept.x[j], kept.v[j], kept.a[j]
        out.variances[i], out.variances[N + i] = kept.P[i, i], kept.P[N + i, N + i]
    return status


@inlined_kernel
def touch(s: Filter, given: Inputs) -> bool:
    """Compute the contact wrench; return whether the sensor has a reading. See ``measurements.contact_body``."""
    plan, tree, kept, f, ws = s.plan, s.tree, s.kept, s.ahead, s.now
    readable = True
    for i in range(6):
        kept.touch[i] = 0.0
        readable = readable and math.isfinite(given.touch[i])
    if readable:
        for i in range(plan.size):
            f.x[i], f.v[i] = kept.x[i], kept.v[i]
        for i in range(plan.n):
            f.x[plan.actuated[i]], f.v[plan.actuated[i]] = given.position[i], given.velocity[i]
        follow(tree, f.x)
        follow(tree, f.v)
        load(tree, ws, -1, kept, 0.0)
        place_bodies(tree, ws, f.x, f.v)
        inverse_sweep(tree, ws, kept.a)
        for i in range(6):
            kept.touch[i] = given.touch[i] + ws.through[plan.touched, i]
            readable = readable and math.isfinite(kept.touch[i])
        if not readable:
            kept.touch[:] = 0.0
    return readable


@inlined_kernel
def put_state(tree: BodyTree, plan: Plan, c: Constants, kept: Kept, f: Ahead) -> None:
    """Write ``f.state`` to the coordinates, rates and loads."""
    N = plan.N
    for i in range(N):
        kept.x[plan.free[i]], kept.v[plan.free[i]] = f.state[i], f.state[N + i]
    follow(tree, kept.x)
    follow(tree, kept.v)
    for j in range(plan.loads):
        kept.load[j] = f.state[2 * N + j]
    for i in range(N):
        s = 0.0
        for j in range(plan.loads):
            s += c.onto[i, j] * kept.load[j]
        kept.lasting[plan.free[i]] = s
        if plan.free[i] < len(tree.stiffness):
            kept.hinge[plan.free[i]] = s


@inlined_kernel
def watch_gauges(s: Filter, given: Inputs, out: Outputs) -> None:
    """Find gauges that repeat one value exactly while the model predicts a change of strain; sets all reasons.

    The expected change is the sum of the predicted steps, not the difference of estimates: a frozen gauge holds the
    estimate at its value by correction, but it does not affect the steps predicted by the dynamics.
    """
    plan, c, settings, kept, f = s.plan, s.constants, s.settings, s.kept, s.ahead
    value, repeats, travel, peak = kept.watch[0], kept.watch[1], kept.watch[2], kept.watch[3]
    for q in range(plan.channels):
        readable = True
        for r in range(plan.first[q], plan.first[q + 1]):
            readable = readable and math.isfinite(given.readings[r])
        if q < plan.gauges:  # an absurd strain has no finite variance
            readable = readable and math.isfinite(gauge_variance(c, settings, q, given.readings[q]))
        out.reasons[q] = USED if readable else UNREADABLE
    for g in range(plan.gauges):
        strain = given.readings[g]
        if math.isnan(strain):
            continue
        if strain == value[g]:
            step = 0.0
            for i in range(plan.N):
                step += f.shown[i, g] * (f.state[i] - kept.x[plan.free[i]])
            repeats[g] += 1.0
            travel[g] += step
            peak[g] = max(peak[g], abs(travel[g]))
        else:
            value[g], repeats[g], travel[g], peak[g] = strain, 0.0, 0.0, 0.0
        if out.reasons[g] == USED and repeats[g] >= settings.frozen_samples and peak[g] > settings.frozen_travel:
            out.reasons[g] = FROZEN


@inlined_kernel
def innovate(plan: Plan, c: Constants, f: Ahead, given: Inputs, out: Outputs) -> None:
    """Compute the innovation: readings minus predictions, 0 where there is no reading."""
    for q in range(plan.channels):
        usable = out.reasons[q] == USED
        for r in range(plan.first[q], plan.first[q + 1]):
            f.innovation[r] = given.readings[r] if usable else 0.0
            if usable and r >= plan.linear:
                f.innovation[r] -= f.readings[0, (r - plan.linear) // 6, (r - plan.linear) % 6]
    for m in range(2 * plan.N):
        for r in range(plan.linear):
            f.innovation[r] -= f.shown[m, r] * f.state[m]
    for j in range(plan.loads):
        for r in range(plan.linear, plan.rows):
            f.innovation[r] -= c.through[j, r] * f.state[2 * plan.N + j]


@inlined_kernel
def gauge_variance(c: Constants, settings: Settings, g: int, strain: float) -> float:
    """Variance of the noise of a gauge, of which a part is relative to the reading."""
    return c.noise[g] + (settings.strain_error * strain) ** 2


@inlined_kernel
def deviation(plan: Plan, f: Ahead, q: int) -> float:
    """Largest innovation of a channel, in standard deviations."""
    largest = 0.0
    for r in range(plan.first[q], plan.first[q + 1]):
        largest = max(largest, abs(f.innovation[r]) / math.sqrt(f.S[r, r]))
    return largest


@inlined_kernel
def pushed(plan: Plan, settings: Settings, kept: Kept, f: Ahead, out: Outputs, t: float) -> float:
    """Return the share of a push for which nothing was prepared (sudden, or from lasting innovations); 0: no push.

    Lasting innovations are judged by ``L^-1 innovation``, ``S = L L^T``: an unknown effort changes all readings, while
    a push on the base changes their combination.
    """
    sudden, lasts, new, old = False, False, t / (SHIFT_TIME + t), kept.lively[0] > 0.0
    white = f.WE[0]
    for r in range(plan.rows):
        s = f.innovation[r]
        for m in range(r):
            s -= f.factor[r, m] * white[m]
        white[r] = s * f.factor[r, r]
    for q in range(plan.channels):
        if plan.of_base[q] > 0 and out.reasons[q] == USED:
            sudden = sudden or deviation(plan, f, q) > settings.push_gate
            for r in range(plan.first[q], plan.first[q + 1]):
                kept.shift[r] += new * (white[r] - kept.shift[r])
                lasts = lasts or abs(kept.shift[r]) > settings.push_gate * math.sqrt(new / (2.0 - new))
    kept.lively[0] = PUSH_TIME if sudden or lasts else max(kept.lively[0] - t, 0.0)
    if sudden:
        return 1.0
    return t / PUSH_TIME if lasts and not old else 0.0


@inlined_kernel
def weigh(s: Filter, given: Inputs, out: Outputs, t: float) -> bool:
    """Decide which channels correct the estimate, and update gain and covariance; return whether any was rejected."""
    plan, c, settings, kept, f = s.plan, s.constants, s.settings, s.kept, s.ahead
    anew, left_out, surprised, noisier = False, False, False, False
    for g in range(plan.gauges):
        if out.reasons[g] == USED:
            R = gauge_variance(c, settings, g, given.readings[g])
            if not abs(R - f.R[g]) <= VARIANCE_CHANGE * f.R[g]:
                f.R[g] = R
                noisier = True
    if noisier:  # summed anew: in a difference of variances the smaller one would be lost
        spread(f, plan.rows)
        anew = True
    if plan.loads > 0 and t > 0.0:
        share = pushed(plan, settings, kept, f, out, t)
        if share > 0.0:
            anew, surprised = True, True
            add_pushes(plan, c, f, share)
            spread(f, plan.rows)
    for q in range(plan.channels):
        rejected = False
        off = deviation(plan, f, q) if out.reasons[q] == USED else 0.0
        if off > settings.gate:
            rejected = True
            kept.rejected[q] += 1.0
            if kept.rejected[q] <= settings.patience:
                out.reasons[q] = OUTLIER
        elif off > SURPRISE:
            surprised = True
        if not rejected:
            kept.rejected[q] = 0.0
        used = 1.0 if out.reasons[q] == USED else 0.0
        left_out = left_out or used == 0.0
        for r in range(plan.first[q], plan.first[q + 1]):
            if f.used[r] != used:
                f.used[r] = used
                anew = True
    if anew:
        condense(f, plan.rows)
    for r in range(plan.linear, plan.rows):
        reading = f.readings[0, (r - plan.linear) // 6, (r - plan.linear) % 6]
        if (reading - kept.expected[r]) ** 2 > JUMP**2 * c.noise[r]:
            surprised = True
    if surprised or f.renewed[0] == 2 * plan.N:
        for r in range(plan.linear, plan.rows):
            kept.expected[r] = f.readings[0, (r - plan.linear) // 6, (r - plan.linear) % 6]
    if surprised:  # what is not expected moves the estimate by much: the derivatives should be right
        kept.turn[2] = max(kept.turn[2], 2.0)
    return left_out


@inlined_kernel
def keep(s: Filter, given: Inputs) -> bool:
    """Keep covariance and derivatives for the next sample; start over and return False where the filter diverged."""
    plan, tree, c, settings, kept, f = s.plan, s.tree, s.constants, s.settings, s.kept, s.ahead
    N, sound = plan.N, True
    for i in range(N):  # NaN is beyond them, too
        sound = sound and abs(f.state[i]) <= c.farthest[i] and abs(f.state[N + i]) <= c.farthest[N + i]
    for i in range(kept.P.shape[0]):
        for m in range(kept.P.shape[0]):
            kept.P[i, m] = f.P[i, m]
            sound = sound and math.isfinite(f.P[i, m])
    assign_rows(kept.shown, f.shown)
    assign(kept.used, f.used)
    for g in range(plan.gauges):
        if f.used[g] > 0.0:
            kept.R[g] = gauge_variance(c, settings, g, given.readings[g])
    if plan.sensors > 0:
        assign_rows(kept.forces, f.forces)
        kept.turn[0] = (kept.turn[0] + f.renewed[0]) % (2 * N)
        kept.turn[1] = (kept.turn[1] + f.renewed[1]) % plan.size
        kept.turn[2] = max(0.0, kept.turn[2] - 1.0)
    if not sound:
        kept.P[:, :] = 0.0
        kept.a[:], kept.touch[:], kept.used[:] = 0.0, 0.0, 1.0
        assign(kept.R, c.noise)
        kept.load[:], kept.lasting[:], kept.shift[:], kept.lively[:] = 0.0, 0.0, 0.0, 0.0
        kept.turn[2] = REPEATS
        for i in range(N):
            kept.x[plan.free[i]], kept.v[plan.free[i]] = 0.0, 0.0
            kept.hinge[plan.free[i]] = 0.0
        follow(tree, kept.x)
        follow(tree, kept.v)
        for i in range(kept.P.shape[0]):
            kept.P[i, i] = c.initial[i]
    return sound
