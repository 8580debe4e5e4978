"""TickTimes: percentiles of a histogram against those of the durations themselves."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_nodes.node.tick_times import TickTimes


def test_percentiles_are_those_of_the_durations_to_two_percent():
    durations = np.random.default_rng(3).lognormal(np.log(6e-4), 0.7, 20_000)
    times = TickTimes()
    for duration in durations.tolist():
        times.add(duration)
    for percent in (1.0, 50.0, 99.0, 99.9, 100.0):
        true = np.percentile(durations, percent, method="inverted_cdf")
        assert true * (1.0 - 1e-9) <= times.percentile(percent) <= 1.021 * true
    assert times.values()["ticks"] == "20000"


def test_what_is_too_short_or_too_long_for_the_bins_is_counted_too_and_nothing_gives_no_number():
    times = TickTimes()
    assert np.isnan(times.percentile(99.0))
    for duration in (0.0, 1e-7, 5.0):
        times.add(duration)
    assert times.count == 3
    assert times.values()["tick_max_ms"] == "5000.000"
    assert times.percentile(50.0) == pytest.approx(1e-5)
    times.reset()
    assert times.count == 0
