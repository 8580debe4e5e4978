"""Metrics of slow motion with joint friction: tracking, stick-slip, and accuracy of the friction estimate."""

from __future__ import annotations

from dataclasses import replace

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
    known,
    metric,
    peak,
    reduced,
    rms,
    unmeasured,
    window,
)
from flexarm_tools.recording.recording import Recording

STEADY = 0.5  # fraction of a reference's largest speed above which it moves steadily
GRACE = 0.1  # [s] start of a steady motion that is not evaluated: after a reversal friction holds the joint for a while
STANDS = 0.05  # fraction of that largest speed below which a joint counts as stopped
GOES = 0.2  # fraction of it above which a stopped joint counts as moving again
MOVES = 1e-3  # [rad/s | m/s] speed above which the direction of friction is known


def reference_speed(recording: Recording) -> Array:
    """Return the velocity (T, n) of the desired joint positions, by differences of those known [rad/s | m/s].

    It is NaN before the first known position and after the last one; between two it is interpolated.
    """
    velocity, time = np.full(recording.desired_position.shape, np.nan), recording.time
    for given, position in zip(velocity.T, recording.desired_position.T, strict=True):
        ticks = known(position)
        if np.sum(ticks) > 1:
            rate = np.gradient(position[ticks], time[ticks])
            given[:] = np.interp(time, time[ticks], rate, left=np.nan, right=np.nan)
    return velocity


def reference_moves(recording: Recording) -> NDArray[np.bool_]:
    """Return the ticks (T, n) at which a desired joint position differs from the previous or the next one."""
    steps = np.diff(recording.desired_position, axis=0)
    changes = np.isfinite(steps) & (steps != 0.0)
    none = np.zeros((1, changes.shape[1]), dtype=bool)
    moves: NDArray[np.bool_] = np.vstack((changes, none)) | np.vstack((none, changes))
    return moves


def stick_slips(recording: Recording, counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count how often each joint (n,) stops while its reference moves steadily; -1 if the reference never does.

    ::

        v_max = max |v_ref(t)| over the run         u(t) = sign(v_ref) v(t)
        steady: |v_ref| > 0.5 v_max with one sign for more than 0.1 s
        stops: u < 0.05 v_max, counted again only after u > 0.2 v_max

    ``v`` is the true velocity. At the start of a steady motion a joint counts as moving, so that a joint that never
    moves counts once per steady motion. A joint that moves backwards counts as stopped.

    Args:
        recording: recording of a run with desired joint positions.
        counted: (T,) ticks to evaluate.
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
    """Count how often a speed, relative to the desired one, falls below ``STANDS`` from ``GOES`` or from the start."""
    marks = np.select((speed < STANDS, speed > GOES), (-1, 1), 0)
    marks = np.concatenate(([1], marks[marks != 0]))
    return int(np.sum((marks[1:] < 0) & (marks[:-1] > 0)))


def _error(recording: Recording) -> Array:
    return recording.desired_position - recording.position


def _known_and_moving(recording: Recording, options: MetricOptions) -> NDArray[np.bool_]:
    """Return where (T, n) a joint moves and both its friction and the estimate are known."""
    known = np.isfinite(recording.true_friction) & np.isfinite(recording.estimated_friction)
    moving: NDArray[np.bool_] = known & (np.abs(recording.velocity) > MOVES) & window(recording, options)[:, None]
    return moving


@metric("joint", *WINDOW)
def joint_tracking_rms(recording: Recording, options: MetricOptions) -> Measurement:
    """Root mean square distance of joints from their desired positions during the motion, pauses included.

    ::

        value = sqrt(mean |q_ref(t) - q(t)|^2)   over all joints, from the first to the last motion of any reference

    Positions are the true ones. NaN if there is no motion in the window.
    """
    moves = np.flatnonzero(reference_moves(recording).any(axis=1) & window(recording, options))
    if not moves.size:
        return unmeasured("no joint reference moves in the time that counts")
    error = _error(recording)[moves[0] : moves[-1] + 1]
    return rms(error[~np.isnan(error)])


@metric("1", *WINDOW)
def stick_slip_events(recording: Recording, options: MetricOptions) -> Measurement:
    """Number of times that a joint stops while its reference moves steadily, from 0.1 s after a reversal on.

    The sum of :func:`stick_slips` over the joints; NaN if no reference moves steadily.
    """
    counts = stick_slips(recording, window(recording, options))
    counts = counts[counts >= 0]
    return Measurement(float(counts.sum())) if counts.size else unmeasured("no joint reference moves steadily")


@metric("joint", LAST)
def final_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of any joint from its desired position in the final window."""
    return peak(np.abs(_error(recording)[final(recording, options) & recording.has_desired]))


@metric("1", LAST, RESOLUTION)
def final_error_counts(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of any joint from its desired position in the final window, in steps of the encoders.

    Positions are the true ones, not the encoder readings, which have an error of up to half a step.
    """
    if options.resolution is None:
        return unmeasured("option 'resolution' is not given")
    error = final_error(recording, options)
    return replace(error, value=error.value / options.resolution)


@metric("1", *WINDOW)
def friction_estimate_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Error of the estimated joint friction relative to its true size while joints move.

    ::

        value = sqrt(mean (f_est - f)^2) / sqrt(mean f^2)   over all joints and ticks with |v| > 1e-3 rad/s or m/s

    Joints without friction count as well; NaN without motion or without an estimate.
    """
    moving = _known_and_moving(recording, options)
    true = recording.true_friction[moving]
    size = float(np.linalg.norm(true))
    if not size > 0.0:
        return unmeasured("there is no estimate, no friction, or no motion")
    return Measurement(float(np.linalg.norm(recording.estimated_friction[moving] - true)) / size)


@metric("1", *WINDOW)
def contacts_detected(recording: Recording, options: MetricOptions) -> Measurement:
    """Number of contacts of the arm detected from the wrench under it; NaN without a detector."""
    detected = recording.contact_detected
    detected = detected[window(recording, options) & known(detected)]
    return reduced(lambda given: np.sum(np.diff(given, prepend=0.0) > 0.0), detected)


@metric("s", *WINDOW)
def contact_detection_time(recording: Recording, options: MetricOptions) -> Measurement:
    """Time from `after` until a contact of the arm is detected from the wrench under it."""
    detected = np.flatnonzero((recording.contact_detected == 1.0) & window(recording, options))
    if not detected.size:
        return unmeasured("no contact was detected")
    return Measurement(float(recording.time[detected[0]]) - options.after)
