"""Metrics of the run itself: latencies, and counts of failures."""

from __future__ import annotations

import numpy as np

from flexarm_tools.metrics.registry import WINDOW, Measurement, MetricOptions, known, metric, reduced, window
from flexarm_tools.recording.recording import Recording


def _latency(recording: Recording, options: MetricOptions, percent: float) -> Measurement:
    values = recording.tick_latency
    return reduced(lambda given: np.percentile(given, percent), values[window(recording, options) & known(values)])


@metric("s", *WINDOW)
def tick_latency_p50(recording: Recording, options: MetricOptions) -> Measurement:
    """Median wall time from `/joint_states` to the command for it."""
    return _latency(recording, options, 50.0)


@metric("s", *WINDOW)
def tick_latency_p99(recording: Recording, options: MetricOptions) -> Measurement:
    """99th percentile of the wall time from `/joint_states` to the command for it."""
    return _latency(recording, options, 99.0)


@metric("s", *WINDOW)
def tick_latency_max(recording: Recording, options: MetricOptions) -> Measurement:
    """Longest wall time from `/joint_states` to the command for it."""
    return _latency(recording, options, 100.0)


@metric("1")
def watchdog_stops(recording: Recording, options: MetricOptions) -> Measurement:
    """Number of controlled stops by the hardware gate."""
    return Measurement(float(recording.watchdog_stops))


@metric("1")
def gate_trips(recording: Recording, options: MetricOptions) -> Measurement:
    """Number of trips of the hardware gate."""
    return Measurement(float(recording.trips))


@metric("1")
def lockstep_timeouts(recording: Recording, options: MetricOptions) -> Measurement:
    """Number of states in lockstep that got no command."""
    return Measurement(float(recording.lockstep_timeouts))


@metric("1")
def lost_samples(recording: Recording, options: MetricOptions) -> Measurement:
    """Samples that were sent but not recorded."""
    return Measurement(float(recording.lost_samples))


@metric("1")
def node_deaths(recording: Recording, options: MetricOptions) -> Measurement:
    """Nodes that ended unexpectedly."""
    return Measurement(float(len(recording.node_deaths)))
