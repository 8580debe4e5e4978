"""What a robot_description says, and what is said when it is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.robot.xml_reader import with_prefixes


def test_planar_3r_has_the_papers_numbers(planar_3r_text):
    description = parse_robot_description(planar_3r_text)
    assert description.actuated == ("joint1", "joint2", "joint3")
    (base,) = description.elastic
    assert (base.name, base.stiffness, base.damping) == ("base_x", 100.0, 0.1)
    assert description.links["base_link"].mass == 1.0
    for name in ("link1", "link2", "link3"):
        assert description.links[name].mass == 10.0
        assert np.allclose(description.links[name].center_of_mass, [0.5, 0.0, 0.0])
    assert description.tool_frame() == "tool0"
    assert description.base_frame == "base_ft"
    assert description.force_torque_sensors["base_ft_sensor"].frame == "base_ft"


def test_trep_has_the_papers_numbers(trep_text):
    description = parse_robot_description(trep_text)
    assert description.elastic[0].stiffness == 77.9218
    assert [description.links[name].mass for name in ("base_link", "link1", "link2")] == [0.795, 0.310, 0.120]
    assert description.links["link1"].center_of_mass[0] == 0.096
    assert description.links["link2"].center_of_mass[0] == 0.090
    assert description.joints["joint2"].kind == "continuous"


def _changed(text: str, pattern: str, replacement: str) -> str:
    changed = re.sub(pattern, replacement, text, count=1, flags=re.DOTALL)
    assert changed != text
    return changed


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [
        (r'(<link name="link2">.*?)<inertial>.*?</inertial>', r"\1", "joint 'joint2'.*'link2'.*no <inertial>"),
        (r'name="base_x" stiffness', 'name="base_z" stiffness', "'base_z' does not exist.*base_x"),
        (r'stiffness="100.0"', 'stiffness="soft"', "stiffness is 'soft'"),
        (r'stiffness="100.0"', "", "stiffness is 'None', expected a number"),
        (r'stiffness="100.0"', 'stiffness="-1"', "base_x.*stiffness >= 0"),
        (r'name="base_x" stiffness', 'name="joint3" stiffness', "joint3.*elastic.*command interface"),
        (r'type="revolute"', 'type="floating"', "'joint1'.*'floating' is not supported"),
        (r'<child link="link3"/>', '<child link="link7"/>', "link 'link7' does not exist: did you mean 'link\\d'"),
        (r'<child link="link3"/>', '<child link="head"/>', "'head' does not exist: add <link name=\"head\"/> with its"),
        (r'<mass value="10.0"/>', '<mass value="-3"/>', "link 'link1': <mass value> is '-3', which is negative"),
        (r"<param name=\"frame_id\">base_ft<", '<param name="frame_id">nowhere<', "'nowhere' is not a link"),
        (r"</robot>", "", "not XML"),
    ],
)
def test_a_wrong_description_is_refused_and_the_joint_or_link_is_named(planar_3r_text, pattern, replacement, said):
    with pytest.raises(RobotDescriptionError, match=re.compile(said, re.DOTALL)):
        parse_robot_description(_changed(planar_3r_text, pattern, replacement))


def test_a_prefix_that_is_not_declared_is_read_as_urdf_readers_do(planar_3r_text):
    limit = '<limit drake:acceleration="2" '
    text = _changed(planar_3r_text, "<limit ", limit)
    text = _changed(text, "</robot>", "<gz:plugin gz:at=''/><!-- at 12:30 --></robot>")
    read, plain = parse_robot_description(text), parse_robot_description(planar_3r_text)
    assert {name: joint.effort_limit for name, joint in read.joints.items()} == {
        name: joint.effort_limit for name, joint in plain.joints.items()
    }
    declared = _changed(text, "<robot ", '<robot xmlns:drake="http://drake.mit.edu" xmlns:gz="gz" ')
    assert with_prefixes(declared) == declared
    assert with_prefixes("\n" + _changed(declared, "<robot ", '<robot xmlns="http://drake.mit.edu" ')) == declared


def test_an_elastic_joint_outboard_of_an_actuated_one_is_refused(planar_3r_text):
    text = _changed(planar_3r_text, r'<joint name="joint3">\s*<command.*?</joint>', "")
    text = _changed(text, "</flexibility>", '<elastic_joint name="joint3" stiffness="5"/></flexibility>')
    with pytest.raises(RobotDescriptionError, match="'joint3' lies outboard of actuated joint 'joint2'"):
        parse_robot_description(text)


def test_a_joint_that_nobody_moves_is_refused(planar_3r_text):
    text = _changed(planar_3r_text, r'<joint name="joint3">\s*<command.*?</joint>', "")
    with pytest.raises(RobotDescriptionError, match="'tool0' is moved by joints outside of the arm .joint3."):
        parse_robot_description(text).tool_frame()
    text = _changed(planar_3r_text, r'<joint name="joint2">\s*<command.*?</joint>', "")
    with pytest.raises(RobotDescriptionError, match="'joint2' moves joints of the arm but is neither actuated"):
        parse_robot_description(text)


def test_an_unknown_tool_frame_is_refused_with_the_list_of_links(planar_3r_text):
    with pytest.raises(RobotDescriptionError, match="'gripper' is not a link.*tool0"):
        parse_robot_description(planar_3r_text).tool_frame("gripper")


def test_a_missing_file_and_a_broken_xacro_are_reported(tmp_path):
    with pytest.raises(RobotDescriptionError, match="does not exist"):
        load_robot_description(tmp_path / "none.urdf")
    with pytest.raises(RobotDescriptionError, match="is a folder or a device, not a file"):
        load_robot_description(tmp_path)
    broken = tmp_path / "broken.urdf.xacro"
    broken.write_text('<robot name="a" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:nothing/></robot>')
    with pytest.raises(RobotDescriptionError, match="xacro cannot expand.*nothing"):
        load_robot_description(broken)
