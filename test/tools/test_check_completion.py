"""What `flexarm check --write` assumes where a description holds placeholders: each kind on a small arm."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import yaml

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.dynamics_check import impossible_inertia
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.check import first_run
from flexarm_tools.check.check import check_robot
from flexarm_tools.check.completion import complete
from flexarm_tools.check.dry_run import dry_run
from flexarm_tools.scenario.file import load_scenario

INERTIAL = """<inertial><origin xyz="0 0 0.15"/><mass value="2"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial>"""
LIMIT = '<limit lower="-2" upper="2" velocity="2" effort="60"/>'
AXES = ("0 0 1", "0 1 0", "0 1 0")


def arm(limits=(LIMIT, LIMIT, LIMIT), inertials=(INERTIAL, INERTIAL, INERTIAL), name=' name="small"', more="") -> str:
    """Three joints, 0.3 m apart."""
    parts = ['<link name="base"/>']
    for i in range(3):
        parent = f"l{i}" if i else "base"
        parts.append(f'<link name="l{i + 1}">{inertials[i]}</link>')
        parts.append(
            f'<joint name="j{i + 1}" type="revolute"><parent link="{parent}"/><child link="l{i + 1}"/>'
            f'<origin xyz="0 0 0.3"/><axis xyz="{AXES[i]}"/>{limits[i]}</joint>'
        )
    tool = '<link name="tool0"/><joint name="t" type="fixed"><parent link="l3"/><child link="tool0"/>'
    return f'<robot{name}>{"".join(parts)}{tool}<origin xyz="0 0 0.3"/></joint>{more}</robot>'


def finger(name: str, mimic: str = "") -> str:
    """A finger on the last link, which may follow another."""
    return (
        f'<link name="{name}_link">{INERTIAL}</link><joint name="{name}" type="prismatic"><parent link="l3"/>'
        f'<child link="{name}_link"/><axis xyz="1 0 0"/><limit lower="0" upper="0.1" velocity="1" effort="1"/>'
        f"{mimic}</joint>"
    )


NO_BODY = INERTIAL.replace('izz="0.004"', 'izz="0.05"')
POINT = '<inertial><mass value="0.2"/></inertial>'
WIDE = NO_BODY.replace("0.05", "0.9")
BOX = f'<link name="box">{WIDE}</link><joint name="b" type="fixed"><parent link="l3"/><child link="box"/></joint>'
FINGERS = finger("left_a") + finger("left_b", '<mimic joint="a"/>')
CASES = {
    "no speed": (
        arm((LIMIT.replace('velocity="2"', 'velocity="0"'), LIMIT, LIMIT)),
        ["'j1' has a velocity limit of 0"],
    ),
    "no effort": (arm((LIMIT, LIMIT.replace('"60"', '"0"'), LIMIT)), ["'j2' has an effort limit of 0"]),
    "no range": (arm(('<limit velocity="2" effort="60"/>', LIMIT, LIMIT)), ["'j1' has no position limits"]),
    "zeros": (
        arm(3 * ('<limit lower="0" upper="0" velocity="0" effort="0"/>',)),
        [f"'j{i}' has {what}" for i in (1, 2, 3) for what in ("limits from", "a velocity", "an effort")],
    ),
    "no velocity and no effort": (
        arm(3 * ('<limit lower="-2" upper="2"/>',)),
        [f"'j{i}' has no {what} limit: it is" for i in (1, 2, 3) for what in ("velocity", "effort")],
    ),
    "no limit": (
        arm((LIMIT, "", LIMIT)),
        [f"'j2' has no {what}" for what in ("position limits", "velocity limit", "effort limit")],
    ),
    "no limit of a continuous joint": (
        arm(("", LIMIT, LIMIT)).replace("revolute", "continuous", 1),
        [f"'j1' has no {what} limit" for what in ("velocity", "effort")],
    ),
    "no effort of a finger": (
        arm(more=finger("f").replace(' effort="1"', "")),
        ["'f' has no effort limit: not of the arm, it has 0"],
    ),
    "no masses": (arm(inertials=("", "", "")), [f"link 'l{i}' has no mass" for i in (1, 2, 3)]),
    "virtual link": (arm(inertials=("", INERTIAL, INERTIAL)), ["link 'l1' has no mass: it is 0.04 kg, a ball of 1 %"]),
    "of no body": (arm(inertials=(INERTIAL, INERTIAL, NO_BODY)), ["link 'l3': principal inertias"]),
    "of no body, fixed": (
        arm(more=BOX),
        ["link 'box': principal inertias 0.02, 0.02, 0.9 kg"],
    ),
    "honey": (
        arm((LIMIT, LIMIT, LIMIT + '<dynamics damping="1000"/>')),
        ["'j3' moves next to no inertia for its damping: its rotor has 1 kg*m^2"],
    ),
    "no name": (arm(name=""), ["the robot has no name: it is 'robot'"]),
    "prefix": (arm(more=FINGERS), ["'left_b' mimics 'a', which does not exist: 'left_a' is meant"]),
}


RUN_AS_WRITTEN = ("zeros", "of no body", "prefix")


@pytest.mark.parametrize("case", CASES)
def test_what_is_missing_is_assumed_by_name_and_the_arm_runs(tmp_path, case):
    text, named = CASES[case]
    path, study, copy = tmp_path / "robot.urdf", tmp_path / "study.yaml", tmp_path / "study_robot.urdf"
    path.write_text(text)
    said, usable = check_robot(path, write=study)
    assert usable and copy.exists() and path.read_text() == text
    lines = [line for line in said.splitlines() if line.startswith("  assumed: ")]
    remarks = [line for line in study.read_text().splitlines() if line.startswith("# assumed: ")]
    assert len(lines) == len(remarks) == len(named)
    for words in named:
        for written in (*[line for line in lines if words in line][:1], study.read_text(), copy.read_text()):
            assert words in written
        assert sum(words in line for line in lines) == 1
    scenario = load_scenario(study)
    assert yaml.safe_load(study.read_text())["robot"]["description"] == "study_robot.urdf"
    if case in RUN_AS_WRITTEN:  # the check itself has run each of them
        assert dry_run(scenario).failure == ""
    # completed descriptions have nothing left to complete
    assert complete(copy.read_text(), "robot").assumed == ()


def test_what_is_complete_stays_and_without_write_it_only_offers(tmp_path):
    assert complete(arm(), "robot").text == arm() and complete(arm(), "robot").assumed == ()
    path, study = tmp_path / "robot.urdf", tmp_path / "study.yaml"
    path.write_text(arm())
    said, usable = check_robot(path, write=study)
    assert usable and "assumed" not in said + study.read_text() and not (tmp_path / "study_robot.urdf").exists()
    path.write_text(CASES["no speed"][0])
    said, usable = check_robot(path)
    assert not usable and "<limit velocity> is 0" in said
    assert "--write FIRST.yaml` goes on with a copy in which\n    joint 'j1' has a velocity limit of 0: it is 1" in said


def test_a_rotor_is_given_only_where_the_arm_does_not_run_without(tmp_path):
    """A point mass on the axis of the last joint: it moves, however fast its drive could make it."""
    path, study = tmp_path / "robot.urdf", tmp_path / "study.yaml"
    path.write_text(arm(inertials=(INERTIAL, INERTIAL, POINT)))
    found = complete(path.read_text(), "robot")
    assert not found.needed and found.assumed == (
        "joint 'j3' moves next to no inertia for its effort: its rotor has 0.0006 kg*m^2",
    )
    said, usable = check_robot(path, write=study)
    assert usable and "assumed" not in said and not (tmp_path / "study_robot.urdf").exists()


@pytest.mark.long
def test_a_copy_that_exists_is_never_written_over_and_none_is_left_of_an_arm_that_cannot_run(tmp_path, monkeypatch):
    path, study, copy = tmp_path / "robot.urdf", tmp_path / "study.yaml", tmp_path / "study_robot.urdf"
    path.write_text(CASES["no speed"][0])
    copy.write_text("mine")
    with pytest.raises(ConfigError, match="exists and stays as it is"):
        check_robot(path, write=study)
    assert copy.read_text() == "mine" and not study.exists()
    copy.unlink()
    monkeypatch.setattr(first_run, "SIZES", (0.1,))  # it gives up sooner
    slow = LIMIT.replace('velocity="2"', 'velocity="1e-5"')  # no motion keeps it
    path.write_text(arm((slow, slow, slow.replace('"60"', '"0"'))))
    said, usable = check_robot(path, write=study)
    assert not usable and "assumed: joint 'j3' has an effort limit" in said
    assert not copy.exists() and not study.exists()


def test_joints_that_are_not_of_the_arm_keep_their_placeholders():
    head = finger("nod").replace('velocity="1"', 'velocity="0"').replace('parent link="l3"', 'parent link="base"')
    found = complete(arm(more=head), "robot")
    assert found.assumed == () and found.text == arm(more=head)
    gripper = finger("a").replace('velocity="1" effort="1"', 'velocity="0" effort="0"')
    found = complete(arm((LIMIT.replace('"60"', '"0"'), LIMIT, LIMIT), more=gripper), "robot")
    assert len(found.assumed) == 1 and "'j1'" in found.assumed[0] and gripper in found.text.replace(" />", "/>")


@pytest.mark.parametrize(
    "text",
    [
        arm((LIMIT.replace('lower="-2"', 'lower="3"'), LIMIT, LIMIT)),  # from 3 to 2
        arm(more='<link name="lost"/>'),
        arm(more=finger("left_b", '<mimic joint="other"/>')),  # no joint is meant
        arm(more=finger("b", '<mimic joint="a"/>') + finger("left_a") + finger("right_a")),  # two could be
        arm().replace("revolute", "fixed"),
        "<robot/>",
        "nonsense",
        "",
    ],
)
def test_what_nobody_can_know_stays_refused(text):
    assert complete(text, "robot").assumed == ()


def test_estimates_are_physical_and_of_the_size_of_the_arm():
    description = parse_robot_description(complete(CASES["no masses"][0], "robot").text)
    model = ArmModel(description)
    for name in ("l1", "l2", "l3"):
        link = description.links[name]
        # of the density of water, 0.3 m long and 0.1 m wide (l3 has its mean length), about its middle
        assert link.mass == pytest.approx(1000.0 * math.pi * 0.05**2 * 0.3, rel=2e-3)
        assert not impossible_inertia(link.inertia)
        assert link.center_of_mass == pytest.approx([0.0, 0.0, 0.15])
        assert link.inertia[2, 2] == pytest.approx(link.mass * 0.05**2 / 2.0, rel=1e-2)
    text = complete(CASES["no effort"][0], "robot").text
    effort = ArmModel(text).effort_limit[1]
    # 2 times the weight of two stretched links, and 10 rad/s^2 of their inertia
    inertia = 2 * 0.02 + 2.0 * (0.15**2 + 0.45**2)
    expected = 2.0 * 9.81 * 2.0 * (0.15 + 0.45) + 10.0 * inertia
    assert 0.97 * expected <= effort <= 1.1 * expected
    assert np.isfinite(model.effort_limit).all()


def test_nothing_but_what_is_named_changes():
    for text, _ in CASES.values():
        found = complete(text, "robot")
        before, after = ElementTree.fromstring(text), ElementTree.fromstring(found.text)
        for part in before:
            name = part.get("name")
            other = next(one for one in after if one.tag == part.tag and one.get("name") == name)
            if ElementTree.tostring(part) != ElementTree.tostring(other):
                assert any(re.search(rf"(joint|link) '{name}'", one) for one in found.assumed), name


def test_a_comment_of_the_copy_stays_xml():
    text = arm((LIMIT.replace('"60"', '"0"'), LIMIT, LIMIT)).replace('"j1"', '"j--1"')
    found = complete(text, "robot")
    assert len(found.assumed) == 1 and ElementTree.fromstring(found.text).get("name") == "small"


def test_the_folder_of_the_scenario_gets_the_copy(tmp_path):
    (tmp_path / "robots").mkdir()
    (tmp_path / "studies").mkdir()
    path = Path(tmp_path / "robots" / "robot.urdf")
    path.write_text(CASES["no speed"][0])
    assert check_robot(path, write=tmp_path / "studies" / "first.yaml")[1]
    assert (tmp_path / "studies" / "first_robot.urdf").exists() and len(list(path.parent.iterdir())) == 1
    assert load_scenario(tmp_path / "studies" / "first.yaml").robot.description.actuated == ("j1", "j2", "j3")
