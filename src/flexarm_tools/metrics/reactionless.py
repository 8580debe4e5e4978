"""Metrics of a freely vibrating base: decay of the vibration, and momentum that the arm takes from the base."""

from __future__ import annotations

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.metrics.registry import (
    JOINTS,
    THRESHOLD,
    WINDOW,
    Measurement,
    MetricOptions,
    known,
    metric,
    peak,
    unmeasured,
    window,
)
from flexarm_tools.recording.recording import Recording

FEWEST = 3  # smallest number of extremes for the fit of a decay
NO_DECAY = "the base has no three extremes in the time that counts"


def decay(time: Array, deflection: Array, threshold: float) -> tuple[float, float]:
    """Return decay rate and frequency of a damped oscillation about 0, by the logarithmic decrement of its extremes.

    ::

        |x(t_i)| = C exp(-rate t_i)   by least squares of the logarithms,   frequency = pi (N - 1) / (t_N - t_1)

    Each extreme is that of the parabola through three samples.

    Args:
        time: (T,) [s].
        deflection: (T,) [m | rad].
        threshold: fraction of the largest extreme; the first extreme below it, and all later ones, are ignored.

    Returns:
        Decay rate [1/s] and damped frequency [rad/s]; NaN if there are fewer than three extremes. The damping ratio
        is ``rate / hypot(rate, frequency)``.
    """
    size = np.abs(deflection)
    inner = np.flatnonzero((size[1:-1] >= size[:-2]) & (size[1:-1] > size[2:])) + 1
    a, b, c = size[inner - 1], size[inner], size[inner + 1]
    shift = 0.5 * (a - c) / (a - 2.0 * b + c)
    moments = time[inner] + shift * (time[inner + 1] - time[inner])
    peaks = b - 0.25 * (a - c) * shift
    small = np.flatnonzero(peaks < threshold * np.max(peaks, initial=0.0))
    count = int(small[0]) if small.size else len(peaks)
    if count < FEWEST:
        return float("nan"), float("nan")
    moments, peaks = moments[:count], peaks[:count]
    slope = float(np.polyfit(moments, np.log(peaks), 1)[0])
    return -slope, float(np.pi * (count - 1) / (moments[-1] - moments[0]))


def place_of_rest(swing: Array, threshold: float) -> float:
    """Return the place about which an oscillation decays, from three extremes in a row; 0 if there are fewer.

    Of a decaying oscillation, ``x_i = c + C (-r)^i``, so ``c = x_2 + d_1 d_3 / (d_1 + d_3)`` with ``d_i = x_i - x_2``:
    the median of those that swing by more than ``threshold`` of the widest swing.
    """
    steps = np.diff(swing)
    extremes = swing[1:-1][(steps[:-1] * steps[1:] < 0.0) | ((steps[:-1] != 0.0) & (steps[1:] == 0.0))]
    if extremes.size < FEWEST:
        return 0.0
    before, after = extremes[:-2] - extremes[1:-1], extremes[2:] - extremes[1:-1]
    wide = np.abs(before + after)
    counted = (before * after > 0.0) & (wide > threshold * wide.max())
    if not counted.any():
        return 0.0
    places = extremes[1:-1][counted] + (before * after)[counted] / (before + after)[counted]
    return float(np.median(places))


def _vibration(recording: Recording, options: MetricOptions) -> tuple[float, float]:
    """Return decay rate and frequency of the chosen elastic joints along the direction of their largest motion.

    They vibrate about a place of their own: a base sags under weight, and may be let go where it does not rest.
    """
    chosen = np.array([not options.joints or name in options.joints for name in recording.elastic_names], dtype=bool)
    counted = window(recording, options)
    deflection = recording.deflection[np.ix_(counted, chosen)]
    if not (deflection.size and np.isfinite(deflection).all() and np.ptp(deflection, axis=0).any()):
        return float("nan"), float("nan")
    away = deflection - deflection.mean(axis=0)
    swing = away @ np.linalg.svd(away, full_matrices=False)[2][0]
    return decay(recording.time[counted], swing - place_of_rest(swing, options.threshold), options.threshold)


@metric("1/s", *WINDOW, THRESHOLD, JOINTS)
def base_decay_rate(recording: Recording, options: MetricOptions) -> Measurement:
    """Decay rate of the base's vibration, from its extremes above `threshold` (5 %) of the largest."""
    rate, frequency = _vibration(recording, options)
    return Measurement(rate, details={"frequency_rad_s": frequency}) if np.isfinite(rate) else unmeasured(NO_DECAY)


@metric("1", *WINDOW, THRESHOLD, JOINTS)
def base_damping_ratio(recording: Recording, options: MetricOptions) -> Measurement:
    """Damping ratio of the base's vibration, from its extremes above `threshold` (5 %) of the largest."""
    rate, frequency = _vibration(recording, options)
    return Measurement(rate / float(np.hypot(rate, frequency))) if np.isfinite(rate) else unmeasured(NO_DECAY)


@metric("momentum", *WINDOW)
def peak_coupling_momentum(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest coupling momentum `max ‖H_bm q̇‖`, which the arm has taken from its base."""
    momentum = recording.coupling_momentum
    return peak(np.linalg.norm(momentum[window(recording, options) & known(momentum)], axis=1))
