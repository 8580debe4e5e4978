"""One process does what separate ones do: equal motions in lockstep runs of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import own_domain

from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.run.runner import run_scenario
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
