"""Runs in one process: the recordings of nodes, bit for bit, without a middleware."""

from __future__ import annotations

import gc
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked import Command, flexarm
from live import own_domain

from flexarm_core.errors import ConfigError
from flexarm_tools.process.exit_status import EXIT_INTERRUPTED
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording, load_recording
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.run.in_process import ProcessRun, run_in_process
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.run.session import run_file
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import PLANT, EventSpec, Scenario
from flexarm_tools.view.run_files import run_robot

CONFIG = Path(__file__).resolve().parents[2] / "config"
LAW = "rns_vibration_controller"
NAN = {"sensors.joint_position.nan_intervals": [0.1, 0.15]}
LOST = {"sensors.joint_position.dropout_intervals": [0.1, 0.15]}


@pytest.fixture(autouse=True)
def domain() -> Iterator[None]:
    """A ROS domain of its own."""
    with own_domain():
        yield


def short(name: str, duration: float = 0.2, **changes: Any) -> Scenario:
    """The first instants of a scenario."""
    scenario = replace(load_scenario(CONFIG / f"{name}.yaml"), mode="lockstep", duration=duration, figures=())
    pushes = tuple(replace(push, start=0.02) for push in scenario.pushes)
    return replace(scenario, **({"events": (), "pushes": pushes} | changes))


def differences(first: Recording, second: Recording) -> list[str]:
    """The fields that differ in a bit; the nodes' way up and the recorder's remarks are events of nodes alone."""
    found = []
    for field in fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if field.name in ("tick_latency", "events"):
            continue
        if isinstance(one, np.ndarray):
            equal = np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        else:
            equal = one == other or (one != one and other != other)
        if not equal:
            found.append(field.name)
    return found


def told(recording: Recording) -> list[tuple[float, str, str, str]]:
    """What stages and gate said once they were led."""
    sources = (LAW, "control_loop")
    events = [(e.time, e.source, e.level, e.message) for e in recording.events if e.source in sources]
    return events[next(i for i, event in enumerate(events) if event[3] == "running") :]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param("boom_7r/scenarios/inspect_and_wipe", {}, marks=pytest.mark.long),
        ("arm_7r/scenarios/friction_torque_loop", {}),
        ("planar_3r/scenarios/push_damped", {"plant": NAN}),
        ("planar_3r/scenarios/push_damped", {"plant": LOST}),
        (
            "planar_3r/scenarios/push_damped",
            {"events": (EventSpec(0.1, LAW, {"vibration_damping": False}, "", False),)},
        ),
    ],
    ids=["flagship", "friction", "not_numbers", "lost", "event"],
)
def test_a_recording_is_that_of_nodes(tmp_path, name, changes):
    scenario = short(name)
    scenario = replace(scenario, **(changes | {"plant": scenario.plant | changes.get("plant", {})}))
    here = run_in_process(scenario, Progress("here"))
    there = run_scenario(in_one_process(scenario), Progress("there"), tmp_path)
    assert differences(here, there) == []
    assert np.abs(here.effort).max() > 0.01
    if name.startswith("planar"):
        assert told(here) == told(there)
    assert here.watchdog_stops == ("plant" in changes)


def test_a_driver_without_velocities_costs_little_and_is_the_same_as_nodes(tmp_path):
    scenario = short("planar_3r/scenarios/push_damped", 0.5)
    measured = run_in_process(scenario, Progress("measured"))
    scenario = replace(scenario, plant=scenario.plant | {"sensors.joint_velocity.reported": False})
    here = run_in_process(scenario, Progress("here"))
    there = run_scenario(in_one_process(scenario), Progress("there"), tmp_path)
    assert differences(here, there) == [] and here.watchdog_stops == 0
    assert np.abs(here.position - measured.position).max() < 1e-3
    swing = [np.abs(one.deflection).max() for one in (here, measured)]
    assert swing[0] < 1.1 * swing[1]


def test_a_gate_holds_a_bending_arm_whose_gains_do_not_bear_the_delay_of_differentiation():
    scenario = short("flexible_2r/scenarios/damped", 0.6)
    scenario = replace(scenario, plant=scenario.plant | {"sensors.joint_velocity.reported": False})
    run = run_in_process(scenario, Progress("held"))
    assert any("a delay of 2 ms" in event.message for event in run.events)
    assert np.abs(run.velocity).max() < 0.05 and np.abs(run.effort).max() < 5.0


@pytest.mark.parametrize("late", (0.002, 0.004))
def test_an_arm_that_bends_is_not_thrown_by_velocities_that_are_late_and_nobody_knows(late):
    """Its law is not stable with them: 12 times the limit where the gate believed them."""
    scenario = short("flexible_2r/scenarios/damped", 0.6)
    law = next(node for node in scenario.nodes if node.executable == "flexible_dynamics_controller")
    blind = replace(law, parameters=dict(law.parameters) | {"check_gains": False})
    nodes = tuple(blind if node is law else node for node in scenario.nodes)
    run = run_in_process(
        replace(scenario, plant=scenario.plant | {"sensors.joint_velocity.delay": late}, nodes=nodes), Progress("late")
    )
    limits = [scenario.true_robot.description.joints[name].velocity_limit for name in run.joint_names]
    assert (np.abs(run.velocity) / limits).max() < 1.1
    assert any("older than the positions beside them" in event.message for event in run.events)


