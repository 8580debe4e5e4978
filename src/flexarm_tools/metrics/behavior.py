"""Metrics of behaviors: obstacle distances, samples at which the arm was held, and acceleration steps at changes."""

from __future__ import annotations

import numpy as np

from flexarm_tools.metrics.registry import WINDOW, Measurement, MetricOptions, metric, peak, window
from flexarm_tools.recording.recording import Recording


@metric("m", *WINDOW)
def min_obstacle_distance(recording: Recording, options: MetricOptions) -> Measurement:
    """Smallest distance of the commanded arm from an obstacle, as reported by behaviors of kind `obstacles`."""
    values = recording.obstacle_distance[window(recording, options)]
    return Measurement(float(np.nanmin(values)) if np.isfinite(values).any() else np.nan)


@metric("1", *WINDOW)
def behavior_holds(recording: Recording, options: MetricOptions) -> Measurement:
    """Ticks in which the arm braked or held instead of following its behaviors."""
    held = recording.behaviors_held[window(recording, options)]
    known = np.isfinite(held)
    return Measurement(float(np.sum(held[known])) if known.any() else np.nan)


@metric("m/s^2", *WINDOW)
def tool_acceleration_step(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest change of the tool reference's acceleration between two ticks, `max ‖a(t) - a(t - dt)‖`."""
    acceleration = recording.reference_acceleration[window(recording, options) & recording.has_reference]
    return peak(np.linalg.norm(np.diff(acceleration, axis=0), axis=1))
