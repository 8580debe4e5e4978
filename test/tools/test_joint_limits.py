"""robot.joint_limits of a scenario, and `flexarm check --joint-limits`: one file for all nodes but the plant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from flexarm_core.errors import ConfigError
from flexarm_core.robot.load import load_robot_description
from flexarm_tools.check.check import check_robot
from flexarm_tools.run.composition import compose_simulation, compose_stages, in_one_process
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.run.launch_request import LaunchRequest, requested_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import PLANT

ROOT = Path(__file__).resolve().parents[2]
COMBINED = ROOT / "config/planar_3r/scenarios/combined.yaml"
SLOW = {"has_velocity_limits": True, "max_velocity": 0.5, "has_acceleration_limits": True, "max_acceleration": 2.0}


def limited(tmp_path, **joints):
    """A scenario in a folder of its own over combined.yaml, with limits beside it."""
    (tmp_path / "limits.yaml").write_text(yaml.safe_dump({"joint_limits": joints}), encoding="utf-8")
    path = tmp_path / "run.yaml"
    path.write_text(f"base: {COMBINED}\nrobot: {{joint_limits: limits.yaml}}\n", encoding="utf-8")
    return path


def test_one_file_narrows_the_limits_of_every_stage_and_not_of_the_plant(tmp_path):
    path = limited(tmp_path, joint2=SLOW)
    scenario, uri = load_scenario(path), (tmp_path / "limits.yaml").as_uri()
    nodes = {node.name: node.parameters for node in compose_simulation(scenario).nodes}
    assert len(nodes) > 3 and "joint_limits" not in nodes.pop(PLANT)
    assert {parameters["joint_limits"] for parameters in nodes.values()} == {uri}
    before_an_arm = compose_stages(requested_scenario(LaunchRequest(scenario=str(path), tool_frame="tool0")), False)
    assert {node.parameters["joint_limits"] for node in before_an_arm.nodes} == {uri}
    run, plain = ProcessRun(replace(scenario, duration=0.1)), ProcessRun(load_scenario(COMBINED))
    assert run.gate.limits.velocity[1] == 0.5 and plain.gate.limits.velocity[1] > 0.5
    assert run.gate.limits.acceleration[1] == 2.0
    assert run.model.velocity_limit[1] == run.stages["reference_generator"].model.velocity_limit[1] == 0.5
    assert run.plant._drives._fastest[1] == plain.model.velocity_limit[1]


def test_a_scenario_over_another_in_another_folder_keeps_its_file(tmp_path):
    below, above = tmp_path / "below", tmp_path / "above"
    below.mkdir()
    above.mkdir()
    limited(below, joint2=SLOW)
    (above / "over.yaml").write_text("base: ../below/run.yaml\ntitle: Over it\n", encoding="utf-8")
    assert load_scenario(above / "over.yaml").robot.description.joints["joint2"].velocity_limit == 0.5


def test_a_damaged_file_is_reported_with_its_place_in_the_scenario(tmp_path):
    path = limited(tmp_path, joint9=SLOW)
    with pytest.raises(ConfigError, match=r"run\.yaml:2: robot\.joint_limits: .*joint 'joint9' is unknown"):
        load_scenario(path)
    (tmp_path / "limits.yaml").unlink()
    with pytest.raises(ConfigError, match=r"robot\.joint_limits: file .* does not exist"):
        load_scenario(path)


def test_what_stages_say_of_the_arm_holds_for_their_one_process(tmp_path):
    """A parameter of every node has no prefix in control_loop: with one, nothing would read it."""
    uri, scenario = (tmp_path / "limits.yaml").as_uri(), load_scenario(limited(tmp_path, joint2=SLOW))
    scenario = replace(scenario, robot=load_scenario(COMBINED).robot)
    nodes = tuple(replace(node, parameters=node.parameters | {"joint_limits": uri}) for node in scenario.nodes)
    assert ProcessRun(replace(scenario, nodes=nodes)).gate.limits.velocity[1] == 0.5
    other = replace(nodes[0], parameters=nodes[0].parameters | {"joint_limits": ""})
    with pytest.raises(ConfigError, match="one process has one joint_limits"):
        in_one_process(replace(scenario, nodes=(other, *nodes[1:])))


def test_a_first_run_is_written_with_the_limits_and_within_them(tmp_path):
    robot = tmp_path / "arm.urdf"
    robot.write_text(load_robot_description(ROOT / "urdf/arm_6r.urdf.xacro"), encoding="utf-8")
    limits = tmp_path / "limits" / "joint limits.yaml"
    limits.parent.mkdir()
    entry = {"has_velocity_limits": True, "max_velocity": 0.2, "has_acceleration_limits": True, "max_acceleration": 1.5}
    names = ("shoulder_yaw", "shoulder_pitch", "elbow", "wrist_roll", "wrist_pitch", "tool_roll")
    limits.write_text(yaml.safe_dump({"joint_limits": dict.fromkeys(names, entry)}), encoding="utf-8")
    said, usable = check_robot(robot, write=tmp_path / "first.yaml", joint_limits=limits)
    assert usable and "0.2 rad/s, 250 N*m, 1.5 rad/s^2" in said and "max_acceleration: [1.5]" in said
    scenario = load_scenario(tmp_path / "first.yaml")
    assert scenario.robot.joint_limits is not None and scenario.robot.joint_limits.samefile(limits)
    recording = ProcessRun(scenario).run(lambda _: "")
    assert not [event for event in recording.events if event.level != "info"]  # nothing to worry a newcomer
    assert not recording.ended_early and 0.02 < np.abs(recording.velocity).max() < 0.2 * 1.02
    limits.write_text("joint_limits: 3\n", encoding="utf-8")
    said, usable = check_robot(robot, joint_limits=limits)
    assert not usable and "has no joint_limits" in said
