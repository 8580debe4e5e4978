"""Figures of runs in which some samples were not answered: those of the others, and never NaN without a reason."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.metrics.figures import Figure, parse_goal, ratio
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording, recording_shapes
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.run.session import run_loaded
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
DURATION = 0.6
# of the plant itself, at every tick
TRUE = {"time", "position", "velocity", "effort", "deflection", "deflection_rate", "modal_position", "modal_rate"}
TRUE |= {"tool_position", "tool_position_in_base", "tool_rotation", "true_friction"}
RUNS = (
    "arm_6r/scenarios/orthogonalization",
    "arm_7r/scenarios/behaviors",
    "arm_7r/scenarios/friction_torque_loop",
    "boom_7r/scenarios/sensed_both",
    "planar_3r/scenarios/reach",
)


def short(name: str) -> Scenario:
    """The first instants of a scenario."""
    scenario = load_scenario(CONFIG / f"{name}.yaml")
    return replace(scenario, mode="lockstep", duration=DURATION, events=(), figures=())


def unanswered(recording: Recording, ticks: list[int]) -> Recording:
    """The recording as if nothing had answered some ticks, and no sensor had told anything in them."""
    shapes = recording_shapes(recording.ticks, 1, 1, 1, 1)
    spoiled = {}
    for field in fields(recording):
        value = getattr(recording, field.name)
        if shapes.get(field.name, (0,))[0] == recording.ticks and value.dtype.kind == "f" and field.name not in TRUE:
            spoiled[field.name] = value.copy()
            spoiled[field.name][ticks] = np.nan
    assert {"reference_velocity", "base_wrench", "desired_position", "estimate_valid"} <= spoiled.keys()
    return replace(recording, **spoiled)


@pytest.mark.parametrize("name", RUNS, ids=lambda name: name.split("/")[-1])
def test_no_figure_is_lost_or_moved_by_samples_that_nothing_answered(name):
    whole = run_in_process(short(name), Progress("whole"))
    ticks = whole.ticks
    options = MetricOptions(last=0.2, wanted=1.0, resolution=1e-4, joint=whole.joint_names[0])
    measured = 0
    for gaps in ([0], list(range(20)), [ticks // 2], list(range(ticks // 2, ticks // 2 + 9)), [ticks - 1]):
        run = unanswered(whole, gaps)
        for metric in METRICS.values():
            before, after = (metric.measure(one, options).value for one in (whole, run))
            assert math.isfinite(before) == math.isfinite(after), (metric.name, gaps)
            if math.isfinite(before) and not metric.name.startswith(("tick_latency", "largest_condition")):
                # the sample of the largest value may be among those
                assert abs(after - before) <= 0.5 * abs(before) + 1e-9, (metric.name, gaps)
                measured += 1
    assert measured > 5 * 15


def test_a_robot_without_velocities_has_the_figures_of_one_with_them():
    """One position gives no velocity, so nothing answers the first sample."""
    scenario = short("arm_6r/scenarios/orthogonalization")
    blind = replace(scenario, plant=scenario.plant | {"sensors.joint_velocity.reported": False})
    runs = [run_in_process(one, Progress("run")) for one in (scenario, blind)]
    assert np.isnan(runs[1].reference_velocity[0]).all()
    for name in ("peak_reference_velocity", "peak_reference_acceleration", "standstill", "resolution_position_error"):
        with_them, without = (METRICS[name].measure(run, MetricOptions()).value for run in runs)
        assert without == pytest.approx(with_them, rel=0.01, abs=1e-6), name


def test_every_figure_without_a_value_says_why():
    recording = run_in_process(replace(short("planar_3r/scenarios/reach"), duration=0.02), Progress("run"))
    nothing = unanswered(recording, list(range(recording.ticks)))
    for metric in METRICS.values():
        for run in (recording, nothing):
            for options in (MetricOptions(), MetricOptions(after=1e3)):
                found = metric.measure(run, options)
                assert bool(found.details.get("reason")) != math.isfinite(found.value), metric.name


def test_a_run_that_diverged_is_none_of_which_samples_are_missing():
    recording = run_in_process(replace(short("planar_3r/scenarios/reach"), duration=0.1), Progress("run"))
    away = recording.deflection.copy()
    away[-5:] = np.nan
    found = METRICS["peak_base_deflection"].measure(replace(recording, deflection=away), MetricOptions())
    assert math.isnan(found.value) and "diverged" in found.details["reason"]


def test_a_goal_on_what_was_not_measured_fails_and_the_output_says_why(tmp_path, capsys):
    scenario = replace(
        load_scenario(CONFIG / "planar_3r/scenarios/reach.yaml"), mode="lockstep", duration=0.1, events=()
    )
    spec = next(one for one in scenario.figures if one.metric == "peak_base_deflection")
    late = replace(spec, name="late", options=MetricOptions(after=5.0), goal=parse_goal("<= 1"))
    assert run_loaded("reach", replace(scenario, figures=(late,)), "", tmp_path, False, "process") == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[0] == "FAIL" and "not measured: nothing was recorded" in line for line in lines)
    assert "nothing was recorded of it" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"reason": "nothing was recorded of it' in (tmp_path / "metrics.json").read_text(encoding="utf-8")


def test_a_ratio_of_what_was_not_measured_says_which_of_the_two_it_was():
    lost, one, none = (
        Figure("lost", math.nan, "m", details={"reason": "no base"}),
        Figure("one", 1.0, "m"),
        Figure("none", 0.0, "m"),
    )
    assert ratio("r", lost, one).details["reason"] == ratio("r", one, lost).details["reason"]
    assert ratio("r", lost, one).details["reason"] == "lost is not measured: no base"
    assert ratio("r", one, none).details["reason"] == "none is 0"
    assert ratio("r", one, one).details == {}
