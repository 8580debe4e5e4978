"""Metrics of flexible arms: residual vibration of the tool, and accuracy of the estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.types import Array
from flexarm_tools.metrics.registry import (
    LAST,
    SINCE,
    THRESHOLD,
    WINDOW,
    Measurement,
    MetricOptions,
    final,
    known,
    metric,
    peak,
    unmeasured,
    window,
)
from flexarm_tools.recording.recording import Recording


def distance_from_mean(position: Array, counted: NDArray[np.bool_]) -> Array:
    """Return the distance (T,) of a point (T, 3) from its mean over the counted ticks (T,) bool; NaN without any."""
    if not counted.any():
        return np.full(len(position), np.nan)
    with np.errstate(over="ignore", invalid="ignore"):  # a run that diverged
        distance: Array = np.linalg.norm(position - position[counted].mean(axis=0), axis=1)
    return distance


@metric("m", *WINDOW)
def tool_vibration(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of the tool from its mean position in the window: the remaining vibration after a slew.

    ::

        value = max |p(t) - mean p|,  p = true tool position in the root link, both over after <= t <= before
    """
    counted = window(recording, options)
    return peak(distance_from_mean(recording.tool_position, counted)[counted])


@metric("s", SINCE, THRESHOLD, LAST)
def tool_settling_time(recording: Recording, options: MetricOptions) -> Measurement:
    """Time from `since` until the tool stays within `threshold` (5 %) of its largest distance from its rest position.

    ::

        d(t) = |p(t) - mean p over the final window|,  p = true tool position in the root link
        A = max d(t), t >= since                value = max(0, t_s - since)
        t_s = first tick after the last one with d(t) >= threshold * A

    Intended for the response to a push: ``since`` is the end of the push, ``A`` the amplitude that it causes. The tool
    must stay within the bound for the whole final window, which defines the rest position. Otherwise the value is the
    time recorded since ``since``, a lower bound: ``settled`` is then false and a goal with ``<=`` is not met. NaN if
    the tool did not move.
    """
    time, counted = recording.time, final(recording, options)
    distance = distance_from_mean(recording.tool_position, counted)
    if not np.isfinite(distance).all():
        return unmeasured("the final window has no samples, or the run diverged", settled=False)
    since = float(time[np.argmax(distance)]) if options.since is None else options.since
    largest = float(np.max(distance[time >= since], initial=0.0))
    if not largest > 0.0:
        return unmeasured("the tool did not move", settled=False)
    outside = np.flatnonzero((distance >= options.threshold * largest) & (time >= since))
    first = int(outside[-1]) + 1
    if first >= len(time) or first > int(np.argmax(counted)):
        return Measurement(max(0.0, float(time[-1]) - since), at_least=True, details={"settled": False})
    return Measurement(max(0.0, float(time[first]) - since), details={"settled": True})


@metric("1", *WINDOW)
def modal_rms_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Error of the estimated modal positions relative to their true size, `sqrt(mean ‖η_est - η‖²) / sqrt(mean ‖η‖²)`.

    The norm is Euclidean over the estimated modes, which are mass-normalized; only ticks with an estimate count. NaN
    without an estimate or a vibration.
    """
    true, estimate = recording.modal_position, recording.estimated_modal_position
    ticks, modes = window(recording, options) & known(estimate), ~np.isnan(estimate).all(axis=0)
    true, estimate = true[ticks][:, modes], estimate[ticks][:, modes]
    size = float(np.linalg.norm(true))
    if not size > 0.0:
        return unmeasured("there is no estimate, or no vibration")
    return Measurement(float(np.linalg.norm(estimate - true)) / size)


@metric("1", *WINDOW)
def base_rms_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Relative error of the estimated base deflection, as square roots of the elastic energy of all directions.

    ::

        value = sqrt(mean e^T K e) / sqrt(mean x^T K x),  e = x_est - x,  K = stiffness of the elastic joints

    Only ticks with an estimate count. NaN without an estimate or a deflection.
    """
    ticks = window(recording, options) & known(recording.estimated_deflection)
    weight = np.sqrt(recording.elastic_stiffness)
    with np.errstate(over="ignore"):  # a run that diverged
        error = np.linalg.norm((recording.estimated_deflection - recording.deflection)[ticks] * weight)
        size = np.linalg.norm(recording.deflection[ticks] * weight)
    return Measurement(float(error / size)) if size > 0.0 else unmeasured("there is no estimate, or no deflection")


@metric("m*sqrt(kg)", *WINDOW)
def peak_modal_position(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest absolute true modal position, mass-normalized."""
    return peak(np.abs(recording.modal_position[window(recording, options)]))


@metric("m*sqrt(kg)", *WINDOW)
def modal_vibration(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of any mode's true position from its mean in the window: the vibration of a link itself."""
    modes = recording.modal_position[window(recording, options)]
    with np.errstate(over="ignore", invalid="ignore"):  # a run that diverged
        return peak(np.abs(modes - modes.mean(axis=0)) if len(modes) else modes)


@metric("joint", *WINDOW)
def joint_tracking_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of any joint from its desired position, joint by joint."""
    counted = window(recording, options) & recording.has_desired
    return peak(np.abs(recording.position - recording.desired_position)[counted])
