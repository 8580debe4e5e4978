"""Elastic drives as flexible links: what ``<elastic_drive>`` of a joint adds to the tree of links and joints.

A motor with the inertia ``B`` (reflected through the gear: ``armature``) drives its link through a spring (Spong 1987).
With the position ``theta`` of the motor and the deflection ``delta = q - theta`` of the link against it::

    B thetadd = tau - tau_J          tau_J = -(k delta + d deltad)          M(q) qdd + c(q, qd) = tau_J

This is an arm with the positions ``theta``, in which each motor carries a link without mass, whose only deformation
mode ``delta`` rotates the outboard links about the axis of the joint. So the joint gets the child link ``JOINT_drive``
with that mode, and carries its former child by the fixed joint ``JOINT_drive_output``. Everything that handles flexible
links then handles elastic drives too. The deflection is exact, however large; that rotors move as their joints do, in
the frame of the link that carries them, is the usual assumption for large gear ratios.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import ElasticDrive, FlexibleLink, Joint, StrainGauge
from flexarm_core.robot.xml_reader import check_known, read_number

Element = ElementTree.Element
TAG = "./flexibility/elastic_drive"
MOVABLE = ("revolute", "continuous", "prismatic")


def add_drive_links(element: Element) -> bool:
    """Insert link and fixed joint of each elastic drive, unless it has them, and return whether there are drives.

    Raises:
        RobotDescriptionError: a drive of a joint that does not exist or cannot move, or a name that is taken.
    """
    joints = {joint.get("name", ""): joint for joint in element.findall("joint")}
    links = {link.get("name", "") for link in element.findall("link")}
    tags = element.findall(TAG)
    for tag in tags:
        check_known(tag, ("joint", "stiffness", "damping", "link_encoder"))
        name = tag.get("joint", "")
        movable = [joint for joint, found in joints.items() if found.get("type") in MOVABLE]
        if name not in movable:
            raise RobotDescriptionError(
                f"<elastic_drive>: joint '{name}' is not one that moves; joints: {', '.join(movable)}", joint=name
            )
        link, output, child = f"{name}_drive", f"{name}_drive_output", joints[name].find("child")
        if child is None or (child.get("link") == link and output in joints):
            continue
        if link in links or output in joints:
            raise RobotDescriptionError(
                f"<elastic_drive>: the drive of joint '{name}' needs the names '{link}' and '{output}': rename what has"
                " them",
                joint=name,
            )
        ElementTree.SubElement(element, "link", name=link)
        joints[output] = fixed = ElementTree.SubElement(element, "joint", name=output, type="fixed")
        ElementTree.SubElement(fixed, "parent", link=link)
        ElementTree.SubElement(fixed, "child", link=child.get("link", ""))
        child.set("link", link)
    return bool(tags)


def read_drives(
    element: Element, joints: dict[str, Joint], actuated: tuple[str, ...], massless: bool
) -> tuple[dict[str, FlexibleLink], dict[str, StrainGauge]]:
    """Return the flexible links of the elastic drives, and their encoders of the link side, by name.

    Args:
        element: robot, with the links of :func:`add_drive_links`.
        joints: joints by name.
        actuated: names of the actuated joints.
        massless: whether a drive needs no rotor, as for kinematics.
    """
    found: dict[str, FlexibleLink] = {}
    encoders: dict[str, StrainGauge] = {}
    for tag in element.findall(TAG):
        name = tag.get("joint", "")
        joint, link = joints[name], f"{name}_drive"
        axis = joint.axis
        drive = ElasticDrive(
            name, axis, joint.kind == "prismatic", read_number(tag, "stiffness"), read_number(tag, "damping", 0.0)
        )
        if link in found:
            wrong = "is described twice"
        elif name not in actuated:
            wrong = f"needs a motor: actuated joints are {', '.join(actuated)}"
        elif not drive.stiffness > 0.0 or drive.damping < 0.0:
            wrong = "needs stiffness > 0 and damping >= 0"
        elif not (joint.armature > 0.0 or massless):
            wrong = (
                'needs the inertia of its rotor: <param name="armature"> of the joint in <ros2_control>; without one,'
                " remove <elastic_drive>: the joint is then rigid"
            )
        else:
            wrong = ""
        if wrong:
            raise RobotDescriptionError(f"elastic drive of joint '{name}' {wrong}", joint=name)
        found[link] = FlexibleLink(link, drive=drive)
        if encoder := tag.get("link_encoder", ""):
            if encoder in encoders:
                raise RobotDescriptionError(f"<elastic_drive>: two encoders have the name '{encoder}'", joint=name)
            encoders[encoder] = StrainGauge(encoder, link, 0.0 * axis)
    return found, encoders
