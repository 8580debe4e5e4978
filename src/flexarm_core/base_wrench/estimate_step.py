"""One sample of the estimate (compiled): motion filter, Newton-Euler relations, contact, bias, friction."""

from __future__ import annotations

import math

from numpy.typing import NDArray

from flexarm_core.base_wrench.bias_tracking import track_bias
from flexarm_core.base_wrench.contact_detection import detect_contact
from flexarm_core.base_wrench.estimate_memory import (
    KEPT,
    Constants,
    Estimator,
    Inputs,
    Joints,
    Settings,
    State,
    Wrenches,
    view_constants,
    view_estimator,
    view_inputs,
    view_joints,
    view_wrenches,
)
from flexarm_core.base_wrench.gravity_table import look_up
from flexarm_core.base_wrench.motion_filter import LONGEST_GAP, filter_motion
from flexarm_core.base_wrench.newton_euler import (
    GRAVITY_TORQUE,
    GRAVITY_WRENCH,
    MODEL_TORQUE,
    RESIDUAL_WRENCH,
    TORQUE,
    WIDTH,
    WRENCHES,
    Sensing,
    newton_euler,
)
from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.types import Array

ESTIMATED, NO_READING, FROZEN, REFUSED = range(4)  # status; after REFUSED nothing has changed


@kernel
def estimate(integers: NDArray, memory: Array, inputs: Array, stamp: int, joints: Array, wrenches: Array) -> int:
    """Process one sample and return a status.

    The wrench is compared with the motion of the stored sample nearest to its own time, ``stamp - delay``. Without a
    usable reading, the quantities that depend on it are NaN, and the time at rest for the bias restarts.

    Args:
        integers: this and ``memory``: see :class:`Estimator`; changed in place.
        memory: see there.
        inputs: see :class:`Inputs`.
        stamp: stamp of the sample [ns].
        joints: (7, n) gets :class:`Joints`.
        wrenches: (4, 6) gets :class:`Wrenches`.

    Returns:
        ESTIMATED; NO_READING: the wrench is not finite; FROZEN: the wrench does not change although efforts do;
        REFUSED: another input is not finite, or the stamp is no later than the last one.
    """
    begin = view_constants(memory, integers)
    v = view_estimator(memory, integers, begin.n, begin.size, begin.bodies, begin.nodes)
    c, z, s = v
    u, x, w, stamps = (
        view_inputs(inputs, c.n, c.size - c.n),
        view_joints(joints, c.n),
        view_wrenches(wrenches),
        s.stamps,
    )
    count = int(s.samples[0])
    last = (count - 1) % KEPT
    if _is_wrong(u) or (count and stamp <= stamps[last]):
        return REFUSED
    dt = (stamp - stamps[last]) * 1e-9 if count else 0.0
    filter_motion(z.filter, c.turning, s.filtered, u.position, u.velocity, dt)
    if dt > LONGEST_GAP:  # the motion during the gap is unknown
        s.tracked.rested[0], dt = 0.0, 0.0
    newest = count % KEPT
    stamps[newest] = stamp
    _take(c, z, s, u, x)
    if len(c.change):
        _compare_gravity(c, s, x)
    row = _nearest(stamps, count, stamp - int(z.delay))
    status = _read(z, s, u)
    for i in range(6):
        s.given[3 + i] = 0.0 if status else z.sign * (u.wrench[i] - (z.bias[i] + z.sign * s.tracked.drift[i]))
        w.wrench[i] = math.nan if status else s.given[3 + i]
    if len(c.counts):
        s.given[9] = 1.0
        look_up(c.table, c.counts, c.ends, s.motion[row, 0], s.work, s.given[10:])
    newton_euler(c.links, c.structure, Sensing(c.sensor, s.motion[row], s.given, s.bodies, s.torques))
    if not status:
        for i in range(6):
            if not math.isfinite(s.torques[WRENCHES, RESIDUAL_WRENCH + i]):
                status = NO_READING  # readings or velocities beyond all measure must not enter the low-pass
    residual = s.torques[WRENCHES, RESIDUAL_WRENCH:WIDTH]
    if status or detect_contact(z.contact, s.contact, residual, dt):
        s.tracked.rested[0] = 0.0
    else:
        track_bias(z.tracking, s.tracked, residual, s.motion[newest, 1], dt)
    _give(v, row, status, x, w)
    return status


