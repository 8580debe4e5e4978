"""Metrics against closed forms: a damped oscillator x(t) = exp(-zeta w t) cos(w t) and simple recordings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flexarm_tools.metrics.all import METRICS, MetricOptions, deflection_unit

PERIOD = 2.0  # [s] natural period of the recordings
ANGULAR = 2.0 * math.pi / PERIOD


def oscillation(zeta: float, start: float = 0.0):
    """Amplitude 0.1 m from ``start`` on, zero before."""

    def deflection(time):
        t = np.maximum(time - start, 0.0)
        return np.where(time < start, 0.0, 0.1 * np.exp(-zeta * ANGULAR * t) * np.cos(ANGULAR * t))

    return deflection


def measure(name, recording, **options):
    return METRICS[name].measure(recording, MetricOptions(**options))


def test_the_peak_of_an_oscillation_is_its_amplitude(record):
    assert measure("peak_base_deflection", record(oscillation(0.0))).value == pytest.approx(0.1, rel=1e-6)


def test_a_window_takes_out_what_lies_outside(record):
    recording = record(oscillation(0.05))
    late = measure("peak_base_deflection", recording, after=4.0).value
    assert late == pytest.approx(0.1 * math.exp(-0.05 * ANGULAR * 4.0), rel=1e-3)
    assert measure("peak_base_deflection", recording, before=0.5, after=0.49).value < 4e-3


def test_the_root_of_the_elastic_energy_weighs_every_direction_by_its_stiffness(record):
    recording = record(oscillation(0.1, start=1.0))
    stiffness = float(recording.elastic_stiffness[0])
    peak = measure("peak_base_energy_root", recording).value
    assert peak == pytest.approx(0.1 * math.sqrt(0.5 * stiffness), rel=1e-6)
    settled = measure("base_settling_time", recording, threshold=0.05)
    envelope = math.log(1.0 / 0.05) / (0.1 * ANGULAR)
    assert envelope - 0.5 * PERIOD <= settled.value <= envelope and not settled.at_least
    assert measure("base_settling_time", record(oscillation(0.0, start=1.0))).at_least


def test_the_rms_of_a_full_oscillation_is_amplitude_over_root_two(record):
    assert measure("rms_base_deflection", record(oscillation(0.0))).value == pytest.approx(0.1 / math.sqrt(2), rel=1e-6)


def test_the_final_deflection_is_the_peak_of_the_last_natural_period(record):
    expected = 0.1 * math.exp(-0.05 * ANGULAR * 18.0)
    assert measure("final_base_deflection", record(oscillation(0.05))).value == pytest.approx(expected, rel=1e-3)
    assert measure("final_base_deflection", record(oscillation(0.0)), last=0.01).value == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize("zeta", [0.1, 0.2, 0.3])
def test_a_damped_oscillation_settles_within_half_a_swing_of_its_envelope(record, zeta):
    found = measure("settling_periods", record(oscillation(zeta)), threshold=0.05)
    envelope = math.log(1.0 / 0.05) / (zeta * ANGULAR) / PERIOD  # [periods] where the envelope passes 5 %
    assert envelope - 0.5 <= found.value <= envelope
    assert not found.at_least
    assert found.details == {"settled": True}


def test_an_exponential_decay_settles_at_the_logarithm_of_the_threshold(record):
    found = measure("settling_periods", record(lambda time: 0.1 * np.exp(-time)), threshold=0.05)
    assert found.value * PERIOD == pytest.approx(math.log(20.0), abs=2e-3)


def test_settling_is_counted_from_since_and_against_the_peak_before_it(record):
    def pushed(time):  # 0.1 m until 5 s, then an exponential decay
        return np.where(time < 5.0, 0.1, 0.1 * np.exp(-(time - 5.0)))

    found = measure("settling_periods", record(pushed), since=5.0, threshold=0.05)
    assert found.value * PERIOD == pytest.approx(math.log(20.0), abs=2e-3)


def test_a_base_that_grows_after_since_has_not_settled_however_large_its_later_peak(record):
    def unstable(time):
        return np.where(time < 5.0, 0.01, 0.01 * np.exp(np.minimum(time - 5.0, 4.0)))

    found = measure("settling_periods", record(unstable), since=5.0)
    assert found.details == {"settled": False}


def test_an_oscillation_that_goes_on_gives_the_recorded_periods_as_a_lower_bound(record):
    found = measure("settling_periods", record(oscillation(0.0)), since=3.0)
    assert found.value == pytest.approx((20.0 - 0.001 - 3.0) / PERIOD)
    assert found.at_least
    assert found.details == {"settled": False}


def test_a_record_that_ends_in_a_zero_crossing_has_not_settled(record):
    recording = record(oscillation(0.0), 19.5)  # cos is zero at 19.5 s
    assert abs(recording.deflection[-1, 0]) < 0.05 * 0.1
    assert measure("settling_periods", recording, since=3.0).details == {"settled": False}


def test_what_never_deflected_cannot_settle(record):
    found = measure("settling_periods", record(lambda time: 0.0 * time), since=3.0)
    assert math.isnan(found.value)


def test_a_base_already_quiet_at_since_settles_in_no_time(record):
    assert measure("settling_periods", record(lambda time: np.where(time < 1.0, 0.1, 0.0)), since=3.0).value == 0.0


def test_a_diverged_run_has_no_peak(record):
    recording = record(lambda time: np.where(time < 1.0, 0.1, np.nan))
    assert math.isnan(measure("peak_base_deflection", recording).value)
    assert math.isnan(measure("settling_periods", recording, since=0.5).value)


@pytest.fixture
def tracked(record):
    """A tool 1 mm off its reference, 5 mm off from 1 s to 2 s, without a reference before 0.5 s."""
    time = np.arange(4000) / 1000.0
    tool = np.zeros((4000, 3))
    tool[:, 0] = np.where((time >= 1.0) & (time < 2.0), 5e-3, 1e-3)
    reference = np.where(time[:, None] < 0.5, np.nan, np.zeros((4000, 3)))
    axes = np.array([True, True, True, False, False, False])
    return record(lambda t: 0.0 * t, 4.0, tool_position_in_base=tool, reference_position=reference, reference_axes=axes)


def test_the_tracking_error_is_the_largest_distance_while_there_is_a_reference(tracked):
    assert measure("tracking_error", tracked).value == pytest.approx(5e-3)
    assert measure("tracking_error", tracked, after=2.0).value == pytest.approx(1e-3)
    assert measure("final_tracking_error", tracked, last=1.0).value == pytest.approx(1e-3)
    assert math.isnan(measure("tracking_error", tracked, before=0.4).value)


def test_the_rms_tracking_error_weighs_every_tick_alike(tracked):
    assert measure("tracking_error_rms", tracked).value == pytest.approx(math.sqrt((25.0 + 2.5) / 3.5) * 1e-3, rel=1e-9)


def test_forces_and_efforts_are_taken_by_their_size(record):
    wrench = np.tile([3.0, -4.0, 0.0, 9.0, 9.0, 9.0], (100, 1))
    recording = record(lambda t: 0.0 * t, 0.1, base_wrench=wrench, effort=np.tile([1.0, -7.0, 2.0], (100, 1)))
    assert measure("peak_base_force", recording).value == pytest.approx(5.0)
    assert measure("peak_effort", recording).value == 7.0
    assert METRICS["peak_effort"].unit_for(recording, MetricOptions()) == "N*m"


def test_the_singular_value_counts_only_while_a_task_runs(record):
    values = np.linspace(0.0, 1.0, 100)
    reference = np.where(np.arange(100)[:, None] < 50, np.nan, np.zeros((100, 3)))
    recording = record(lambda t: 0.0 * t, 0.1, smallest_restricted_singular_value=values, reference_position=reference)
    assert measure("smallest_restricted_singular_value", recording).value == pytest.approx(values[50])


def test_latencies_are_percentiles_of_the_ticks_that_were_answered(record):
    latency = np.where(np.arange(1001) % 2 == 0, np.arange(1001) * 1e-6, np.nan)
    recording = record(lambda t: 0.0 * t, 1.001, tick_latency=latency)
    assert measure("tick_latency_p50", recording).value == pytest.approx(5e-4)
    assert measure("tick_latency_p99", recording).value == pytest.approx(9.9e-4)
    assert measure("tick_latency_max", recording).value == pytest.approx(1e-3)
    assert math.isnan(measure("tick_latency_p50", record(lambda t: 0.0 * t, 0.1)).value)


def test_counts_are_passed_through(record):
    recording = record(
        lambda t: 0.0 * t, 0.1, watchdog_stops=1, lockstep_timeouts=2, lost_samples=3, node_deaths=("a", "b", "c", "d")
    )
    names = ("watchdog_stops", "lockstep_timeouts", "lost_samples", "node_deaths")
    assert [measure(name, recording).value for name in names] == [1.0, 2.0, 3.0, 4.0]


def test_every_metric_answers_for_a_recording_that_holds_next_to_nothing(record):
    recording = record(lambda t: 0.0 * t, 0.1)
    for metric in METRICS.values():
        assert isinstance(metric.measure(recording, MetricOptions()).value, float)
        assert metric.unit_for(recording, MetricOptions())


def test_deflections_of_one_unit_can_be_chosen_among_two():
    names, units = ("slide", "turn"), ("m", "rad")
    assert deflection_unit(names, units, ("turn",)) == "rad"
    assert deflection_unit(names, units, ("slide",)) == "m"
