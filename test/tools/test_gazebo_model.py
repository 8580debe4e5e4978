"""What Gazebo is told beside the URDF."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.check.gazebo_description import gazebo_description

URDF = Path(__file__).resolve().parents[2] / "urdf"


@pytest.fixture(scope="module")
def boom():
    path = URDF / "boom_7r.urdf.xacro"
    return parse_robot_description(load_robot_description(path, {"hardware": "gazebo", "controllers_file": "/c.yaml"}))


def test_every_elastic_joint_gets_its_spring_and_its_damper(boom):
    robot = ElementTree.fromstring(gazebo_description(boom, 500.0))
    assert len(boom.elastic) == 6
    for elastic in boom.elastic:
        tag = next(tag for tag in robot.findall("gazebo") if tag.get("reference") == elastic.name)
        assert float(tag.findtext("springStiffness")) == elastic.stiffness
        joint = next(tag for tag in robot.findall("joint") if tag.get("name") == elastic.name)
        assert float(joint.find("dynamics").get("damping")) == elastic.damping


def test_sensors_publish_where_the_nodes_listen_and_measure_what_the_robot_exerts(boom):
    robot = ElementTree.fromstring(gazebo_description(boom, 500.0))
    sensors = {tag.get("name"): tag for tag in robot.iterfind("gazebo/sensor")}
    assert set(sensors) == {"base_ft_sensor", "tool_ft_sensor", "base_imu"}
    assert sensors["base_ft_sensor"].findtext("topic") == "base_wrench"
    assert sensors["base_ft_sensor"].findtext("force_torque/measure_direction") == "child_to_parent"
    assert sensors["base_imu"].findtext("topic") == "base_imu"
    kept = [tag.get("reference") for tag in robot.findall("gazebo") if tag.findtext("preserveFixedJoint") == "true"]
    assert "base_joint" in kept


def test_the_robot_itself_stays_as_it_is(boom):
    again = parse_robot_description(gazebo_description(boom, 500.0))
    assert again.actuated == boom.actuated and again.elastic == boom.elastic
    assert again.force_torque_sensors == boom.force_torque_sensors
