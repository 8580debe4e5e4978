"""docs/own_robot.md with arms that nobody here prepared: the files of the page beside a bought URDF do what it says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pinocchio
import pytest
import robots
from live import own_domain

from flexarm_core import load_robot
from flexarm_tools.check.check import check_robot
from flexarm_tools.metrics.figures import compute_figures
from flexarm_tools.process.progress import Progress
from flexarm_tools.report.solids import further_solids
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "own_robot.md").read_text(encoding="utf-8")
UR10 = f"{robots.EXAMPLE_ROBOTS}/ur_description/urdf/ur10_robot.urdf"


def block(name: str) -> str:
    """Text of a file in the page: a block whose first line is a comment with the name."""
    blocks = re.findall(r"```\w+\n(.*?)```", PAGE, re.DOTALL)
    (found,) = (text for text in blocks if re.match(rf"(# |<!-- ){re.escape(name)}( -->)?\n", text))
    return found


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder with the files of the page and a UR10 as a package has it."""
    for folder in Path(pinocchio.__file__).resolve().parents:
        if (folder / UR10).is_file():
            (tmp_path / "arm.urdf").write_text((folder / UR10).read_text(encoding="utf-8"), encoding="utf-8")
            break
    else:
        pytest.skip("the UR10 comes with the package example-robot-data: pip install example-robot-data")
    for name in ("arm_on_box.urdf.xacro", "reach.yaml"):
        (tmp_path / name).write_text(block(name), encoding="utf-8")
    return tmp_path


def read_starter(text: str, path: Path, packages) -> Scenario:
    path.write_text("\n".join(line[10:] for line in text[text.index("          title: ") :].splitlines()))
    return load_scenario(path, packages)


def test_the_headings_of_the_page_are_the_steps_of_check(study):
    text, usable = check_robot(study / "arm_on_box.urdf.xacro")
    steps = re.findall(r"^ *(\d+\. [^:]+): ", text, re.MULTILINE)
    assert usable and steps == re.findall(r"^## (\d+\. .*)", PAGE, re.MULTILINE) and len(steps) == 10
    shown = re.search(r"```text\n.*?\.\.\.\n(.*?)```", PAGE, re.DOTALL)[1]
    for line in shown.splitlines():
        assert line in text.splitlines()


def test_the_bought_arm_alone_can_run_what_needs_no_elastic_base(study, packages):
    text, usable = check_robot(study / "arm.urdf")
    assert usable
    assert "rns_vibration_controller: needs an <elastic_joint>" in text
    assert "no force/torque sensor" in text and "DRIVER_OF_THE_ARM" in text
    scenario = read_starter(text, study / "arm.yaml", packages)
    assert [node.executable for node in scenario.nodes][1] == "ik_redundancy_solver"


def test_the_scenario_of_the_page_has_twenty_lines(study, packages):
    assert len(block("reach.yaml").splitlines()[1:]) == 20
    scenario = load_scenario(study / "reach.yaml", packages)
    assert [joint.name for joint in scenario.robot.description.elastic] == ["sway"]


def test_the_report_shows_the_bought_arm(study):
    """Its meshes are in the package that its copy came from."""
    said: list[str] = []
    solids = further_solids(load_robot(study / "arm.urdf"), said.append, study / "arm.urdf")
    assert said == [] and sum(len(one.faces) for found in solids.values() for one in found) > 10_000


@pytest.mark.long
def test_the_bought_arm_reaches_without_moving_its_box_and_brings_it_to_rest(study, packages, tmp_path, monkeypatch):
    scenario = load_scenario(study / "reach.yaml", packages)
    scenario = replace(scenario, plant={**scenario.plant, "lockstep_timeout": 60.0})  # however busy the machine is
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros"))
    with own_domain():
        recording = run_scenario(scenario, Progress("test"), tmp_path / "logs")
    assert recording.lost_samples == 0 and recording.lockstep_timeouts == 0 and recording.node_deaths == ()
    figures = {figure.name: figure for figure in compute_figures(scenario.figures, recording)}
    assert all(figure.holds for figure in figures.values()), {name: f.value for name, f in figures.items()}
    assert figures["sway_by_motion"].goal.text == "<= 1e-5"  # and 579e-6 m by resolved acceleration


@pytest.mark.parametrize("name", robots.INSTALLED)
def test_other_bought_arms_are_led_to_a_scenario_or_to_the_lines_that_are_missing(name, tmp_path, packages):
    try:
        urdf, tool = robots.find(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    (tmp_path / f"{name}.urdf").write_text(urdf, encoding="utf-8")
    text, usable = check_robot(tmp_path / f"{name}.urdf", tool)
    assert "ik_redundancy_solver: can run" in text
    if usable:
        assert read_starter(text, tmp_path / f"{name}.yaml", packages).robot.tool_frame == tool
    else:
        assert "add to <link name=" in text
