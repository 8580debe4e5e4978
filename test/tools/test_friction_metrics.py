"""Metrics of slow motion against friction: on signals of known size, and on a mass that a spring draws over a belt."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flexarm_core.errors import ConfigError
from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.metrics.figures import compute_figures
from flexarm_tools.report.comparison_plots import comparison_plots
from flexarm_tools.report.overlay_plots import Compared
from flexarm_tools.report.plots import run_plots

TICKS = 4000  # of 1 ms
TIME = np.arange(TICKS) / 1000.0
SPEED = 0.02  # [rad/s] of the reference
COUNT = 1e-5  # [rad] step of an encoder
FIGURE = 'peak: {metric: peak_base_deflection, goal: "<= 1e-5"}'


def measure(name, recording, **options):
    return METRICS[name].measure(recording, MetricOptions(**options)).value


@pytest.fixture
def slow(record):
    """Recording of 4 s: positions of the first joint (T,) and of its reference; the other two rest."""

    def recording(position, desired, **known):
        def first(values):
            return np.column_stack((values, np.zeros((TICKS, 2))))

        known.setdefault("velocity", first(np.gradient(position, TIME)))
        return record(np.zeros_like, 4.0, position=first(position), desired_position=first(desired), **known)

    return recording


def ramp(time=TIME, at=1.0, until=3.0):
    """Rest, then motion at the reference's speed, then rest."""
    return SPEED * (np.clip(time, at, until) - at)


def back_and_forth():
    """Away at constant speed, at 2 s back."""
    return SPEED * (1.5 - np.abs(np.clip(TIME, 0.5, 3.5) - 2.0))


def drawn_mass(damping):
    """Position of a mass of 1 kg that a spring of 100 N/m and a damper draw with the reference over a rough ground.

    Stiction 0.5 N, sliding 0.2 N: without a damper the mass stops and slips, as on the belt of the textbooks.
    """
    position, velocity, wanted = np.zeros(TICKS), 0.0, SPEED * TIME
    sticks, steps = True, 10
    for tick in range(1, TICKS):
        here = position[tick - 1]
        for step in range(steps):
            dt = 1e-3 / steps
            force = 100.0 * (SPEED * (TIME[tick - 1] + step * dt) - here) + damping * (SPEED - velocity)
            if sticks and abs(force) <= 0.5:
                continue
            sticks = False
            after = velocity + dt * (force - 0.2 * math.copysign(1.0, velocity or force))
            if velocity != 0.0 and after * velocity <= 0.0:
                sticks, velocity = True, 0.0
                continue
            velocity, here = after, here + dt * after
        position[tick] = here
    return position, wanted


def slips_in_closed_form():
    """Stick and slip of :func:`drawn_mass` without a damper, event by event: how often it has come to stand again.

    The mass stops exactly at the next instant at which a harmonic oscillation about the sliding force has no speed.
    """
    time, spring, stops = 0.0, 0.0, 0
    while True:
        time += (0.5 - spring) / (100.0 * SPEED)
        way = solve_ivp(
            lambda t, y: [SPEED - y[1], 100.0 * y[0] - 0.2],
            (0.0, 2.0),
            [0.005, 0.0],
            events=_standing,
            rtol=1e-10,
            atol=1e-12,
        )
        spring, duration = 100.0 * way.y_events[0][0][0], way.t_events[0][0]
        time += duration
        if time > TIME[-1]:
            return stops
        stops += 1


def _standing(t, y):
    return y[1] - (1e-9 if t == 0.0 else 0.0)


_standing.terminal, _standing.direction = True, -1


def test_a_mass_that_sticks_and_slips_is_counted_each_time_that_it_stops(slow):
    position, wanted = drawn_mass(damping=0.0)
    stops = slips_in_closed_form()
    assert stops >= 5
    # before the first slip the mass stands, which is one more
    assert measure("stick_slip_events", slow(position, wanted)) == stops + 1


def test_a_mass_that_is_drawn_with_enough_damping_moves_without_a_stop(slow):
    position, wanted = drawn_mass(damping=100.0)
    assert np.ptp(position) > 0.9 * np.ptp(wanted) - 0.01
    assert measure("stick_slip_events", slow(position, wanted), after=1.0) == 0.0


