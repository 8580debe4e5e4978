"""Which joints of a description are the arm: the tool that is meant, and the joints that `flexarm check` holds."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.xml_reader import read_robot_xml
from flexarm_tools.yaml_file.document import nearest

FREE = ("floating", "planar")
MOVABLE = ("revolute", "continuous", "prismatic", *FREE)
TOOL_NAMES = ("^tool0$", "tcp", "end_?effector|^ee_|_ee$|_eef$|ee_link", "tool", "gripper|hand|flange")  # best first
SENSORS = "sensor|camera|imu|optical|laser"


@dataclass(frozen=True, slots=True)
class Arm:
    """The arm of a description."""

    tool_frame: str  # link that is the tool; empty: the description does not show which
    guessed: bool  # whether nobody named it, and the description has several that it could be
    held: dict[str, float]  # joints that are not of the arm, and where they stay [rad | m]


class _Tree:
    """Joints of a description by child link, before the description is checked."""

    def __init__(self, element: ElementTree.Element) -> None:
        self.joints = {_link(joint, "child"): joint for joint in element.findall("joint")}
        self.links = [link.get("name", "") for link in element.findall("link")]
        mimics = {joint.get("name", ""): joint.find("mimic") for joint in self.joints.values()}
        followed = {tag.get("joint", "") for tag in mimics.values() if tag is not None}
        self.followers = {name for name, tag in mimics.items() if tag is not None}
        self._leaders = {name: name if tag is None else tag.get("joint", "") for name, tag in mimics.items()}
        carrying = {
            self.leader(inner)
            for link in self.joints
            for name in [self.joints[link].get("name", "")]
            for inner in self.moving(link)
            if self.joints[link].get("type") in MOVABLE[:3] and self.leader(inner) != self.leader(name)
        }
        self.fingers = {name for name in self.followers | followed if self.leader(name) not in carrying}

    def leader(self, name: str) -> str:
        """Return the joint that a joint follows in the end (``<mimic>``), or its own name."""
        for _ in self._leaders:
            name = self._leaders.get(name, name)
        return name

    def path(self, link: str) -> list[ElementTree.Element]:
        """Return the joints that move a link, from the tip inward; those that close a circle only once."""
        found: list[ElementTree.Element] = []
        seen = set()
        while link in self.joints and link not in seen:
            seen.add(link)
            found.append(self.joints[link])
            link = _link(self.joints[link], "parent")
        return found

    def moving(self, link: str) -> set[str]:
        """Return the names of the movable joints that move a link."""
        return {joint.get("name", "") for joint in self.path(link) if joint.get("type") in MOVABLE[:3]}


def find_arm(text: str, tool_frame: str = "", held: dict[str, float] | None = None) -> Arm:
    """Find the arm of a description.

    Joints that can move in several directions at once are held at 0. Where the description says which joints are driven
    or elastic (``<ros2_control>``, ``<flexibility>``), all others are as it says; else the arm is what lies between the
    root link and the tool, and the other joints are held within their limits, as near to zero as possible.

    Args:
        text: URDF text.
        tool_frame: tool link; empty: ``tool0``, the only tip, or else the link that is called and placed like a tool.
        held: positions of joints that are held in any case, by name [rad | m].

    Raises:
        RobotDescriptionError: the text is not the XML of a robot, or no joint moves the link ``tool_frame``.
    """
    element = read_robot_xml(text)
    tree = _Tree(element)
    if tool_frame and not tree.moving(tool_frame):
        movable = [link for link in tree.links if tree.moving(link)]
        wrong = "no joint moves tool frame" if tool_frame in tree.links else "there is no link for tool frame"
        meant = f"{nearest(tool_frame, movable)}links that move: {', '.join(movable) or 'none'}"
        raise RobotDescriptionError(f"{wrong} '{tool_frame}'; {meant}", link=tool_frame)
    outer = [link for link in tree.links if not tree.moving(link) & tree.fingers]
    parents = {_link(joint, "parent") for child, joint in tree.joints.items() if child in outer}
    tips = [link for link in outer if link not in parents]
    guessed = not tool_frame and "tool0" not in tree.links and len(tips) != 1
    usual = _best(tree, outer) if guessed else "tool0" if "tool0" in tree.links else tips[0] if tips else ""
    tool = tool_frame or usual
    said = element.find("flexibility") is not None or element.find("./ros2_control/joint/command_interface") is not None
    path = tree.path(tool)
    leaders = {tree.leader(name) for name in tree.moving(tool)}
    found = dict(held or {})
    springs = {tag.get("name", "") for tag in element.findall("./flexibility/elastic_joint")}
    for joint in tree.joints.values():
        name, kind = joint.get("name", ""), joint.get("type")
        aside = not said and kind in MOVABLE and joint not in path and name not in tree.followers | leaders
        if (kind in FREE or aside) and name not in found and name not in springs:
            found[name] = _nearest_to_zero(joint)
    return Arm(tool, guessed, found)


def _best(tree: _Tree, links: list[str]) -> str:
    """Return the link that most joints move among those with the best name; of equal ones the outermost."""

    def rank(link: str) -> tuple[int, int, int]:
        named = next((i for i, name in enumerate(TOOL_NAMES) if re.search(name, link, re.I)), len(TOOL_NAMES))
        named += len(TOOL_NAMES) if re.search(SENSORS, link, re.I) else 0
        return -named, len(tree.moving(link)), len(tree.path(link))

    most = max((len(tree.moving(link)) for link in links), default=0)
    # a tool has at most the fingers of a gripper behind it
    return max((link for link in links if 2 * len(tree.moving(link)) > most), key=rank, default="")


def _nearest_to_zero(joint: ElementTree.Element) -> float:
    limit = joint.find("limit")
    if limit is None or joint.get("type") not in ("revolute", "prismatic"):
        return 0.0
    return min(max(0.0, float(limit.get("lower", 0.0))), float(limit.get("upper", 0.0)))


def _link(joint: ElementTree.Element, end: str) -> str:
    tag = joint.find(end)
    return "" if tag is None else tag.get("link", "")
