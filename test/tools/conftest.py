"""A scenario file to change line by line, and recordings with known content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from source_packages import SourcePackages

from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.recording.recording import Recording
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
PERIOD = 2.0  # [s] natural period of the oscillations in these recordings

SCENARIO = """\
title: A run
robot:
  description: package://flexarm/urdf/planar_3r.urdf.xacro
gravity: [0.0, 0.0, 0.0]
rate: 1000.0
duration: 6.0
plant:
  initial_position: !degrees [60, -60, -60]
nodes:
  - executable: reference_generator
    parameters: {displacement: [-0.3, 0.0, 0.0]}
  - executable: rns_vibration_controller
    parameters: {vibration_damping: false}
pushes:
  - {link: base_link, start: 1.0, duration: 0.1, force: [30.0, 0.0, 0.0]}
events:
  - {at: 3.0, node: rns_vibration_controller, set: {vibration_damping: true}}
figures:
  peak: {metric: peak_base_deflection, goal: "<= 1e-5"}
"""


class FlexarmSources(SourcePackages):
    """This repository in the place of an installed package."""

    def __init__(self) -> None:
        super().__init__({"flexarm": ROOT})

    def executables(self, package: str) -> tuple[str, ...] | None:
        known = (
            "base_wrench_torque_estimator",
            *("behavior_impedance_controller", "flexible_dynamics_controller", "flexible_dynamics_estimator"),
            "control_loop",
            "hardware_gate",
            *("ik_redundancy_solver", "reactionless_path_controller", "reference_generator"),
            *("rns_vibration_controller", "simulated_plant", "state_markers"),
        )
        return known if package == "flexarm" else None


@pytest.fixture(scope="session")
def packages() -> SourcePackages:
    return FlexarmSources()


Loader = Callable[..., Scenario]


@pytest.fixture
def load(tmp_path: Path, packages: SourcePackages) -> Loader:
    """Load the scenario above after replacing pieces of its text, given as pairs."""

    def load_changed(*changes: tuple[str, str]) -> Scenario:
        text = SCENARIO
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "run.yaml"
        path.write_text(text, encoding="utf-8")
        return load_scenario(path, packages)

    return load_changed


Recorder = Callable[..., Recording]


@pytest.fixture(scope="session")
def record(planar_3r_text: str) -> Recorder:
    """Make a recording of the planar 3R arm at 1000 Hz from a base deflection over time, and other fields."""
    description = parse_robot_description(planar_3r_text)

    def recording(deflection: Callable[[np.ndarray], np.ndarray], duration: float = 20.0, **known: object) -> Recording:
        time = np.arange(round(duration * 1000)) / 1000.0
        known.setdefault("position", np.zeros((len(time), 3)))
        return Recording.blank(description, time, PERIOD, deflection=deflection(time)[:, None], **known)

    return recording


@pytest.fixture(scope="session")
def record_bending() -> Recorder:
    """Make a recording of the arm of two flexible links at 1000 Hz: its four modes over time, and other fields."""
    description = parse_robot_description(
        load_robot_description(ROOT / "urdf" / "flexible_2r.urdf.xacro", {"modes": "2"})
    )

    def recording(modes: Callable[[np.ndarray], np.ndarray], duration: float = 10.0, **known: object) -> Recording:
        time = np.arange(round(duration * 1000)) / 1000.0
        known = {"position": np.zeros((len(time), 2)), "modal_position": modes(time), **known}
        return Recording.blank(description, time, float("nan"), **known)

    return recording