def test_a_motion_that_follows_has_no_events(slow):
    for wanted in (ramp(), back_and_forth()):
        late = np.interp(TIME - 0.05, TIME, wanted)
        assert measure("stick_slip_events", slow(late, wanted)) == 0.0


def test_a_joint_that_never_moves_sticks_in_every_stretch_of_its_reference(slow):
    still = np.zeros(TICKS)
    assert measure("stick_slip_events", slow(still, ramp())) == 1.0
    assert measure("stick_slip_events", slow(still, back_and_forth())) == 2.0


@pytest.mark.parametrize("lost", (slice(0, 1), slice(2000, 2001), slice(2000, 2050), slice(-1, None)))
def test_samples_that_nothing_answered_end_no_steady_motion(slow, lost):
    wanted = ramp()
    wanted[lost] = np.nan
    assert measure("stick_slip_events", slow(np.zeros(TICKS), wanted)) == 1.0


def test_a_joint_is_given_a_tenth_of_a_second_after_each_reversal(slow):
    wanted = back_and_forth()
    for held, events in ((0.09, 0.0), (0.2, 1.0)):
        position = np.where((TIME > 2.0) & (2.0 + held > TIME), wanted.max(), wanted)
        velocity = np.gradient(wanted, TIME) * (position == wanted)
        velocity = np.column_stack((velocity, np.zeros((TICKS, 2))))
        assert measure("stick_slip_events", slow(position, wanted, velocity=velocity)) == events


def test_a_speed_that_only_swings_is_no_stop_and_one_that_hovers_about_zero_is_one(slow):
    for depth, events in ((0.9, 0.0), (1.1, 10.0)):
        speed = SPEED * (1.0 - depth * np.sin(2.0 * np.pi * 5.0 * TIME))
        wanted = SPEED * TIME
        position = np.cumsum(speed) * 1e-3
        velocity = np.column_stack((speed, np.zeros((TICKS, 2))))
        counted = measure("stick_slip_events", slow(position, wanted, velocity=velocity), after=1.0, before=2.999)
        assert counted == events
    speed = np.where(TIME < 2.0, SPEED, SPEED * (0.05 + 0.1 * np.sin(300.0 * TIME)))
    velocity = np.column_stack((speed, np.zeros((TICKS, 2))))
    assert measure("stick_slip_events", slow(np.cumsum(speed) * 1e-3, SPEED * TIME, velocity=velocity)) == 1.0


def test_where_no_reference_moves_nothing_is_said_of_sticking(slow, record):
    assert math.isnan(measure("stick_slip_events", slow(0.0 * TIME, 0.0 * TIME)))
    assert math.isnan(measure("stick_slip_events", slow(ramp(), ramp()), after=3.1))
    for name in (
        "stick_slip_events",
        "joint_tracking_rms",
        "final_error",
        "friction_estimate_error",
        "contacts_detected",
    ):
        assert math.isnan(measure(name, record(np.zeros_like, 4.0), last=1.0))


def test_the_tracking_error_counts_from_the_first_to_the_last_motion_over_all_joints(slow):
    wanted = 0.3 + ramp()  # of which rounding makes a slope even at rest
    position = wanted + np.where((TIME >= 1.0) & (TIME <= 3.0), 3e-3, 5.0)
    assert measure("joint_tracking_rms", slow(position, wanted)) == pytest.approx(3e-3 / math.sqrt(3.0), rel=1e-2)
    assert measure("joint_tracking_rms", slow(position, wanted), after=1.5, before=2.5) == pytest.approx(
        3e-3 / math.sqrt(3.0)
    )


def test_the_final_error_is_the_largest_of_any_joint_in_the_window_in_radians_and_in_counts(slow):
    wanted = ramp()
    position = wanted - np.where(TIME > 3.8, 4 * COUNT, 9 * COUNT)
    recording = slow(position, wanted)
    assert measure("final_error", recording, last=0.1) == pytest.approx(4 * COUNT)
    assert measure("final_error", recording, last=0.5) == pytest.approx(9 * COUNT)
    assert measure("final_error_counts", recording, last=0.1, resolution=COUNT) == pytest.approx(4.0)


