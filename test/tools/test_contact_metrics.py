"""Metrics of contact against forces and paths of known size, and what a scenario file says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.metrics.figures import compute_figures
from flexarm_tools.report.plots import run_plots

TICKS = 4000  # of 1 ms
FIGURE = 'peak: {metric: peak_base_deflection, goal: "<= 1e-5"}'


def measure(name, recording, **options):
    return METRICS[name].measure(recording, MetricOptions(**options)).value


@pytest.fixture
def pressed(record):
    """Recording of 4 s in which surfaces exert these forces (T, 3) on the tool."""

    def recording(force, **known):
        wrench = np.hstack((force, np.zeros((TICKS, 3))))
        return record(lambda t: 0.0 * t, TICKS / 1000.0, contact_wrench=wrench, **known)

    return recording


def steady(x=0.0, y=0.0, z=0.0):
    return np.tile([x, y, z], (TICKS, 1)).astype(float)


def test_the_force_error_is_the_mean_of_its_size_over_the_wanted_force(pressed):
    force = steady(x=3.0, z=20.0)
    force[::2, 2], force[1::2, 2] = 18.0, 26.0
    assert measure("contact_force_error", pressed(force), wanted=20.0) == pytest.approx((2.0 + 6.0) / 2 / 20.0)
    assert measure("mean_contact_force", pressed(force)) == pytest.approx(22.0)


def test_only_the_part_along_the_direction_counts_whatever_its_length(pressed):
    recording = pressed(steady(x=3.0, y=-4.0, z=100.0))
    along = (0.6, -0.8, 0.0)
    assert measure("mean_contact_force", recording, direction=along) == pytest.approx(5.0)
    assert measure("mean_contact_force", recording, direction=tuple(7.0 * x for x in along)) == pytest.approx(5.0)
    assert measure("contact_force_error", recording, direction=along, wanted=4.0) == pytest.approx(0.25)


def test_a_tool_that_does_not_touch_misses_the_whole_force(pressed):
    assert measure("contact_force_error", pressed(steady()), wanted=20.0) == 1.0


def test_the_peak_is_the_largest_force_with_its_friction_in_the_window(pressed):
    force = steady(z=10.0)
    force[100], force[2500] = (0.0, 0.0, 300.0), (30.0, 0.0, 40.0)
    assert measure("peak_contact_force", pressed(force)) == pytest.approx(300.0)
    assert measure("peak_contact_force", pressed(force), after=1.0) == pytest.approx(50.0)


def test_each_time_that_contact_ends_is_a_loss(pressed):
    force = steady(z=10.0)
    force[:200] = force[500:510] = force[1000] = force[3500:] = 0.0
    assert measure("contact_losses", pressed(force)) == 3.0
    assert measure("contact_losses", pressed(force), after=0.6, before=3.0) == 1.0
    assert measure("contact_losses", pressed(force), after=1.5, before=3.0) == 0.0


def test_contact_that_never_was_is_not_kept(pressed, record):
    assert math.isnan(measure("contact_losses", pressed(steady())))
    for name in ("contact_losses", "mean_contact_force", "peak_contact_force"):
        assert math.isnan(measure(name, record(lambda t: 0.0 * t, 0.1)))


@pytest.mark.parametrize("frame", ["world", "base_ft"])
def test_the_free_path_error_leaves_out_the_direction(record, frame):
    time = np.arange(TICKS) / 1000.0
    path = np.outer(time, [0.1, 0.0, 0.0])
    tool = path + np.outer(np.sin(time), [0.0, 0.0, 0.5]) + [0.0, 2e-3, 0.0]
    tool[1000, 0] += 3e-3
    place = {"tool_position": tool} if frame == "world" else {"tool_position_in_base": tool}
    recording = record(np.zeros_like, TICKS / 1000.0, reference_position=path, reference_frame=frame, **place)
    assert measure("path_error_free", recording) == pytest.approx(math.hypot(2e-3, 3e-3))
    assert measure("path_error_free", recording, after=1.5) == pytest.approx(2e-3)
    assert measure("path_error_free", recording, direction=(0.0, 1.0, 0.0)) == pytest.approx(0.5, rel=1e-4)


def test_a_path_of_its_own_is_what_counts(record):
    """Behaviors move the tool reference away from the path."""
    reference = steady(x=0.3)
    path = steady(x=0.1)
    path[:100] = np.nan
    known = {"reference_position": reference, "path_position": path, "path_frame": "world"}
    recording = record(np.zeros_like, TICKS / 1000.0, tool_position=steady(x=0.104), **known)
    assert measure("path_error_free", recording) == pytest.approx(4e-3)


def test_a_scenario_asks_for_contact_by_direction_and_wanted_force(load, pressed):
    wanted = 'held: {metric: contact_force_error, wanted: 20, direction: [0, 0, 2], after: 1.0, goal: "<= 0.1"}'
    (figure,) = compute_figures(load((FIGURE, wanted)).figures, pressed(steady(z=19.0)))
    assert (figure.value, figure.unit, figure.holds) == (pytest.approx(0.05), "1", True)
    assert figure.meaning.endswith(", after 1 s, direction 0, 0, 2, wanted 20 N")


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ("{metric: contact_force_error}", "figures.held.wanted: is missing: expected number > 0"),
        ("{metric: contact_force_error, wanted: -5}", r"figures.held.wanted: expected number > 0 \[N\], got '-5'"),
        ("{metric: mean_contact_force, direction: [0, 0]}", "figures.held.direction: expected three numbers"),
        ("{metric: mean_contact_force, direction: [0, 0, 0]}", "figures.held.direction: .* at least one is not 0"),
        ("{metric: mean_contact_force, wanted: 5}", "unknown key 'wanted'"),
    ],
)
def test_options_of_contact_that_cannot_be_are_reported(load, figure, message):
    with pytest.raises(ConfigError, match=message):
        load((FIGURE, f"held: {figure}"))


def test_an_unknown_metric_is_the_only_problem_of_its_figure(load):
    with pytest.raises(ConfigError, match="1 problem in the scenario") as refused:
        load((FIGURE, "held: {metric: contact_farce, after: 1.0}"))
    assert "metric 'contact_farce' does not exist" in str(refused.value)


def test_contact_is_drawn_where_there_is_any(load, pressed, record):
    titles = [plot.title for plot in run_plots(load(), pressed(steady(z=10.0)))]
    assert "Contact force on the tool" in titles
    for none in (pressed(steady()), record(np.zeros_like, 4.0)):
        assert "Contact force on the tool" not in [plot.title for plot in run_plots(load(), none)]
