"""``<gazebo>`` tags in addition to the URDF: springs of the elastic joints, and sensors."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node.topics import imu_topic, wrench_topic

Element = ElementTree.Element


def gazebo_description(description: RobotDescription, update_rate: float) -> str:
    """Return the URDF with tags for Gazebo added; existing tags are kept.

    An elastic joint gets its spring and damper. A force/torque sensor is attached to the joint above its frame, which
    is preserved in Gazebo even if it is fixed; it measures the wrench that the robot side exerts on the base side, in
    the frame of its child link. An IMU is attached to its frame. Flexible links are rigid in Gazebo.

    Args:
        description: description of the robot.
        update_rate: update rate of the sensors [Hz].

    Raises:
        RobotDescriptionError: a force/torque sensor is in the root link, where nothing can be measured.
    """
    robot = ElementTree.fromstring(description.text)
    above = {joint.child: joint.name for joint in description.joints.values()}
    for elastic in description.elastic:
        joint = next(tag for tag in robot.findall("joint") if tag.get("name") == elastic.name)
        dynamics = joint.find("dynamics")
        if dynamics is None:
            dynamics = ElementTree.SubElement(joint, "dynamics")
        dynamics.set("damping", repr(elastic.damping))
        tag = _gazebo(robot, elastic.name)
        _text(tag, "springReference", "0")
        _text(tag, "springStiffness", repr(elastic.stiffness))
        _text(tag, "implicitSpringDamper", "true")
    for name, sensor in description.force_torque_sensors.items():
        if sensor.frame not in above:
            raise RobotDescriptionError(f"force/torque sensor '{name}' sits in the root link '{sensor.frame}'")
        tag = _gazebo(robot, above[sensor.frame])
        _text(tag, "preserveFixedJoint", "true")
        inner = _sensor(tag, name, "force_torque", wrench_topic(name), update_rate)
        measured = ElementTree.SubElement(inner, "force_torque")
        _text(measured, "frame", "child")
        _text(measured, "measure_direction", "child_to_parent")
    for name, imu in description.imus.items():
        if imu.frame in above:
            _text(_gazebo(robot, above[imu.frame]), "preserveFixedJoint", "true")
        _sensor(_gazebo(robot, imu.frame), name, "imu", imu_topic(name), update_rate)
    return ElementTree.tostring(robot, encoding="unicode")


def _gazebo(robot: Element, reference: str) -> Element:
    return ElementTree.SubElement(robot, "gazebo", {"reference": reference})


def _sensor(tag: Element, name: str, kind: str, topic: str, update_rate: float) -> Element:
    sensor = ElementTree.SubElement(tag, "sensor", {"name": name, "type": kind})
    _text(sensor, "always_on", "true")
    _text(sensor, "update_rate", f"{update_rate:g}")
    _text(sensor, "topic", topic)
    return sensor


def _text(parent: Element, tag: str, text: str) -> None:
    ElementTree.SubElement(parent, tag).text = text
