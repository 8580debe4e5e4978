"""RobotChanges: masses, springs and payload of a simulated robot that differ from its description."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.robot.xml_reader import read_robot_xml
from flexarm_tools.yaml_file.document import nearest

ALL = "all"
PAYLOAD_RADIUS = 0.05  # [m]


@dataclass(frozen=True, slots=True)
class RobotChanges:
    """Changes of a robot description."""

    masses: Mapping[str, float]  # factors on mass and inertia, by link or `all`
    stiffness: Mapping[str, float]  # factors on the stiffness of elastic joints and drives, by joint or `all`
    payload: float  # mass of a ball about the origin of the tool [kg]

    def apply(self, robot: RobotDescription, tool_frame: str) -> RobotDescription:
        """Return the changed robot.

        Raises:
            ConfigError: a link or joint does not exist or has nothing to change; the changed robot is not valid.
        """
        if not (self.masses or self.stiffness or self.payload):
            return robot
        root = read_robot_xml(robot.text)
        inertials = {link.get("name", ""): link.findall("inertial") for link in root.findall("link")}
        heavy = {name: found[0] for name, found in inertials.items() if found}
        springs = {one.get("name", ""): one for one in root.findall("./flexibility/elastic_joint")}
        springs |= {one.get("joint", ""): one for one in root.findall("./flexibility/elastic_drive")}
        for name, factor in _by_name(self.masses, heavy, "masses: there is no link '{}' with a mass"):
            for element in heavy[name].iter():
                for key in {"mass": ("value",), "inertia": tuple(element.attrib)}.get(element.tag, ()):
                    element.set(key, repr(float(element.attrib[key]) * factor))
        for name, factor in _by_name(self.stiffness, springs, "stiffness: there is no elastic joint or drive '{}'"):
            springs[name].set("stiffness", repr(float(springs[name].attrib["stiffness"]) * factor))
        if self.payload:
            root.extend(_payload(self.payload, tool_frame))
        return parse_robot_description(ElementTree.tostring(root, encoding="unicode"))


def _by_name(factors: Mapping[str, float], known: Iterable[str], wrong: str) -> Iterable[tuple[str, float]]:
    """Yield the names that a factor applies to."""
    known = tuple(known)
    for name, factor in factors.items():
        if name != ALL and name not in known:
            raise ConfigError(f"{wrong.format(name)}; {nearest(name, known)}valid: {', '.join((ALL, *known))}")
        for one in known if name == ALL else (name,):
            yield one, factor


def _payload(mass: float, tool_frame: str) -> Iterable[ElementTree.Element]:
    """Return link and joint of a ball at the tool."""
    moment = repr(0.4 * mass * PAYLOAD_RADIUS**2)
    link = ElementTree.Element("link", name="flexarm_payload")
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "mass", value=repr(mass))
    zeros = {"ixy": "0", "ixz": "0", "iyz": "0"}
    ElementTree.SubElement(inertial, "inertia", zeros | {"ixx": moment, "iyy": moment, "izz": moment})
    joint = ElementTree.Element("joint", name="flexarm_payload_joint", type="fixed")
    ElementTree.SubElement(joint, "parent", link=tool_frame)
    ElementTree.SubElement(joint, "child", link="flexarm_payload")
    return link, joint
