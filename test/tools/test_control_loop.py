"""One process does what separate ones do: equal motions in lockstep runs of both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import own_domain

from flexarm_tools.process.exit_status import EXIT_FAILED
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording, load_recording
from flexarm_tools.run import session
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.run.session import run_file
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import EventSpec, NodeSpec, Scenario

ROUNDED = 1e-11  # of the largest value: a message carries a rotation as a quaternion, other digits grow along a path
CONFIG = Path(__file__).resolve().parents[2] / "config"
SAME = ("position", "velocity", "effort", "deflection", "base_wrench")  # of the plant
LED = ("reference_effort", "reference_position", "coupling_momentum")  # of the stages
FRICTION = ("reference_friction", "estimated_friction", "estimated_torque", "correction_weight")
TORQUE_LOOP = NodeSpec(
    "flexarm",
    "base_wrench_torque_estimator",
    "base_wrench_torque_estimator",
    {"base_motion": "joint_states", "rate": 1000.0, "torque_bandwidth": 100.0, "sensor_wait": 1.0},
    {},
)


@pytest.fixture(autouse=True)
def domain() -> Iterator[None]:
    """A ROS domain of its own."""
    with own_domain():
        yield


def both(scenario: Scenario, folder: Path) -> tuple[Recording, Recording]:
    """The recordings of separate processes and of one."""
    runs = (scenario, replace(in_one_process(scenario), figures=()))
    first, second = (run_scenario(run, Progress("test"), folder / str(k)) for k, run in enumerate(runs))
    for recording in (first, second):
        assert (recording.lost_samples, recording.lockstep_timeouts, recording.watchdog_stops) == (0, 0, 0)
        assert [event.message for event in recording.events if "missing" in event.message] == []  # a sensor's reading
    return first, second


def same(first: Recording, second: Recording, *names: str, rounded: float = 0.0) -> None:
    """Fields are recorded, and equal bit for bit, or but for a share of their largest value."""
    for name in names:
        one, other = getattr(first, name), getattr(second, name)
        assert np.isfinite(one).any(), f"{name} was not recorded"
        assert np.array_equal(np.isnan(one), np.isnan(other)), f"{name} differs"
        apart = float(np.nanmax(np.abs(one - other)) / np.nanmax(np.abs(one)))
        assert apart <= rounded, f"{name} differs by {apart:.2g} of its largest value"


@pytest.mark.long
def test_a_chain_with_the_torque_loop_behind_the_vibration_controller_is_the_same_in_one_process_as_in_four(tmp_path):
    scenario = load_scenario(CONFIG / "planar_3r" / "scenarios" / "combined.yaml")
    plant = {**scenario.plant, "friction.coulomb": [1.0], "friction.stribeck_velocity": [0.01]}
    nodes = (*scenario.nodes[:-1], TORQUE_LOOP, scenario.nodes[-1])
    first, second = both(replace(scenario, duration=0.4, plant=plant, nodes=nodes, pushes=()), tmp_path)
    same(first, second, *SAME, *LED, *FRICTION)
    assert np.abs(first.reference_friction).max() > 0.5
    assert np.abs(first.effort).max() > 0.1


def test_behaviors_and_every_stage_behind_them_are_the_same_too_and_retuned_on_the_way(tmp_path):
    scenario = load_scenario(CONFIG / "boom_7r" / "scenarios" / "inspect_and_wipe.yaml")
    servo = NodeSpec(
        "flexarm", "flexible_dynamics_controller", "flexible_dynamics_controller", {"rate": scenario.rate}, {}
    )
    nodes = [replace(node, remappings={}) for node in scenario.nodes]
    place = [node.executable for node in nodes].index("base_wrench_torque_estimator")
    nodes.insert(place, servo)
    behaviors = "behavior_impedance_controller"
    nodes = [
        replace(node, parameters={**node.parameters, "reach.start": 0.0}) if node.executable == behaviors else node
        for node in nodes
    ]
    event = EventSpec(0.1, behaviors, {"behaviors": ["reach", "press"], "reach.max_linear_velocity": 0.1}, "", False)
    short = replace(scenario, duration=0.2, nodes=tuple(nodes), pushes=(), events=(event,))
    first, second = both(short, tmp_path)
    same(first, second, *SAME, *LED, *FRICTION, "path_position", "estimated_deflection")
    assert np.abs(first.effort).max() > 1.0


def test_a_reactionless_path_is_the_same_too(tmp_path):
    scenario = load_scenario(CONFIG / "trep" / "scenarios" / "fig11_fast.yaml")
    first, second = both(replace(scenario, duration=0.4, events=()), tmp_path)
    same(first, second, "position", "velocity", "deflection", "desired_position", "coupling_momentum")
    assert np.abs(first.velocity).max() > 0.01


def test_a_tool_reference_differs_by_the_rounding_of_its_message(tmp_path):
    scenario = load_scenario(CONFIG / "arm_6r" / "scenarios" / "damped_least_squares.yaml")
    first, second = both(replace(scenario, duration=0.5, events=()), tmp_path)
    same(first, second, "position", "velocity", "effort", "reference_position", rounded=ROUNDED)
    assert np.abs(first.velocity).max() > 0.01


def test_a_law_that_gives_up_ends_both_runs_alike(tmp_path, monkeypatch):
    """The same events of the stage, the same verdict and the same exit status, in one process as in three."""
    law = "rns_vibration_controller"
    text = (CONFIG / "planar_3r" / "scenarios" / "combined.yaml").read_text(encoding="utf-8")
    text = re.sub(r"duration: 12.0 .*", "duration: 0.6", text).replace("start: 1.0", "start: 0.1")
    text = re.sub(r"figures:(.|\n)*", "", text).replace("damping_ratio: 0.7", "largest_error: 1.0e-6")
    found, judged_anew = [], []
    for composed in (False, True):
        file, folder = tmp_path / f"{composed}.yaml", tmp_path / str(composed)
        given = f"{text}\ncomposed: {str(composed).lower()}\n"
        file.write_text(given, encoding="utf-8")
        status = run_file(file, "", folder)
        recording = load_recording(folder / "recordings" / f"{composed}.npz")
        events = recording.events
        errors = [(event.source, event.message) for event in events if event.level == "error"]
        warned = any(event.source == law and event.level == "warn" for event in events)
        verdict = json.loads((folder / "metrics.json").read_text(encoding="utf-8")).get("unexpected")
        found.append((status, errors, warned, [line.split(": ", 1)[1] for line in verdict or ()]))
        with monkeypatch.context() as patch:
            patch.setattr(session, "run_scenario", lambda *_, recording=recording: recording)
            file.write_text(f"{given}expect: {{errors: [{law}]}}\n", encoding="utf-8")
            status = run_file(file, "", folder)
        verdict = json.loads((folder / "metrics.json").read_text(encoding="utf-8")).get("unexpected")
        judged_anew.append((status, verdict or []))
    assert found[0] == found[1]
    status, errors, warned, verdict = found[0]
    assert [source for source, _ in errors] == [law] and "gave up" in errors[0][1] and warned
    assert (status, verdict) == (EXIT_FAILED, [f"errors of {law}"]) and judged_anew == [(0, [])] * 2
