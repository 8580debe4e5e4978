"""`flexarm plan`: what is written can be followed, what cannot be planned or used is told from one another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.planning.plan_file import load_plan
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_tools.cli import run_command

ROOT = Path(__file__).resolve().parents[2]
PLANAR = str(ROOT / "urdf" / "planar_3r.urdf.xacro")
SCENARIO = """
title: test
robot: {description: "package://flexarm/urdf/planar_3r.urdf.xacro"}
gravity: [0.0, 0.0, 0.0]
duration: 1.0
nodes: [{executable: hardware_gate}]
"""
QUICK = ("--axes", "xy", "--samples", "40", "--rounds", "0", "--duration", "4")
WAY = ("--start", "1.5", "0.2", "0", "--goal", "1.2", "0.2", "0")


def plan(*arguments: str) -> int:
    """Exit status of `flexarm plan`."""
    return run_command(["plan", *arguments])


def test_the_plan_of_a_robot_is_written_and_told(tmp_path, capsys):
    file = tmp_path / "plan.npz"
    assert plan(PLANAR, *WAY, *QUICK, "--gravity", "0", "0", "0", "--out", str(file)) == 0
    found = load_plan(file, ArmModel(load_robot_description(PLANAR)))
    assert np.allclose(found.tool_positions[[0, -1]], [[1.5, 0.2, 0.0], [1.2, 0.2, 0.0]], atol=1e-4)
    said = capsys.readouterr().out
    for text in (
        "planar_3r",
        "in 4 s",
        "kind",
        f"{found.deflection_ratio:.3g} of resolved",
        "smallest Jbar",
        str(file),
    ):
        assert text in said


def test_of_a_scenario_robot_and_gravity_count(tmp_path):
    scenario, file = tmp_path / "run.yaml", tmp_path / "plan.npz"
    scenario.write_text(SCENARIO)
    posture = ("--posture", "1.0", "-1.0", "-1.0", "--goal", "1.5", "0.2", "0")
    assert plan(str(scenario), *posture, *QUICK, "--largest-ratio", "1", "--out", str(file)) == 0
    found = load_plan(file, ArmModel(load_robot_description(PLANAR)))
    assert np.array_equal(found.positions[0], [1.0, -1.0, -1.0])


def test_no_quiet_motion_and_wrong_arguments_are_told_from_one_another(tmp_path, capsys):
    file = tmp_path / "plan.npz"

    def options(**other: str) -> list[str]:
        good = {"start": "1.5 0.2 0", "goal": "1.2 0.2 0", "axes": "xy", "samples": "40", "rounds": "0"}
        given = good | {"duration": "4", "out": str(file)} | other
        return [word for name, values in given.items() if values for word in (f"--{name}", *values.split())]

    assert plan(PLANAR, *options(duration="0.02")) == 1
    assert "faster than its limit in 0.02 s" in capsys.readouterr().err and not file.exists()
    for robot, wrong, error, message in (
        (PLANAR, options(out=str(tmp_path / "none" / "plan.npz")), ConfigError, "a folder that is there"),
        (PLANAR, options(axes="yx"), ConfigError, "axes 'yx'"),
        (PLANAR, options(axes="xyz"), ConfigError, "at most 0 can be kept quiet"),
        (PLANAR, options(select="roof"), ConfigError, "selection is roof"),
        (PLANAR, options(start="9 0 0"), InputError, "out of reach"),
        (PLANAR, options(start="", goal="1 0 0"), ConfigError, "start position or a posture of 3"),
        (str(ROOT / "urdf" / "arm_7r.urdf.xacro"), options(), ConfigError, "no elastic joint"),
    ):
        with pytest.raises(error, match=message):
            plan(robot, *wrong)
    assert not file.exists()
