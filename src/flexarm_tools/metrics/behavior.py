"""Metrics of behaviors: obstacle distances, samples at which the arm was held, and acceleration steps at changes."""

from __future__ import annotations

import numpy as np

from flexarm_tools.metrics.registry import WINDOW, Measurement, MetricOptions, known, metric, peak, reduced, window
from flexarm_tools.recording.recording import Recording


@metric("m", *WINDOW)
def min_obstacle_distance(recording: Recording, options: MetricOptions) -> Measurement:
    """Smallest distance of the commanded arm from an obstacle, as reported by behaviors of kind `obstacles`."""
    values = recording.obstacle_distance
    return reduced(np.min, values[window(recording, options) & known(values)])


@metric("1", *WINDOW)
def behavior_holds(recording: Recording, options: MetricOptions) -> Measurement:
    """Ticks in which the arm braked or held instead of following its behaviors."""
    held = recording.behaviors_held
    return reduced(np.sum, held[window(recording, options) & known(held)])


@metric("m/s^2", *WINDOW)
def tool_acceleration_step(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest change of the tool reference's acceleration between two ticks, `max ‖a(t) - a(t - dt)‖`."""
    counted = window(recording, options) & recording.has_reference
    steps = np.diff(recording.reference_acceleration, axis=0)[counted[1:] & counted[:-1]]
    return peak(np.linalg.norm(steps, axis=1))