@inlined_kernel
def _is_wrong(u: Inputs) -> bool:
    wrong = False
    for i in range(len(u.position)):
        wrong = wrong or not (math.isfinite(u.position[i]) and math.isfinite(u.velocity[i]))
        wrong = wrong or (u.known and not math.isfinite(u.effort[i]))
    for i in range(len(u.deflection)):
        wrong = wrong or not (math.isfinite(u.deflection[i]) and math.isfinite(u.deflection_rate[i]))
        wrong = wrong or not math.isfinite(u.deflection_acceleration[i])
    return wrong


@inlined_kernel
def _take(c: Constants, z: Settings, s: State, u: Inputs, x: Joints) -> None:
    """Store a sample, write the filtered motion, and note whether the efforts have changed."""
    count, n = int(s.samples[0]), c.n
    newest, last = count % KEPT, (count - 1) % KEPT
    if z.frozen_samples > 0.0 and count and not math.isnan(s.effort[last, 0]):
        changed = False
        for i in range(n):
            changed = changed or u.effort[i] != s.effort[last, i]
        s.moved[0] = 1.0 if u.known and changed else 0.0
    s.speed[0] = 0.0
    for i in range(n):
        s.motion[newest, 0, i], s.motion[newest, 1, i] = u.position[i], s.filtered.velocity[i]
        s.motion[newest, 2, i], s.effort[newest, i] = s.filtered.acceleration[i], u.effort[i] if u.known else math.nan
        x.velocity[i], x.acceleration[i] = s.filtered.velocity[i], s.filtered.acceleration[i]
        x.gravity_change[i] = 0.0
        s.speed[0] = max(s.speed[0], abs(s.filtered.velocity[i]))
    for i in range(c.size - n):
        s.motion[newest, 0, n + i], s.motion[newest, 1, n + i] = u.deflection[i], u.deflection_rate[i]
        s.motion[newest, 2, n + i] = u.deflection_acceleration[i]
    s.samples[0] = count + 1


@inlined_kernel
def _compare_gravity(c: Constants, s: State, x: Joints) -> None:
    """Write calibrated minus described gravity efforts of the newest sample: gravity is linear in its parameters."""
    newest = (int(s.samples[0]) - 1) % KEPT
    for i in range(c.size):
        s.still[0, i] = s.motion[newest, 0, i]
    newton_euler(c.change, c.structure, Sensing(c.sensor, s.still, s.given, s.bodies, s.changes))
    for i in range(c.n):
        x.gravity_change[i] = s.changes[GRAVITY_TORQUE, i]


@inlined_kernel
def _nearest(stamps: NDArray, count: int, wanted: int) -> int:
    """Return the row of the stored sample nearest to a stamp [ns]; of two equally near samples the older one."""
    newer = count % KEPT
    for back in range(min(count + 1, KEPT)):
        row = (count - back) % KEPT
        if stamps[row] <= wanted:
            if not stamps[newer] - wanted < wanted - stamps[row]:
                newer = row
            break
        newer = row
    return newer


@inlined_kernel
def _read(z: Settings, s: State, u: Inputs) -> int:
    """Return ESTIMATED if the reading can be used, else why not."""
    same = True
    for i in range(6):
        if not math.isfinite(u.wrench[i]):
            return NO_READING
        same = same and u.wrench[i] == s.reading[i]
    if z.frozen_samples == 0.0:
        return ESTIMATED
    for i in range(6):
        s.reading[i] = u.wrench[i]
    s.frozen[0] = s.frozen[0] + s.moved[0] if same else 0.0
    return FROZEN if s.frozen[0] >= z.frozen_samples else ESTIMATED


@inlined_kernel
def _give(v: Estimator, row: int, status: int, x: Joints, w: Wrenches) -> None:
    """Write the results."""
    c, z, s = v
    for i in range(c.n):
        x.gravity[i], x.model_torque[i] = s.torques[GRAVITY_TORQUE, i], s.torques[MODEL_TORQUE, i]
        x.torque[i] = math.nan if status else s.torques[TORQUE, i]
        rotor = c.armature[i] * s.motion[row, 2, i]
        x.friction[i] = s.effort[row, i] - rotor - x.torque[i] - x.gravity[i]
    for i in range(6):
        w.gravity[i] = s.torques[WRENCHES, GRAVITY_WRENCH + i]
        w.wrench[i] = math.nan if status else w.wrench[i]
        w.residual[i] = math.nan if status else s.torques[WRENCHES, RESIDUAL_WRENCH + i]
        w.bias[i] = z.bias[i] + z.sign * s.tracked.drift[i]
