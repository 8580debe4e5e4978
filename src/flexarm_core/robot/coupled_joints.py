r"""Coupled joints: joints of the arm that follow a driven one, ``q = a q_m + b`` (``<mimic>``).

With ``q = G q_r + b`` and the constant matrix ``G``, the arm has the coordinates ``q_r`` of its driven joints only::

    J_r = J G        H_r = G^T H G        c_r = G^T c        tau_r = G^T tau

A follower has no motor. Its properties in the description are transferred to its driver, so that the values of each
driven joint hold for both: limits ``(q - b) / a`` and ``qd / a``, viscous damping ``a^2 d``, Coulomb friction
``|a| f``, rotor inertia ``a^2 J``. Its position 0 is moved by ``b``: in the arm, and in the text of the description,
followers have no offset, and limits that are less by ``b``.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Mapping
from dataclasses import replace

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import Joint
from flexarm_core.robot.held_joints import fixed_joint, set_origin

Element = ElementTree.Element


def coupled_joints(
    joints: Mapping[str, Joint], actuated: Collection[str], springs: Collection[str], commanded: Collection[str]
) -> dict[str, Joint]:
    """Return the joints that follow others, and the driven ones with what their followers add to them.

    Args:
        joints: joints by name, those outside of the arm are fixed.
        actuated: names of the driven joints.
        springs: names of the elastic joints.
        commanded: names of the joints with a command interface.

    Raises:
        RobotDescriptionError: a joint follows one that is fixed or has no motor, is elastic or commanded, or leaves its
            driver no room; or it follows one that turns without end, but is not back in its place after a whole turn.
    """
    found: dict[str, Joint] = {}
    for joint in joints.values():
        if not joint.mimic:
            continue
        driver, a, b = _driver(joints, joint)
        name = f"joint '{joint.name}' follows '{driver.name}' (<mimic>)"
        if joint.name in springs:
            raise RobotDescriptionError(f"{name} and is elastic: it can be only one", joint=joint.name)
        if joint.name in commanded:
            raise RobotDescriptionError(
                f'{name} and has a command interface: take that away, or add mimic="false" to its <joint> in'
                " <ros2_control> if it does not follow",
                joint=joint.name,
            )
        if driver.kind == "fixed":
            raise RobotDescriptionError(f"{name}, which does not move: make '{joint.name}' fixed", joint=joint.name)
        if driver.name not in actuated:
            raise RobotDescriptionError(
                f"{name}, which has no motor: give '{driver.name}' a <command_interface> in <ros2_control>",
                joint=joint.name,
            )
        driver = found.get(driver.name, driver)
        ends = (-math.inf, math.inf)
        if a != 0.0:
            one, other = (joint.lower - b) / a, (joint.upper - b) / a
            ends = min(one, other), max(one, other)
        lower, upper = max(driver.lower, ends[0]) + 0.0, min(driver.upper, ends[1]) + 0.0  # no -0
        if not lower < upper or (a == 0.0 and not joint.lower <= b <= joint.upper):
            raise RobotDescriptionError(
                f"{name} by {a:g} q + {b:g}, and its limits [{joint.lower:g}, {joint.upper:g}] leave '{driver.name}' no"
                " room: correct limits, multiplier or offset",
                joint=joint.name,
            )
        found[driver.name] = driver = replace(
            driver,
            lower=lower,
            upper=upper,
            velocity_limit=min(driver.velocity_limit, joint.velocity_limit / abs(a) if a else math.inf),
            damping=driver.damping + a * a * joint.damping,
            friction=driver.friction + abs(a) * joint.friction,
            armature=driver.armature + a * a * joint.armature,
        )
        if driver.endless and (joint.kind == "prismatic" or a != round(a)):
            raise RobotDescriptionError(
                f"{name} by {a:g} q, and '{driver.name}' turns without end: after a whole turn '{joint.name}' is"
                f" elsewhere; give '{driver.name}' limits",
                joint=joint.name,
            )
        found[joint.name] = replace(
            joint,
            transform_child_to_parent=fixed_joint(joint, b).transform_child_to_parent,
            mimic=driver.name,
            multiplier=a,
            offset=0.0,
            lower=-math.inf,
            upper=math.inf,
            velocity_limit=math.inf,
            effort_limit=math.inf,
            damping=0.0,
            friction=0.0,
            armature=0.0,
        )
    return found


def uncoupled_joints(element: Element) -> list[str]:
    """Return the joints that do not follow, in spite of ``<mimic>``: ``<ros2_control>`` says ``mimic="false"``."""
    tags = element.findall("./ros2_control/joint[@mimic]")
    named = {tag.get("name", "") for tag in tags if tag.attrib["mimic"].lower() == "false"}
    return [name for tag in element.findall("joint") if (name := tag.get("name", "")) in named]


def _driver(joints: Mapping[str, Joint], joint: Joint) -> tuple[Joint, float, float]:
    """Return the joint that a joint follows in the end, with multiplier and offset."""
    a, b = joint.multiplier, joint.offset
    driver = joints[joint.mimic]
    while driver.mimic:
        a, b = a * driver.multiplier, b + a * driver.offset
        driver = joints[driver.mimic]
    return driver, a, b


def write_coupled(element: Element, joints: Mapping[str, Joint], coupled: Mapping[str, Joint]) -> str:
    """Return the text of a description in which joints follow their drivers without an offset.

    Args:
        element: root element of the description, which is changed.
        joints: joints by name, as they are described.
        coupled: joints as :func:`coupled_joints` gives them.
    """
    for tag in element.findall("joint"):
        described = joints[tag.get("name", "")]
        if not described.mimic:
            continue
        joint, (_, _, offset) = coupled[described.name], _driver(joints, described)
        for mimic in tag.findall("mimic"):
            mimic.attrib = {"joint": joint.mimic, "multiplier": repr(joint.multiplier)}
        set_origin(tag, joint.transform_child_to_parent)
        for limit in tag.findall("limit") if math.isfinite(described.lower) else []:
            limit.set("lower", repr(described.lower - offset))
            limit.set("upper", repr(described.upper - offset))
    return ElementTree.tostring(element, encoding="unicode")
