"""Tags with the position and motion of held joints, which are fixed joints in the text of a description.

Nodes compare it with joint states, and place the joints where these say they are.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from flexarm_core.entrance import number
from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import HeldJoint, Joint, RobotDescription
from flexarm_core.robot.held_joints import MOVING_PARTS, moved, numbers, read_origin, set_origin
from flexarm_core.robot.kinematic_chain import joints_inboard
from flexarm_core.robot.xml_reader import read_robot_xml

AXIAL = ("revolute", "continuous", "prismatic")  # types of joints that one position moves
TOLD = "held_joint"  # tag of the robot


def held_joints(
    joints: Mapping[str, Joint], positions: Mapping[str, float], named: Collection[str]
) -> dict[str, HeldJoint]:
    """Return the data of the held joints.

    Args:
        joints: joints by name, as they are described.
        positions: position of each held joint by name [rad | m].
        named: those that are held by name.
    """
    found = {}
    for name, position in positions.items():
        joint, ratio = joints[name], 1.0
        followed = joint
        while followed.mimic:
            ratio, followed = ratio * followed.multiplier, joints[followed.mimic]
        axis = tuple(map(float, joint.axis)) if joint.kind in AXIAL else (0.0, 0.0, 0.0)
        found[name] = HeldJoint(name, position, joint.kind, axis, name in named, followed.name, ratio, joint.endless)
    return found


def read_told(element: ElementTree.Element) -> dict[str, HeldJoint]:
    """Return the joints that were held before.

    :func:`write_held` writes them beside the joints, which are fixed there: a node compares them with joint states.
    """
    found = {}
    for tag in element.findall(TOLD):
        name = tag.get("name", "")
        position, ratio, *axis = (
            _number(name, key, word)
            for key, words in (("position", ""), ("ratio", "1"), ("axis", "0 0 0"))
            for word in tag.get(key, words).split() or [""]
        )
        if len(axis) != 3:
            raise RobotDescriptionError(f"<{TOLD} name='{name}'> needs an axis of three numbers")
        kind, named, leader = tag.get("type", ""), tag.get("named") != "false", tag.get("leader", name)
        endless = tag.get("endless") == "true"
        found[name] = HeldJoint(name, position, kind, tuple(axis), named, leader, ratio, endless)
    return found


def _number(name: str, key: str, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise RobotDescriptionError(f"<{TOLD} name='{name}'> needs {key}, which is a number")
    return value


def write_held(element: ElementTree.Element, joints: Mapping[str, Joint], held: Mapping[str, HeldJoint]) -> str:
    """Return the text of a description in which the held joints are fixed.

    Args:
        element: root element of the description, which is changed.
        joints: joints by name, the held ones as :func:`fixed_joint` gives them.
        held: joints that are held.
    """
    for one in held.values():
        element.append(_told(one))
    for tag in element.findall("joint"):
        name = tag.get("name", "")
        if name not in held:
            continue
        tag.set("type", "fixed")
        for part in [part for part in tag if part.tag in MOVING_PARTS]:
            tag.remove(part)
        if held[name].position != 0.0:
            set_origin(tag, joints[name].transform_child_to_parent)
    for tag in element.findall("./ros2_control/joint"):
        for part in tag.findall("./param[@name='armature']") if tag.get("name") in held else []:
            tag.remove(part)  # the rotor stands still
    return ElementTree.tostring(element, encoding="unicode")


def _told(one: HeldJoint) -> ElementTree.Element:
    told = {"name": one.name, "position": repr(one.position), "type": one.kind, "axis": numbers(one.axis)}
    if not one.named:
        told["named"] = "false"
    if one.leader != one.name:
        told |= {"leader": one.leader, "ratio": repr(one.ratio)}
    if one.endless:
        told["endless"] = "true"
    return ElementTree.Element(TOLD, told)


def check_readable(held: Mapping[str, HeldJoint], names: Iterable[str]) -> None:
    """Raise RobotDescriptionError unless each name is that of a held joint which one position moves."""
    for name in names:
        if name not in held:
            listed = ", ".join(held) or "none"
            raise RobotDescriptionError(f"read_joints: '{name}' is not a joint that can be held; these are: {listed}")
        one = held[name]
        if one.kind not in AXIAL:
            raise RobotDescriptionError(f"read_joints: joint '{name}' is {one.kind}, one position does not tell where")
        if one.leader != name:
            raise RobotDescriptionError(f"read_joints: joint '{name}' follows '{one.leader}': read that one")


def taken_from_arm(text: str, description: RobotDescription, names: Iterable[str], tool_frame: str) -> tuple[str, ...]:
    """Return which joints are not of the arm only because they are to be read: as described, they would be driven.

    Args:
        text: text that was read.
        description: parsed description, in which these joints are to be read.
        names: names of the joints to be read.
        tool_frame: tool link.

    Raises:
        RobotDescriptionError: such a joint lies between joints of the arm and the tool. A lift lies under them.
    """
    before = read_told(read_robot_xml(text))
    lost = tuple(name for name in names if name not in before and name not in description.outside)
    to_tool = {joint.name for joint in joints_inboard(description, tool_frame, "")}
    for name in lost:
        under = joints_inboard(description, description.joints[name].parent, "")
        arm = [joint.name for joint in under if joint.driver in description.actuated]
        if name in to_tool and arm:
            raise RobotDescriptionError(
                f"read_joints: '{name}' is a joint of the arm, between '{arm[-1]}' and '{tool_frame}', and nobody would"
                " drive it: joints of the arm are always read; name only others, as a lift or fingers, or hold it by"
                f" name, too (robot: {{held: {{{name}: POSITION}}}} in a scenario)",
                joint=name,
            )
    return lost


def place_held(text: str, positions: Mapping[str, float]) -> str:
    """Return the text of a description with held joints at other positions, and those that follow them.

    Args:
        text: text of a description that was read (:func:`urdf_reader.parse_robot_description`).
        positions: measured positions, by name [rad | m]; limits are ignored, because the positions are measured.

    Raises:
        RobotDescriptionError: the text is none of a robot, or a position is of another joint.
        InputError: a position is not finite.
    """
    element = read_robot_xml(text)
    for name, position in positions.items():
        number(name, position)
    tags = {tag.get("name", ""): tag for tag in element.findall("joint")}
    held = read_told(element)
    check_readable(held, positions)
    for told in element.findall(TOLD):
        one = held[told.get("name", "")]
        if one.leader not in positions:
            continue
        change = one.ratio * (positions[one.leader] - held[one.leader].position)
        if one.kind not in AXIAL or change == 0.0:
            continue
        transform = read_origin(tags[one.name]) @ moved(one.kind, np.array(one.axis), change)
        set_origin(tags[one.name], transform)
        told.attrib = dict(_told(replace(one, position=one.position + change)).attrib)
    return ElementTree.tostring(element, encoding="unicode")
