"""Metrics of arms that bend against closed forms: swings of known size that decay at a known rate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flexarm_tools.metrics.all import METRICS, MetricOptions

ANGULAR = 2.0 * math.pi / 0.5  # [rad/s] period of 0.5 s


def measure(name, recording, **options):
    return METRICS[name].measure(recording, MetricOptions(**options))


def still(time):
    return np.zeros((len(time), 4))


@pytest.fixture
def tool(record_bending):
    """Recording of 10 s whose tool stands at (1, 2, 3) m and moves along (0.6, 0.8, 0) as a function of time says."""

    def recording(along, **known):
        time = np.arange(10000) / 1000.0
        place = np.array([1.0, 2.0, 3.0]) + along(time)[:, None] * np.array([0.6, 0.8, 0.0])
        return record_bending(still, tool_position=place, **known)

    return recording


def pushed(rate):
    """At rest, pushed from 1 s on: a swing of 20 mm that decays at ``rate`` [1/s]."""

    def along(time):
        t = np.maximum(time - 1.0, 0.0)
        return 0.02 * np.exp(-rate * t) * np.sin(ANGULAR * t)

    return along


def test_the_vibration_after_a_slew_is_its_amplitude_wherever_the_slew_ended(tool):
    def slewed(time):  # half a meter in 4 s, then a swing of 3 mm for whole periods
        return np.where(time < 4.0, 0.5 * time / 4.0, 0.5 + 3e-3 * np.sin(ANGULAR * (time - 4.0)))

    assert measure("tool_vibration", tool(slewed), after=4.0).value == pytest.approx(3e-3, rel=1e-3)
    assert measure("tool_vibration", tool(slewed), after=4.0, before=5.9995).value == pytest.approx(3e-3, rel=1e-3)
    assert measure("tool_vibration", tool(slewed)).value > 0.2
    assert measure("tool_vibration", tool(lambda t: 0.0 * t), after=4.0).value < 1e-15


@pytest.mark.parametrize("rate", [1.0, 2.0])
@pytest.mark.parametrize("threshold", [0.05, 0.2])
def test_the_tool_settles_within_half_a_swing_of_its_envelope(tool, rate, threshold):
    found = measure("tool_settling_time", tool(pushed(rate)), since=1.0, threshold=threshold, last=1.0)
    first = math.atan2(ANGULAR, rate) / ANGULAR  # the largest swing
    largest = math.exp(-rate * first) * math.sin(ANGULAR * first)
    envelope = -math.log(threshold * largest) / rate
    assert envelope - 0.25 <= found.value <= envelope + 1e-3
    assert not found.at_least and found.details == {"settled": True}


def test_settling_is_counted_against_the_largest_distance_after_since(tool):
    def course(time):  # from afar to rest by 3 s, then an exponential decay of 10 mm
        return np.where(time < 3.0, 1.0, np.where(time < 4.0, 0.0, 0.01 * np.exp(-4.0 * (time - 4.0))))

    found = measure("tool_settling_time", tool(course), since=4.0, threshold=0.05, last=1.0)
    assert found.value == pytest.approx(math.log(20.0) / 4.0, abs=2e-3)


def test_without_since_the_clock_starts_at_the_largest_distance(tool):
    def course(time):
        return np.where(time < 2.0, 0.0, 0.01 * np.exp(-4.0 * (time - 2.0)))

    found = measure("tool_settling_time", tool(course), threshold=0.05, last=1.0)
    assert found.value == pytest.approx(math.log(20.0) / 4.0, abs=2e-3)


@pytest.mark.parametrize("rate", [0.0, 0.1, -0.1])
def test_a_swing_that_goes_on_gives_the_time_recorded_as_a_lower_bound(tool, rate):
    found = measure("tool_settling_time", tool(pushed(rate)), since=1.0, last=1.0)
    assert found.value == pytest.approx(9.0 - 1e-3)
    assert found.at_least and found.details == {"settled": False}


def test_a_tool_that_comes_within_only_during_the_final_window_has_not_settled(tool):
    found = measure("tool_settling_time", tool(lambda t: np.where(t < 9.5, 0.01 * np.sin(ANGULAR * t), 0.0)), last=1.0)
    assert found.details == {"settled": False}


def test_a_tool_that_did_not_move_or_was_not_seen_has_no_settling_time(tool, record_bending):
    assert math.isnan(measure("tool_settling_time", tool(lambda t: 0.0 * t), since=1.0, last=1.0).value)
    assert math.isnan(measure("tool_settling_time", record_bending(still), since=1.0, last=1.0).value)
    # a rigid base has no natural period, by which to choose a window
    assert math.isnan(measure("tool_settling_time", tool(pushed(1.0)), since=1.0).value)


def swings(time):
    """Modes of amplitudes 0.3, 0.04, 0 and 0, the second at five times the frequency."""
    zero = 0.0 * time
    return np.column_stack((0.3 * np.sin(ANGULAR * time), 0.04 * np.cos(5.0 * ANGULAR * time), zero, zero))


def test_the_modal_error_is_that_of_the_norm_over_modes(record_bending):
    time = np.arange(10000) / 1000.0
    wrong = swings(time)
    wrong[:, 0] *= 1.1
    wrong[:, 1] = 0.0
    # sqrt((0.03^2 + 0.04^2) / 2) over sqrt((0.3^2 + 0.04^2) / 2), for whole periods
    expected = 0.05 / math.hypot(0.3, 0.04)
    recording = record_bending(swings, estimated_modal_position=wrong)
    assert measure("modal_rms_error", recording).value == pytest.approx(expected, rel=1e-9)
    assert measure("modal_rms_error", record_bending(swings, estimated_modal_position=swings(time))).value == 0.0


def test_modes_and_ticks_without_an_estimate_do_not_count(record_bending):
    time = np.arange(10000) / 1000.0
    estimate = 1.2 * swings(time)
    estimate[:, 1:] = np.nan
    estimate[:2000] = np.nan
    recording = record_bending(swings, estimated_modal_position=estimate)
    assert measure("modal_rms_error", recording).value == pytest.approx(0.2, rel=1e-9)
    assert math.isnan(measure("modal_rms_error", recording, before=1.9).value)
    assert math.isnan(measure("modal_rms_error", record_bending(swings)).value)
    quiet = record_bending(still, estimated_modal_position=estimate)
    assert math.isnan(measure("modal_rms_error", quiet).value)


def test_the_peak_of_a_mode_is_its_amplitude(record_bending):
    recording = record_bending(swings)
    assert measure("peak_modal_position", recording).value == pytest.approx(0.3, rel=1e-9)
    late = record_bending(lambda t: swings(t) * np.where(t < 5.0, 1.0, 0.1)[:, None])
    assert measure("peak_modal_position", late, after=5.0).value == pytest.approx(0.03, rel=1e-9)


def test_joints_are_compared_with_their_desired_positions_one_by_one(record_bending):
    desired = np.zeros((10000, 2))
    desired[5000:, 1] = -0.02
    desired[:1000] = np.nan
    recording = record_bending(still, desired_position=desired)
    assert measure("joint_tracking_error", recording).value == pytest.approx(0.02)
    assert measure("joint_tracking_error", recording, before=4.0).value == 0.0
    assert math.isnan(measure("joint_tracking_error", recording, before=0.5).value)
    assert METRICS["joint_tracking_error"].unit_for(recording, MetricOptions()) == "rad"


def test_the_error_of_the_base_is_that_of_its_elastic_energy_over_ticks_with_an_estimate(record):
    def swing(time):
        return 0.02 * np.sin(ANGULAR * time)

    time = np.arange(4000) / 1000.0
    estimate = 1.1 * swing(time)[:, None]
    estimate[:500] = np.nan
    assert measure("base_rms_error", record(swing, 4.0, estimated_deflection=estimate)).value == pytest.approx(0.1)
    assert math.isnan(measure("base_rms_error", record(swing, 4.0)).value)
    assert math.isnan(measure("base_rms_error", record(np.zeros_like, 4.0, estimated_deflection=estimate)).value)


def test_the_vibration_of_links_is_about_their_mean_in_the_window(record_bending):
    sag = lambda t: np.outer(0.3 + 0.02 * np.sin(40.0 * t) * (t < 5.0), [1.0, 0.0, 0.0, 0.0])  # noqa: E731
    recording = record_bending(sag, 10.0)
    assert measure("modal_vibration", recording, before=5.0).value == pytest.approx(0.02, rel=0.02)
    assert measure("modal_vibration", recording, after=5.1).value == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(measure("modal_vibration", recording, after=20.0).value)
