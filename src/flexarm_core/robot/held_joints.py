"""Held joints: movable joints outside of the arm (gripper fingers, head, wheels) become fixed joints.

The links that they carry are then rigid parts of the links of the arm, as ``pinocchio.buildReducedModel`` does. The
text of the description contains them as fixed joints: all its readers see the same robot.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pinocchio as pin

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import Joint
from flexarm_core.types import Array

Element = ElementTree.Element
MOVING_PARTS = ("axis", "limit", "mimic", "dynamics", "calibration", "safety_controller")  # of a joint that moves


def joints_outside(joints: Mapping[str, Joint], springs: Collection[str], commanded: Collection[str]) -> set[str]:
    """Return the joints that move but do not belong to the arm.

    They carry no joint of the arm, and no command of the arm moves them: they have no command interface where other
    joints have one, or they are coupled with others by ``<mimic>``, as the fingers of a gripper are. Coupled joints
    that carry ``tool0``, or the only tip, belong to the arm if the one that leads them is driven.

    Args:
        joints: joints by name, parents before children.
        springs: names of the elastic joints.
        commanded: names of the joints with a command interface; empty: every joint that moves is driven.
    """
    moving = {name: joint for name, joint in joints.items() if joint.kind != "fixed"}
    group = {name: leader(joints, name) for name in moving}
    coupled = {group[name] for name, joint in moving.items() if joint.mimic}
    found = {
        name
        for name in moving
        if name not in springs and (group[name] in coupled or (commanded and name not in commanded))
    }
    inboard = {joint.child: joint for joint in joints.values()}
    parents = {joint.parent for joint in joints.values()}
    tips = ["tool0"] if "tool0" in inboard else [link for link in inboard if link not in parents]
    to_tool, link = set(), tips[0] if len(tips) == 1 else ""
    while link in inboard:
        name, link = inboard[link].name, inboard[link].parent
        if name in moving and group[name] in coupled and (not commanded or group[name] in commanded):
            to_tool.add(name)
    while True:
        carriers = to_tool.copy()
        for name in moving:
            if name not in found:
                link = moving[name].parent
                while link in inboard:
                    carriers.add(inboard[link].name)
                    link = inboard[link].parent
        lost = {name for name in found if any(group[name] == group[other] for other in found & carriers)}
        if not lost:
            return found
        found -= lost


def leader(joints: Mapping[str, Joint], name: str) -> str:
    """Return the joint that a joint follows in the end (``<mimic>``), or its own name.

    Raises:
        RobotDescriptionError: it follows itself, or a joint that does not exist.
    """
    seen = [name]
    while mimic := joints[seen[-1]].mimic:
        if mimic not in joints:
            raise RobotDescriptionError(
                f"joint '{seen[-1]}' mimics '{mimic}', which does not exist: name one that does, or remove <mimic>",
                joint=seen[-1],
            )
        if mimic in seen:
            raise RobotDescriptionError(f"joint '{name}' mimics itself: {' -> '.join((*seen, mimic))}", joint=name)
        seen.append(mimic)
    return seen[-1]


def held_positions(
    joints: Mapping[str, Joint],
    springs: Collection[str],
    outside: Collection[str],
    wanted: Mapping[str, float | None],
    initial: Mapping[str, float],
    read: Collection[str] = (),
) -> dict[str, float]:
    """Return the position of every held joint [rad | m], in tree order.

    A joint stays at its requested position; else at its ``initial_value`` in ``<ros2_control>``; else at the position
    within its limits that is nearest to zero. A joint that follows a held one stays at ``multiplier * q + offset``.

    Args:
        joints: joints by name.
        springs: names of the elastic joints.
        outside: joints outside of the arm.
        wanted: positions of joints that are to be held, wherever they are, by name [rad | m]; None: as if not wanted.
        initial: ``initial_value`` of joints in ``<ros2_control>`` by name [rad | m].
        read: names of ``wanted`` that are to be read, for messages.

    Raises:
        RobotDescriptionError: a requested joint does not exist, is fixed or elastic or follows another one, or the
            position is beyond its limits.
    """
    for name, position in wanted.items():
        joint, asked, act = joints.get(name), *(("read_joints", "read") if name in read else ("held", "hold"))
        if joint is None or joint.kind == "fixed":
            listed = ", ".join(other for other, joint in joints.items() if joint.kind != "fixed")
            raise RobotDescriptionError(f"{asked}: '{name}' is not a joint that moves; these do: {listed}")
        if name in springs:
            instead = "remove its <elastic_joint>" if act == "hold" else "it is measured as such, and need not be read"
            raise RobotDescriptionError(f"{asked}: joint '{name}' is elastic: {instead}", joint=name)
        if joint.mimic:
            raise RobotDescriptionError(f"{asked}: joint '{name}' follows '{joint.mimic}': {act} that one", joint=name)
        if position is not None and not joint.lower <= position <= joint.upper:  # also if it is not a number
            raise RobotDescriptionError(
                f"held: joint '{name}' cannot be at {position}, its limits are [{joint.lower:g}, {joint.upper:g}]",
                joint=name,
            )

    def position_of(name: str) -> float:
        joint = joints[name]
        if joint.mimic:
            return joint.multiplier * position_of(joint.mimic) + joint.offset
        if (position := wanted.get(name)) is not None:
            return position
        return initial.get(name, min(max(0.0, joint.lower), joint.upper))

    moving = [name for name, joint in joints.items() if joint.kind != "fixed"]
    held = {name for name in moving if name in outside or leader(joints, name) in wanted}
    return {name: float(position_of(name)) for name in moving if name in held}


def initial_positions(element: Element) -> dict[str, float]:
    """Return the ``initial_value`` of the position state interfaces of ``<ros2_control>`` by joint [rad | m].

    Values that are not finite numbers are omitted: they are for simulators, which report errors themselves.
    """
    found = {}
    for joint in element.findall("./ros2_control/joint"):
        for value in joint.findall("./state_interface[@name='position']/param[@name='initial_value']"):
            try:
                position = float(value.text or "")
            except ValueError:
                continue
            if np.isfinite(position):
                found[joint.get("name", "")] = position
    return found


def fixed_joint(joint: Joint, position: float) -> Joint:
    """Return a joint as a fixed one at a position [rad | m]."""
    transform = joint.transform_child_to_parent
    if position != 0.0:
        transform = transform @ moved(joint.kind, joint.axis, position)
    return Joint(
        name=joint.name,
        kind="fixed",
        parent=joint.parent,
        child=joint.child,
        transform_child_to_parent=transform,
        axis=joint.axis,
        lower=-np.inf,
        upper=np.inf,
        velocity_limit=np.inf,
        effort_limit=np.inf,
        damping=0.0,
        friction=0.0,
    )


def moved(kind: str, axis: Array, position: float) -> Array:
    """Return the transform (4, 4) by which a joint of a kind moves along its axis (3,) [rad | m]."""
    motion: Array = np.eye(4)
    if kind == "prismatic":
        motion[:3, 3] = position * axis
    else:
        motion[:3, :3] = pin.exp3(position * axis)
    return motion


def read_origin(joint: Element) -> Array:
    """Return the transform (4, 4) from the child to the parent link of a joint tag."""
    transform, origin = np.eye(4), joint.find("origin")
    values = {} if origin is None else origin.attrib
    xyz, rpy = ([float(word) for word in values.get(key, "0 0 0").split()] for key in ("xyz", "rpy"))
    transform[:3, :3], transform[:3, 3] = pin.rpy.rpyToMatrix(*rpy), xyz
    return transform


def set_origin(joint: Element, transform: Array) -> None:
    """Write the transform (4, 4) from the child to the parent link of a joint into its tag."""
    for part in joint.findall("origin"):
        joint.remove(part)
    rpy = pin.rpy.matrixToRpy(transform[:3, :3])
    joint.append(Element("origin", xyz=numbers(transform[:3, 3]), rpy=numbers(rpy)))


def numbers(values: Iterable[float]) -> str:
    """Return the words of an attribute."""
    return " ".join(repr(float(value)) for value in values)
