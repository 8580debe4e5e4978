"""A stage of another package, the tutorial's: built by colcon, run alone and in one process, wired and recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import own_domain
from scipy.signal import bilinear, lfilter

from flexarm_core.errors import ConfigError
from flexarm_nodes.docs.parameters import markdown
from flexarm_nodes.registry import added_stages, parameters_of
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.composition import compose_simulation, in_one_process, stage_nodes
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import NodeSpec

PACKAGE = Path(__file__).resolve().parents[2] / "docs" / "notch_filter"
NAME = "notch_filter"
BROKEN = """
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.stage.kind import StageKind
GATE = StageKind("hardware_gate", "broken", (), None)
BOUNDS = StageKind("bounds", "broken", (Parameter("gain", "double", -1.0, "gain", "", 0.0),), None)
"""


@pytest.fixture(name="prefix", scope="module")
def _prefix(tmp_path_factory) -> Path:
    """Where colcon installs the package."""
    space = tmp_path_factory.mktemp("space")
    shutil.copytree(PACKAGE, space / "src")
    colcon = [sys.executable, "-m", "colcon", "build", "--packages-select", NAME]
    subprocess.run(colcon, cwd=space, check=True, capture_output=True)
    return space / "install" / NAME


@pytest.fixture(name="installed")
def _installed(prefix, monkeypatch) -> Iterator[None]:
    """The package in the environment, as its setup.bash makes it known; afterwards nothing is left of it."""
    site = str(next(prefix.glob("lib/python*/site-packages")))
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{prefix}{os.pathsep}{os.environ['AMENT_PREFIX_PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(site)
    added_stages.cache_clear()
    with own_domain():
        yield
    added_stages.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


@pytest.mark.long
@pytest.mark.usefixtures("installed")
def test_it_runs_alone_and_in_one_process_alike_and_filters_as_another_library_does(tmp_path):
    scenario = load_scenario(PACKAGE / "scenario.yaml")
    composed = in_one_process(scenario)
    assert [node.executable for node in composed.nodes] == ["control_loop"]
    runs = [run_scenario(scenario, Progress("test"), tmp_path), run_in_process(scenario, Progress("test"))]
    for run in runs:
        assert (run.lost_samples, run.lockstep_timeouts, run.watchdog_stops) == (0, 0, 0)
    one, other = runs
    assert np.isfinite(one.reference_velocity).all()
    assert np.array_equal(one.reference_velocity, other.reference_velocity)
    assert np.array_equal(one.position, other.position)

    k = np.pi * 2.0 / 250.0
    w = 2.0 * 250.0 * np.tan(k)
    b, a = bilinear([1.0, 0.0, w * w], [1.0, 1.4 * w, w * w], 250.0)
    s = np.clip(one.time, 0.0, 1.0)
    for joint, way in ((0, 0.3), (2, -0.2)):
        given = way * 30.0 * s**2 * (1.0 - s) ** 2  # [rad/s] of the quintic motion of 1 s
        filtered = lfilter(b, a, given)
        assert np.abs(one.reference_velocity[:, joint] - filtered).max() < 0.02 * np.abs(given).max()
        assert np.abs(filtered - given).max() > 0.2 * np.abs(given).max()


@pytest.mark.usefixtures("installed")
def test_it_is_known_to_the_wiring_the_parameters_and_the_documentation():
    assert stage_nodes([NAME]) == (NodeSpec(NAME, NAME, NAME, {}, {}),)
    assert [row.name for row in parameters_of(NAME)] == ["frequency", "damping", "rate"]
    nodes = {node.name: node for node in compose_simulation(load_scenario(PACKAGE / "scenario.yaml")).nodes}
    assert nodes[NAME].parameters["rate"] == 250.0
    scenario = load_scenario(PACKAGE / "scenario.yaml")
    first, own, gate = scenario.nodes
    with pytest.raises(ConfigError, match="node 'notch_filter' leads by JointReference .* which nobody reads"):
        compose_simulation(replace(scenario, nodes=(own, first, gate)))
    page = markdown({NAME: parameters_of(NAME)}, "# Parameters\n")
    assert "| `frequency` | double | `5.0` | Hz |" in page


@pytest.mark.usefixtures("installed")
def test_what_it_refuses_is_said_before_anything_starts():
    scenario = load_scenario(PACKAGE / "scenario.yaml")
    first, own, gate = scenario.nodes
    wrong = replace(own, parameters={"frequency": 200.0})
    with pytest.raises(ConfigError, match="frequency must be below half the rate, got 200"):  # that of the run: 250 Hz
        compose_simulation(replace(scenario, nodes=(first, wrong, gate)))
    fast = replace(scenario, rate=1000.0, nodes=(first, replace(own, parameters={"frequency": 300.0}), gate))
    assert compose_simulation(fast).nodes[2].parameters["rate"] == 1000.0


def test_one_that_cannot_be_used_is_named_and_harms_nothing(tmp_path, monkeypatch):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    rows = "missing = nowhere.stage:KIND\nwrong = math:pi\nhardware_gate = broken:GATE\nbounds = broken:BOUNDS\n"
    (info / "entry_points.txt").write_text(f"[flexarm.stages]\n{rows}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    added_stages.cache_clear()
    kinds, faults = added_stages()
    added_stages.cache_clear()
    assert not kinds
    for said, why in zip(
        sorted(faults),
        (
            "stage 'bounds' of broken:BOUNDS cannot be loaded: ConfigError: gain must lie in",
            "stage 'hardware_gate' of broken:GATE has the name of a node of flexarm",
            "stage 'missing' of nowhere.stage:KIND cannot be loaded: ModuleNotFoundError",
            "stage 'wrong' of math:pi is no flexarm StageKind",
        ),
        strict=True,
    ):
        assert said.startswith(why)


def test_it_is_short():
    assert len((PACKAGE / NAME / "stage.py").read_text(encoding="utf-8").splitlines()) < 60