def test_friction_is_compared_only_while_a_joint_moves(slow):
    wanted = ramp()
    true, estimate = np.tile([4.0, 0.0, 0.0], (TICKS, 1)), np.tile([4.0, 0.0, 0.0], (TICKS, 1))
    estimate[:900] = 77.0
    estimate[1500:2500, 0] += 1.0
    recording = slow(wanted, wanted, true_friction=true, estimated_friction=estimate)
    assert measure("friction_estimate_error", recording) == pytest.approx(math.sqrt(0.5) / 4.0, rel=1e-2)
    assert measure("friction_estimate_error", recording, after=2.6) == 0.0
    estimate[1500:2500, 0] = np.nan  # where the sensor says nothing, nothing is compared
    recording = slow(wanted, wanted, true_friction=true, estimated_friction=estimate)
    assert measure("friction_estimate_error", recording) == 0.0


def test_contacts_are_counted_from_each_begin_and_timed_from_the_given_instant(record):
    touched = np.zeros(TICKS)
    touched[:10] = np.nan
    touched[2100:2300] = touched[3000:] = 1.0
    recording = record(np.zeros_like, 4.0, contact_detected=touched)
    assert measure("contacts_detected", recording) == 2.0
    assert measure("contacts_detected", recording, before=2.0) == 0.0
    assert measure("contact_detection_time", recording, after=2.0) == pytest.approx(0.1)
    assert math.isnan(measure("contact_detection_time", recording, before=2.0))


def test_a_scenario_asks_for_the_final_error_in_steps_of_its_encoders(load, slow):
    wanted = 'counts: {metric: final_error_counts, last: 0.5, resolution: 1e-5, goal: "<= 2"}'
    (figure,) = compute_figures(load((FIGURE, wanted)).figures, slow(ramp() - 1.5e-5, ramp()))
    assert (figure.value, figure.unit, figure.holds) == (pytest.approx(1.5), "1", True)
    with pytest.raises(ConfigError, match="resolution: is missing: expected number > 0"):
        load((FIGURE, "counts: {metric: final_error_counts, last: 0.5}"))


def test_friction_is_drawn_where_there_is_any_and_joints_are_compared_in_slow_motion(load, slow):
    def comparison_titles(*recordings):
        names = [str(i) for i in range(len(recordings))]
        runs = Compared(names, [load()] * len(names), recordings, range(len(names)))
        return [plot.title for plot in comparison_plots(runs)]

    true = np.tile([4.0, 1.0, 0.0], (TICKS, 1))
    stuck = slow(0.0 * TIME, ramp(), true_friction=true, effort=1.1 * true)
    free = slow(ramp(), ramp(), true_friction=true, estimated_friction=1.2 * true, effort=1.1 * true)
    assert "Joint friction (dashed: estimated)" in [plot.title for plot in run_plots(load(), free)]
    assert "Joint friction" in [plot.title for plot in run_plots(load(), stuck)]
    assert not [plot for plot in run_plots(load(), slow(ramp(), ramp())) if "friction" in plot.title]
    titles = comparison_titles(stuck, free)
    assert titles.index("Joint error") < titles.index("Slow motion of joint1 (dashed: desired)")
    assert "Velocity of joint1 (dashed: desired)" in titles and "Friction of joint1 (dashed: estimated)" in titles
    assert not [title for title in comparison_titles(slow(ramp(), ramp()), free) if "Slow motion" in title]


def test_a_step_of_the_effort_is_the_largest_of_any_joint_between_two_ticks(record):
    effort = np.zeros((TICKS, 3))
    effort[1000:, 1], effort[3000:, 2] = 4.0, -7.0
    recording = record(np.zeros_like, 4.0, effort=effort)
    assert measure("effort_step", recording) == 7.0
    assert measure("effort_step", recording, before=2.0) == 4.0
    assert measure("effort_step", recording, after=0.999, before=2.0) == 4.0
    assert measure("effort_step", recording, after=1.0, before=2.0) == 0.0
