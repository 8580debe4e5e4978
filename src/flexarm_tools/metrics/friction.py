"""Metrics of slow motion against joint friction: how well it is followed, whether joints stick, what is known of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.types import Array
from flexarm_tools.metrics.registry import (
    LAST,
    RESOLUTION,
    WINDOW,
    Measurement,
    MetricOptions,
    final,
    metric,
    peak,
    rms,
    window,
)
from flexarm_tools.recording.recording import Recording

STEADY = 0.5  # part of a reference's largest speed above which it moves steadily
GRACE = 0.1  # [s] of steady motion that a joint is given: friction that reverses holds it for a while
STANDS = 0.05  # part of that largest speed, along the reference, below which a joint stands
GOES = 0.2  # part of it from which on a joint that stood goes again
MOVES = 1e-3  # [rad/s | m/s] above which a joint has friction of a known direction


def reference_speed(recording: Recording) -> Array:
    """(T, n) velocity of the desired joint positions, by differences [rad/s | m/s]."""
    velocity: Array = np.gradient(recording.desired_position, recording.time, axis=0)
    return velocity


def reference_moves(recording: Recording) -> NDArray[np.bool_]:
    """(T, n) ticks at which a desired joint position differs from the one before or the one after."""
    steps = np.diff(recording.desired_position, axis=0)
    changes = np.isfinite(steps) & (steps != 0.0)
    none = np.zeros((1, changes.shape[1]), dtype=bool)
    moves: NDArray[np.bool_] = np.vstack((changes, none)) | np.vstack((none, changes))
    return moves


def stick_slips(recording: Recording, counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(n,) how often each joint comes to stand while its reference moves steadily; -1 where that never moves so.

    ::

        v_max = max |v_ref(t)| over the run         u(t) = sign(v_ref) v(t)
        steady: |v_ref| > 0.5 v_max with one sign for more than 0.1 s
        comes to stand: u < 0.05 v_max, counted again only after u > 0.2 v_max

    ``v`` is true. A joint counts as going when the steady motion begins, so that one that never goes counts once in
    each stretch of it; one that goes back counts as one that stands.

    Args:
        recording: of a run with desired joint positions.
        counted: (T,) ticks that count.
    """
    reference = reference_speed(recording)
    counts = np.full(len(recording.joint_names), -1)
    for joint, (wanted, velocity) in enumerate(zip(reference.T, recording.velocity.T, strict=True)):
        largest = float(np.nanmax(np.abs(wanted), initial=0.0))
        with np.errstate(invalid="ignore"):
            direction = np.where(np.abs(wanted) > STEADY * largest, np.sign(wanted), 0.0)
            along = direction * velocity
        bounds = np.flatnonzero(np.diff(direction)) + 1
        for begin, end in zip((0, *bounds), (*bounds, len(direction)), strict=True):
            ticks = np.arange(begin, end)
            ticks = ticks[(recording.time[ticks] > recording.time[begin] + GRACE) & counted[ticks]]
            if direction[begin] != 0.0 and ticks.size:
                counts[joint] = max(counts[joint], 0) + _stops(along[ticks] / largest)
    return counts


def _stops(speed: Array) -> int:
    """How often a speed, in parts of the wanted one, falls below ``STANDS`` from ``GOES`` or from the begin."""
    marks = np.select((speed < STANDS, speed > GOES), (-1, 1), 0)
    marks = np.concatenate(([1], marks[marks != 0]))
    return int(np.sum((marks[1:] < 0) & (marks[:-1] > 0)))


def _error(recording: Recording) -> Array:
    return recording.desired_position - recording.position


def _known_and_moving(recording: Recording, options: MetricOptions) -> NDArray[np.bool_]:
    """(T, n) where a joint moves and both its friction and the estimate of it are known."""
    known = np.isfinite(recording.true_friction) & np.isfinite(recording.estimated_friction)
    moving: NDArray[np.bool_] = known & (np.abs(recording.velocity) > MOVES) & window(recording, options)[:, None]
    return moving


@metric("joint", *WINDOW)
def joint_tracking_rms(recording: Recording, options: MetricOptions) -> Measurement:
    """Root mean square of the distance of joints from their desired positions while these move, pauses included.

    ::

        value = sqrt(mean |q_ref(t) - q(t)|^2)   over all joints, from the first to the last motion of any reference

    Positions are true. Where there is no motion in the window: NaN.
    """
    moves = np.flatnonzero(reference_moves(recording).any(axis=1) & window(recording, options))
    if not moves.size:
        return Measurement(np.nan)
    error = _error(recording)[moves[0] : moves[-1] + 1]
    return rms(error[np.isfinite(error)])


@metric("1", *WINDOW)
def stick_slip_events(recording: Recording, options: MetricOptions) -> Measurement:
    """Times that any joint comes to stand while its reference moves steadily, from 0.1 s after a reversal on.

    The sum of :func:`stick_slips` over the joints; NaN where no reference moves steadily.
    """
    counts = stick_slips(recording, window(recording, options))
    counts = counts[counts >= 0]
    return Measurement(float(counts.sum()) if counts.size else np.nan)


@metric("joint", LAST)
def final_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of any joint from its desired position in the final window."""
    return peak(np.abs(_error(recording)[final(recording, options) & recording.has_desired]))


@metric("1", LAST, RESOLUTION)
def final_error_counts(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of any joint from its desired position in the final window, in steps of the encoders.

    Positions are true, not as the encoders read them: half a step is lost in every reading.
    """
    error = final_error(recording, options).value
    return Measurement(np.nan if options.resolution is None else error / options.resolution)


@metric("1", *WINDOW)
def friction_estimate_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Error of the estimated joint friction over its true size while joints move.

    ::

        value = sqrt(mean (f_est - f)^2) / sqrt(mean f^2)   over all joints and ticks with |v| > 1e-3 rad/s or m/s

    Joints that have no friction count as well; NaN where nothing moves or nothing is estimated.
    """
    moving = _known_and_moving(recording, options)
    true = recording.true_friction[moving]
    size = float(np.linalg.norm(true))
    if not size > 0.0:
        return Measurement(np.nan)
    return Measurement(float(np.linalg.norm(recording.estimated_friction[moving] - true)) / size)


@metric("1", *WINDOW)
def contacts_detected(recording: Recording, options: MetricOptions) -> Measurement:
    """Times that a contact of the arm is detected by the wrench under it; NaN where nothing looks for one."""
    detected = recording.contact_detected[window(recording, options)]
    detected = detected[np.isfinite(detected)]
    if not detected.size:
        return Measurement(np.nan)
    return Measurement(float(np.sum(np.diff(detected, prepend=0.0) > 0.0)))


@metric("s", *WINDOW)
def contact_detection_time(recording: Recording, options: MetricOptions) -> Measurement:
    """Time from `after` until a contact of the arm is detected by the wrench under it."""
    detected = np.flatnonzero((recording.contact_detected == 1.0) & window(recording, options))
    return Measurement(float(recording.time[detected[0]]) - options.after if detected.size else np.nan)
