"""Descriptions that cannot be meant are refused by name, at once and in one line."""

from __future__ import annotations

import re
import time

import pytest

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.robot.xacro_switch import NO_XACRO

LIMIT = r'(<joint name="joint1".*?<limit[^>]*)'


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [
        ('<joint name="joint1" type="[^"]*"', '<joint name="joint1" type="floating"', "'joint1'.*'floating'.*hold it"),
        ('<joint name="joint1" type="[^"]*"', '<joint name="joint1" type="planar"', "'joint1'.*'planar'.*hold it"),
        ("<elastic_joint ", "<elastic_jiont ", "no part 'elastic_jiont'; did you mean 'elastic_joint'"),
        ("<flexibility>", "<flexibilty>", "did you mean <flexibility>"),
        (r'name="base_x" stiffness="100.0"', 'name="base_x" stifness="1" stiffness="1"', "did you mean 'stiffness'"),
        (r"(<elastic_joint [^>]*/>)", r"\1\1", "'base_x' is described twice"),
        (r'<mass value="10.0"/>', '<mass value="1e200"/>', "link 'link1'.*beyond 1e"),
        (
            r'<mass value="10.0"/>',
            '<mass value="10,0"/>',
            "'10,0', expected a finite number; write spaces .* no commas",
        ),
        (r'<mass value="10.0"/>', '<mass value="$(arg m)"/>', "of xacro: name the file .urdf.xacro, or expand it"),
        (r'<mass value="10.0"/>', '<mass value="nan"/>', "link 'link1'.*expected a finite number"),
        (r'(<link name="link1">.*?)ixx="[^"]*"', r'\1ixx="9"', "link 'link1'.*are of no body"),
        (
            r'(<link name="link1">.*?)ixx="[^"]*"',
            r'\1ixx="-9"',
            "link 'link1': principal inertia -9 kg.m.2 is negative",
        ),
        (r'"joint1"', '"universe"', "universe"),
        (r'<link name="link2"', '<link name="link1"', "link 'link1' is described 2 times"),
        (r'(<joint name="joint1".*?)</joint>', r'\1<dynamics damping="-1"/></joint>', "'joint1'.*negative"),
        (LIMIT + r' velocity="[^"]*"', r'\1 velocity="-1"', "joint 'joint1'.*velocity"),
        (LIMIT + r' velocity="[^"]*"', r'\1 velocity="0"', "joint 'joint1'.*velocity"),
        (LIMIT + r' velocity="[^"]*"', r'\1 velocity="nan"', "joint 'joint1'.*velocity"),
        (LIMIT + r' effort="[^"]*"', r'\1 effort="0"', "joint 'joint1'.*effort"),
        (LIMIT + r' lower="[^"]*"', r'\1 lower="9"', "joint 'joint1': lower limit 9"),
        (LIMIT + r' lower="[^"]*"', r'\1 lower="-inf"', "'joint1'.*'-inf'.*without limits is continuous"),
        (LIMIT + r' velocity="[^"]*"', r'\1 velocity="inf"', "'joint1'.*expected a finite number; give what the drive"),
        (LIMIT.replace("joint1", "base_x") + r' lower="[^"]*"', r'\1 lower="-inf"', "'base_x'.*range of the slide"),
        (LIMIT + r' effort="[^"]*"', r"\1", "joint 'joint1': <limit> has no effort: add it"),
        (r"<limit [^>]*/>", "", "'joint1': a revolute joint needs <limit.*'joint2': .*is continuous.*'joint3': "),
        (LIMIT + r"/>", r'\1/><limit lower="0" upper="1" velocity="1" effort="1"/>', "'joint1' has several <limit>"),
        (r'type="revolute"', 'type="Revolute"', "'joint1': type 'Revolute'.*did you mean revolute.*'joint3': type"),
        (r'type="revolute"', 'type="screw"', "'joint1': type 'screw' is not supported; use revolute,"),
        (r'<parent link="base_ft"/>', "", "joint 'joint1' has no <parent>: add it"),
        (r"</inertial>", "</inertial><visual/>", "link 'link1': <visual> has no <geometry>: add it.*'link2'"),
        (r"<axis [^>]*/>", "<axis/>", "joint 'base_x': <axis> has no xyz: add it"),
        (r"<box [^>]*/>", "<capsule/>", "<geometry> holds <capsule>: write one of box, cylinder, sphere, mesh"),
        (r'<origin xyz="0 0 0"/>', '<origin quat_xyzw="0 0 0 1"/>', "'joint1': <origin> has quat_xyzw, which nothing"),
        (r"<mass [^>]*/>", "", "link 'link1': <inertial> has no <mass>: add it.*'link2'"),
        (r'<mass value="10.0"/>', '<mass value="-1"/>', "'link1': <mass value> is '-1', which is negative.*'link2'"),
        (r'effort="[^"]*"', 'effort="x"', "'joint1': <limit effort> is 'x'.*'joint2'.*'joint3'"),
    ],
)
def test_it_is_refused_by_name(planar_3r_text, pattern, replacement, said):
    changed = re.sub(pattern, replacement, planar_3r_text, flags=re.DOTALL)
    if pattern.startswith("<flexibility"):
        changed = changed.replace("</flexibility>", "</flexibilty>")
    assert changed != planar_3r_text
    with pytest.raises(RobotDescriptionError, match=said) as refused:
        parse_robot_description(changed)
    assert "\n" not in str(refused.value)


def test_a_beam_of_more_elements_than_mean_something_costs_no_time():
    from pathlib import Path

    text = load_robot_description(Path(__file__).resolve().parents[3] / "urdf" / "flexible_2r.urdf.xacro")
    changed = text.replace("<beam ", '<beam elements="5000" ', 1)
    began = time.process_time()
    with pytest.raises(RobotDescriptionError, match="elements must be <= 400"):
        parse_robot_description(changed)
    assert time.process_time() - began < 1.0


def test_xacro_is_refused_where_somebody_said_so(tmp_path, monkeypatch):
    file = tmp_path / "a.urdf.xacro"
    file.write_text('<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/></robot>')
    assert "<link" in load_robot_description(file)
    monkeypatch.setenv(NO_XACRO, "1")
    with pytest.raises(RobotDescriptionError, match="xacro, a program.*--no-xacro refuses it"):
        load_robot_description(file)


def test_a_file_without_a_robot_is_not_asked_for_its_name() -> None:
    """A maker's xacro file that defines a macro and does not call it, expanded."""
    for text in ('<robot xmlns:xacro="http://wiki.ros.org/xacro">\n</robot>', '<robot name="ur3"/>'):
        with pytest.raises(RobotDescriptionError, match="no <link>: there is no robot in it. A xacro file that only"):
            parse_robot_description(text)
