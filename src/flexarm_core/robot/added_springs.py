"""Springs and dampers for joints of a description that says nothing of them, such as the root joint of a maker's file.

A floating joint becomes three prismatic and three revolute joints in a row, ``JOINT_x``, ``JOINT_y``, ``JOINT_z``,
``JOINT_rx``, ``JOINT_ry``, ``JOINT_rz``, about axes that move along; a planar one ``JOINT_x``, ``JOINT_y``,
``JOINT_rz``, with z along its axis. Those that are not named are left out: the base is stiff there. With stiffness 0 a
direction is free, as for a base whose motion is measured.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping

import numpy as np
import pinocchio as pin

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.held_joints import numbers, read_origin, set_origin
from flexarm_core.robot.held_tags import AXIAL
from flexarm_core.robot.xml_reader import read_robot_xml, with_prefixes
from flexarm_core.types import Array

Element = ElementTree.Element
Springs = Mapping[str, tuple[float, float]]  # stiffness [N/m | N*m/rad] and damping [N*s/m | N*m*s/rad] by joint
DIRECTIONS = {"floating": ("x", "y", "z", "rx", "ry", "rz"), "planar": ("x", "y", "rz")}
FARTHEST, MOST, TILT = 1000.0, 100.0, 1.5  # [m], [rad], [rad] about y, short of where x and z meet
FASTEST = 100.0  # [m/s | rad/s]
MASS, INERTIA = "1e-3", "1e-6"  # [kg], [kg*m^2] of links between directions: as good as nothing


def with_springs(text: str, springs: Springs) -> str:
    """Return the text of a description in which joints are elastic ones.

    Args:
        text: URDF text.
        springs: stiffness and damping by name of a joint, or of a direction of a floating or planar one.

    Raises:
        RobotDescriptionError: the text is no description, or a name is not that of such a joint or direction.
    """
    if not springs:
        return text
    element = read_robot_xml(with_prefixes(text))
    joints = {joint.get("name", ""): joint for joint in element.findall("joint")}
    single = [name for name, joint in joints.items() if joint.get("type") in AXIAL]
    several = {
        name: DIRECTIONS[kind] for name, joint in joints.items() if (kind := joint.get("type", "")) in DIRECTIONS
    }
    directions = {f"{name}_{way}": (name, way) for name, ways in several.items() for way in ways}
    for name in springs:
        if name not in single and name not in directions:
            ways = several.get(name)
            if ways is not None:
                raise RobotDescriptionError(
                    f"elastic: joint '{name}' gives way in several directions: name them, of"
                    f" {', '.join(f'{name}_{way}' for way in ways)}",
                    joint=name,
                )
            listed = ", ".join((*single, *directions)) or "none"
            raise RobotDescriptionError(f"elastic: '{name}' is not a joint that moves; these are: {listed}")
    for name in several:
        if given := [way for way in several[name] if f"{name}_{way}" in springs]:
            _spread(element, joints[name], given)
    flexibility = element.find("flexibility")
    if flexibility is None:
        flexibility = ElementTree.SubElement(element, "flexibility")
    for name, (stiffness, damping) in springs.items():
        told = {"name": name, "stiffness": repr(float(stiffness)), "damping": repr(float(damping))}
        ElementTree.SubElement(flexibility, "elastic_joint", told)
    return ElementTree.tostring(element, encoding="unicode")


def _spread(element: Element, joint: Element, directions: list[str]) -> None:
    """Replace a joint by one for each direction, in a row."""
    name, at = joint.get("name", ""), list(element).index(joint)
    parent, child = (joint.find(end).get("link", "") for end in ("parent", "child"))  # type: ignore[union-attr]
    turn = _turn(joint)
    element.remove(joint)
    for i, way in enumerate(directions):
        last = i == len(directions) - 1
        link = child if last else f"{name}_{way}_link"
        row = list(_direction(f"{name}_{way}", way, parent, link, turn))
        if i == 0:
            set_origin(row[0], read_origin(joint))
        for part in row if not last else row[:1]:
            element.insert(at, part)
            at += 1
        parent = link


def _direction(name: str, way: str, parent: str, child: str, turn: Array) -> Iterator[Element]:
    """Yield a joint, and the link that it moves, which weighs as good as nothing."""
    turns = way.startswith("r")
    joint = Element("joint", name=name, type="revolute" if turns else "prismatic")
    ElementTree.SubElement(joint, "parent", link=parent)
    ElementTree.SubElement(joint, "child", link=child)
    axis = turn @ np.eye(3)["xyz".index(way[-1])]
    ElementTree.SubElement(joint, "axis", xyz=numbers(axis))
    most = repr((TILT if way == "ry" else MOST) if turns else FARTHEST)
    ElementTree.SubElement(joint, "limit", lower=f"-{most}", upper=most, effort="0", velocity=repr(FASTEST))
    yield joint
    link = Element("link", name=child)
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "mass", value=MASS)
    ElementTree.SubElement(inertial, "inertia", {f"i{a}{b}": INERTIA if a == b else "0" for a, b in PAIRS})
    yield link


PAIRS = (("x", "x"), ("x", "y"), ("x", "z"), ("y", "y"), ("y", "z"), ("z", "z"))


def _turn(joint: Element) -> Array:
    """Return the rotation (3, 3) of x, y, z of the directions in the axes of the joint."""
    if joint.get("type") != "planar":
        return np.eye(3)
    tag = joint.find("axis")
    axis = np.array([float(word) for word in ("1 0 0" if tag is None else tag.get("xyz", "1 0 0")).split()])
    length = float(np.linalg.norm(axis))
    if not length > 0.0:
        raise RobotDescriptionError(
            f"joint '{joint.get('name')}': <axis> has no direction", joint=joint.get("name", "")
        )
    normal, z = axis / length, np.array([0.0, 0.0, 1.0])
    cross = np.cross(z, normal)
    angle = math.atan2(float(np.linalg.norm(cross)), float(normal[2]))
    about = np.array([1.0, 0.0, 0.0]) if not cross.any() else cross / np.linalg.norm(cross)
    turn: Array = pin.exp3(angle * about)
    return turn
