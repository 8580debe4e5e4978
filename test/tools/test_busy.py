"""A machine that is too busy for real time: that run is not judged, all others are, and the exit status says it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import own_domain

from flexarm_tools.metrics.figures import Figure, parse_goal, ratio
from flexarm_tools.process.exit_status import EXIT_BUSY
from flexarm_tools.recording.recording import RunEvent
from flexarm_tools.run.session import run_file
from flexarm_tools.scenario.expected import Expected, first_words, too_busy

SCENARIO = """
title: {mode}
robot: {{description: "package://flexarm/urdf/planar_3r.urdf.xacro"}}
gravity: [0.0, 0.0, 0.0]
rate: {rate}
duration: 0.2
mode: {mode}
plant: {{initial_position: !degrees [60.0, -60.0, -60.0]}}
nodes:
  - executable: reference_generator
    parameters: {{displacement: [-0.3, 0.0, 0.0], duration: 2.0, axes: [true, true, false, false, false, false]}}
  - executable: rns_vibration_controller
    parameters: {{joint_damping: 1.0}}
  - executable: hardware_gate
figures:
  peak_effort: {{metric: peak_effort, goal: ">= 0"}}
  tick_latency_p99: {{metric: tick_latency_p99, goal: "<= 1e-6"}}
"""
STUDY = """
title: both
runs: {exact: exact.yaml, late: late.yaml}
figures:
  effort: {run: exact, figure: peak_effort}
  latency: {run: late, figure: tick_latency_p99, goal: "<= 1e-6"}
comparisons:
  - {title: both, runs: [exact, late]}
"""


@pytest.fixture(autouse=True)
def domain() -> Iterator[None]:
    """A ROS domain of its own."""
    with own_domain():
        yield


@pytest.mark.long
def test_a_run_that_no_machine_keeps_up_with_leaves_the_exact_one_valid(tmp_path: Path, capfd):
    exact = SCENARIO.format(mode="lockstep", rate=200.0).replace(
        '  tick_latency_p99: {metric: tick_latency_p99, goal: "<= 1e-6"}\n', ""
    )
    (tmp_path / "exact.yaml").write_text(exact)
    (tmp_path / "late.yaml").write_text(SCENARIO.format(mode="real_time", rate=4000.0))  # 250 us a tick
    (tmp_path / "study.yaml").write_text(STUDY)
    status = run_file(tmp_path / "study.yaml", "", tmp_path / "report")
    said = capfd.readouterr().out
    assert status == EXIT_BUSY, said
    assert "this machine was too busy: " in said  # late commands, or none for so long that the gate stopped
    assert "ok   effort" in said and "busy latency" in said and "FAIL" not in said and "void" not in said
    figures = json.loads((tmp_path / "report" / "metrics.json").read_text())["figures"]
    assert figures["effort"]["holds"] and "too busy" in figures["latency"]["busy"]


def test_what_a_late_machine_causes_is_expected_of_it_and_nothing_else(record):
    recording = record(lambda t: 0.0 * t, duration=1.0, watchdog_stops=2, lost_samples=1)
    period = recording.time[1] - recording.time[0]
    assert len(Expected().beyond(recording)) == 2 and not too_busy(recording)
    late = np.where(np.arange(recording.ticks) % 10 == 0, 3.0, 0.1) * period
    assert too_busy(replace(recording, tick_latency=late)).startswith("this machine was too busy: p99")
    assert not too_busy(replace(recording, tick_latency=0.3 * late))
    busy = replace(recording, tick_latency=late, trips=1, node_deaths=("gate",))
    assert Expected().beyond(busy) == ("died: gate", "trips of the gate: 1, expected == 0")
    blamed = RunEvent(
        0.2, "hardware_gate", "error", "tripped: no joint state for 1.02 s, as the machine is late; reset"
    )
    assert Expected().beyond(replace(busy, events=(blamed,))) == ("died: gate",)
    assert len(Expected().beyond(replace(busy, events=(blamed,), trips=2))) == 2  # the other one has another cause
    quick = replace(recording, tick_latency=0.3 * late, watchdog_stops=1)
    stopped = replace(blamed, message="controlled stop: no joint state for 0.087 s, as the machine is late")
    assert too_busy(replace(quick, events=(stopped,))) == f"this machine was too busy: {stopped.message}"
    assert not Expected().beyond(replace(quick, events=(stopped,), lost_samples=0))
    wrong = replace(blamed, message="controlled stop: joint 'a' jumped")
    assert not too_busy(replace(quick, events=(wrong,)))
    assert not too_busy(replace(quick, events=(stopped,), tick_latency=np.full_like(late, np.nan)))  # lockstep


def test_errors_that_are_expected_are_one_line_and_what_a_loop_repeats_of_its_stages_is_none(record):
    said = [RunEvent(0.1 * i, "law", "error", f"{i} mm from its path") for i in range(1, 8)]
    said += [RunEvent(event.time, "control_loop", "warn", f"law: {event.message}") for event in said]
    recording = replace(record(lambda t: 0.0 * t, duration=1.0), events=(*said, RunEvent(0.3, "gate", "warn", "late")))
    lines = first_words(recording, expected=("law",))
    assert lines == [
        "as expected, law reports errors (7), the first at 0.100 s: 1 mm from its path",
        "WARN     0.300 s  gate: late",
    ]
    lines = first_words(recording)
    assert lines[0] == "ERROR    0.100 s  law: 1 mm from its path" and len(lines) == 5
    assert lines[3].endswith("law: 4 more like these in the report")


def test_a_ratio_with_a_figure_that_is_not_judged_is_not_judged():
    bad, good = Figure("a", 2.0, "m", judged=False), Figure("b", 1.0, "m")
    found = ratio("c", bad, good, parse_goal("<= 1"))
    assert found.holds and found.goal is None and not found.judged
    assert not ratio("c", replace(bad, judged=True), good, parse_goal("<= 1")).holds
