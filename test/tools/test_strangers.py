"""The measure of strangers' descriptions reads what URDF readers read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("pinocchio")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmark"))
from strangers import changed_parts, difference

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description

LINK = """<link name="{}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
ARM = f"""<?xml version="1.0" encoding="utf-8"?>
<robot name="arm">
  <link name="root"/>{LINK.format("a")}{LINK.format("b")}
  <joint name="one" type="revolute"><parent link="root"/><child link="a"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="9" drake:acceleration="3"/></joint>
  <joint name="two" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><origin xyz="1 0 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="9"/><drake:rotor_inertia value="1"/></joint>
</robot>"""


def test_prefixes_that_are_not_declared_are_read(tmp_path: Path) -> None:
    """As urdfdom reads them, and flexarm; ElementTree ends with an unbound prefix."""
    file, copy = tmp_path / "arm.urdf", tmp_path / "copy.urdf"
    file.write_text(ARM)
    copy.write_text(ARM.replace("<robot ", '<robot xmlns:drake="drake" '))
    assert changed_parts(file, copy) == []
    copy.write_text(ARM.replace('rotor_inertia value="1"', 'rotor_inertia value="2"'))
    assert changed_parts(file, copy) == ["two"]
    model = ArmModel(parse_robot_description(ARM), "b")
    assert difference(file, model) < 1e-12
    copy.write_text(ARM.replace('mass value="1"', 'mass value="1.1"', 1))
    assert difference(copy, model) > 1e-3