def test_the_command_does_the_same_to_the_last_bit(tmp_path):
    """More threads of linear algebra than the nodes have would add in another order."""
    file = tmp_path / "damped.yaml"
    text = (CONFIG / "flexible_2r" / "scenarios" / "damped.yaml").read_text(encoding="utf-8")
    text = re.sub(
        r"figures:(.|\n)*", "", text.replace("duration: 3.2", "duration: 0.3").replace("start: 0.2", "start: 0.0")
    )
    file.write_text(text, encoding="utf-8")
    found = []
    for engine in ("process", "nodes"):
        command = ["run", str(file), "--engine", engine, "--report", engine]
        if engine == "process":  # started anew, as it decides itself how many threads there are
            python = [sys.executable, "-m", "flexarm_tools.cli", *command]
            done = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        else:
            done = flexarm(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (tmp_path / engine / "report.html").stat().st_size > 100_000
        found.append(load_recording(tmp_path / engine / "recordings" / "damped.npz"))
        robot, tool = run_robot(tmp_path / engine / "recordings" / "damped.npz", None, {})  # as `flexarm view` does
        assert (robot.name, tool) == ("flexible_2r", "tool0")
    assert np.abs(found[0].modal_position).max() > 0.0 and differences(*found) == []


@pytest.mark.long
def test_a_demo_runs_its_first_scenario_as_nodes_and_the_others_here_if_they_can(tmp_path):
    base = CONFIG / "planar_3r" / "scenarios" / "push_damped.yaml"
    more = {"first": "", "second": "", "alive": "mode: real_time\n"}
    for name, text in more.items():
        given = f"base: {base}\nduration: 0.2\nevents: ~\npushes: ~\nfigures: {{settling_periods: ~}}\n{text}"
        (tmp_path / f"{name}.yaml").write_text(given, encoding="utf-8")
    runs = "".join(f"  {name}: {name}.yaml\n" for name in more)
    study = tmp_path / "study.yaml"
    study.write_text(f"title: Three\nruns:\n{runs}figures:\n  peak: {{run: first, figure: peak_base_deflection}}\n")
    run_file(study, "", tmp_path / "report", engine="first")  # a busy machine may fail what runs in real time
    logs = (tmp_path / "report" / "logs").glob("*/*.log")  # of nodes
    assert {path.parent.name for path in logs} == {"alive", "first"}
    one, other = (load_recording(tmp_path / "report" / "recordings" / f"{name}.npz") for name in ("first", "second"))
    assert other.ticks == 200 and np.allclose(one.position, other.position, rtol=0.0, atol=1e-12)


def test_who_breaks_a_run_off_keeps_what_was_recorded(tmp_path):
    command = ["run", str(CONFIG / "planar_3r" / "scenarios" / "combined.yaml")]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": tmp_path}
    with Command([*command, "--engine", "process"], **options) as run:
        for line in run.stdout:
            if "3.00 / 12 s" in line:
                run.send_signal(signal.SIGINT)
        assert run.wait(60) == EXIT_INTERRUPTED
    recording = load_recording(tmp_path / "flexarm_report" / "combined" / "recordings" / "combined.npz")
    assert 3000 <= recording.ticks < 12000 and recording.ended_early == "interrupted by SIGINT"
    assert (tmp_path / "flexarm_report" / "combined" / "report.html").is_file()


@pytest.mark.parametrize("begun", [False, True])
def test_garbage_is_not_sought_in_what_was_loaded_before_a_run_and_in_all_of_it_afterwards(begun):
    kept, during = gc.get_freeze_count(), []
    gc.unfreeze()
    try:
        if begun:
            gc.freeze()
        before = gc.get_freeze_count()
        run = ProcessRun(short("planar_3r/scenarios/push_damped"))
        looks = count()
        run.run(lambda _: "" if next(looks) % 50 else during.append(gc.get_freeze_count()) or "")  # which takes long
        assert len(during) >= 4 and min(during) > 0 and gc.isenabled()
        assert (gc.get_freeze_count() > 0) == (before > 0) == begun
    finally:
        (gc.freeze if kept else gc.unfreeze)()


def test_what_needs_nodes_is_refused_with_the_way_that_can():
    scenario = short("planar_3r/scenarios/push_damped")
    for change, words in (
        ({"mode": "real_time"}, "--lockstep, or --engine nodes"),
        ({"events": (EventSpec(0.1, LAW, {}, "", True),)}, "needs its own process"),
        ({"events": (EventSpec(0.1, PLANT, {}, "deactivate", False),)}, "--engine nodes"),
    ):
        with pytest.raises(ConfigError, match=words):
            run_in_process(replace(scenario, **change), Progress("refused"))


def test_an_event_that_a_node_would_refuse_ends_the_run_and_is_said():
    event = EventSpec(0.1, LAW, {"base_state_source": "none"}, "", False)
    recording = run_in_process(short("planar_3r/scenarios/push_damped", events=(event,)), Progress("refused"))
    assert "can only change while the node is not configured" in recording.ended_early
    assert recording.ticks == 100


def test_noise_of_the_first_base_rate_is_no_force_on_the_base():
    """Differentiated over two samples, it is 35 times that of a sensor; taken for a force, it moved the base."""
    scenario = load_scenario(CONFIG / "planar_3r" / "scenarios" / "reach.yaml")
    blind = scenario.plant | {"sensors.joint_velocity.reported": False}
    run = run_in_process(replace(scenario, plant=blind, duration=0.5, events=()), Progress(""))
    assert np.abs(run.deflection).max() < 1e-4
