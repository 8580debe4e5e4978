"""Metrics of the base motion, of the arm's effect on the base, and of the tool tracking."""

from __future__ import annotations

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.metrics.registry import (
    JOINTS,
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
    reduced,
    rms,
    unmeasured,
    window,
)
from flexarm_tools.recording.recording import Recording


def _deflection(recording: Recording, options: MetricOptions) -> Array:
    """Return the norm (T,) of the deflection over the chosen elastic joints."""
    chosen = [not options.joints or name in options.joints for name in recording.elastic_names]
    with np.errstate(over="ignore"):  # a run that diverged
        norm: Array = np.linalg.norm(recording.deflection[:, np.array(chosen, dtype=bool)], axis=1)
    return norm


@metric("deflection", *WINDOW, JOINTS)
def peak_base_deflection(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest base deflection, `max ‖x_b(t)‖`, Euclidean norm over the elastic joints."""
    return peak(_deflection(recording, options)[window(recording, options)])


@metric("deflection", *WINDOW, JOINTS)
def rms_base_deflection(recording: Recording, options: MetricOptions) -> Measurement:
    """Root mean square of the base deflection, `sqrt(mean ‖x_b(t)‖²)`."""
    return rms(_deflection(recording, options)[window(recording, options)])


@metric("deflection", LAST, JOINTS)
def final_base_deflection(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest base deflection in the final window."""
    return peak(_deflection(recording, options)[final(recording, options)])


@metric("sqrt(J)", *WINDOW)
def peak_base_energy_root(recording: Recording, options: MetricOptions) -> Measurement:
    """Root of the largest elastic energy in all directions of the base, `sqrt(max ½ Σ k_i (x_i(t) - x_i(0))²)`."""
    return peak(recording.base_energy_root[window(recording, options)])


@metric("s", SINCE, THRESHOLD)
def base_settling_time(recording: Recording, options: MetricOptions) -> Measurement:
    """Time from `since` (the peak) until the root of the base's elastic energy stays below `threshold` of its peak.

    If this does not happen within the recording, the value is the recorded time, as a lower bound.
    """
    root, time = recording.base_energy_root, recording.time
    since = float(time[np.argmax(root)]) if options.since is None else options.since
    largest = float(np.max(root[time <= since], initial=0.0))
    if not (largest > 0.0 and np.isfinite(root).all()):
        return unmeasured("the base did not move up to then", settled=False)
    last = int(np.flatnonzero(root >= options.threshold * largest)[-1])
    settled = last + 1 < len(time)
    return Measurement(max(0.0, float(time[last]) - since), at_least=not settled, details={"settled": settled})


@metric("1", SINCE, THRESHOLD, JOINTS)
def settling_periods(recording: Recording, options: MetricOptions) -> Measurement:
    """Time until the base deflection stays below `threshold` (5 %) of its peak, in natural periods.

    ::

        A = max |x_b(t)|, t <= since            value = max(0, t_s - since) / T_n
        t_s = first tick after the last one with |x_b(t)| >= threshold * A

    The deflection must stay below for at least half a natural period, since a record that ends at a zero crossing would
    count as settled. Otherwise the value is the number of periods recorded since ``since``, a lower bound: ``settled``
    is then false and a goal with ``<=`` is not met. NaN if there was no deflection up to ``since``.
    """
    deflection, time, period = _deflection(recording, options), recording.time, recording.natural_period
    since = float(time[np.argmax(deflection)]) if options.since is None else options.since
    before = deflection[time <= since]
    largest = float(np.max(before)) if before.size else 0.0
    if not (largest > 0.0 and np.isfinite(deflection).all() and np.isfinite(period)):
        return unmeasured("the base did not move up to then, or has no natural period", settled=False)
    above = np.flatnonzero(deflection >= options.threshold * largest)
    first = int(above[-1]) + 1 if above.size else 0
    if first >= len(time) or time[-1] - max(float(time[first]), since) < 0.5 * period:
        return Measurement(max(0.0, (time[-1] - since) / period), at_least=True, details={"settled": False})
    return Measurement(max(0.0, (float(time[first]) - since) / period), details={"settled": True})


@metric("m", *WINDOW)
def tracking_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance between tool and reference over the tracked x, y, z, in the reference's frame."""
    return peak(recording.tracking_error[window(recording, options) & recording.has_reference])


@metric("m", *WINDOW)
def tracking_error_rms(recording: Recording, options: MetricOptions) -> Measurement:
    """Root mean square of the distance between tool and reference."""
    return rms(recording.tracking_error[window(recording, options) & recording.has_reference])


@metric("m", LAST)
def final_tracking_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance between tool and reference in the final window."""
    return peak(recording.tracking_error[final(recording, options) & recording.has_reference])


@metric("effort", *WINDOW)
def peak_effort(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest absolute effort of any joint."""
    return peak(np.abs(recording.effort[window(recording, options)]))


@metric("effort", *WINDOW)
def effort_step(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest change of any joint's effort between two ticks."""
    counted = window(recording, options)
    return peak(np.abs(np.diff(recording.effort, axis=0))[counted[1:] & counted[:-1]])


@metric("N", *WINDOW)
def peak_base_force(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest force of the arm on its base, `max ‖f(t)‖`, weight included."""
    force = recording.base_wrench[:, :3]
    return peak(np.linalg.norm(force[window(recording, options) & known(force)], axis=1))


@metric("m/rad", *WINDOW)
def smallest_restricted_singular_value(recording: Recording, options: MetricOptions) -> Measurement:
    """Smallest `sigma_min(J P_RNS)` while a tool task runs: distance to an algorithmic singularity."""
    values = recording.smallest_restricted_singular_value
    return reduced(np.min, values[window(recording, options) & recording.has_reference & known(values)])
