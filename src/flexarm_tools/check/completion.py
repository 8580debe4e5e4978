"""What makers leave out of descriptions, and what `flexarm check --write` assumes in its place, each named.

Descriptions that were made for drawing or planning hold placeholders: zeros for velocities and efforts, links without
masses, limits from 0 to 0. A first run requires numbers there. They are estimates: a real arm needs those of its maker.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from flexarm_core.errors import FlexarmError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.dynamics_check import dynamics_errors, impossible_inertia, massless_joints
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.robot.xml_reader import read_robot_xml
from flexarm_core.types import Array
from flexarm_tools.check.arm import MOVABLE, Arm, find_arm
from flexarm_tools.check.description import FASTEST_DAMPING, MOST_ACCELERATION, POSTURES, random_postures, state_at
from flexarm_tools.check.repair import ENTRIES, inertia_of, set_nearest_inertia

Element = ElementTree.Element
TURN_SPEED, SLIDE_SPEED = 1.0, 0.2  # [rad/s], [m/s] velocity limit in place of 0
DENSITY = 1000.0  # [kg/m^3] of a link without a mass, a cylinder along its length
SLIMNESS = 6.0  # mean length of the links relative to the least radius of that cylinder
STOUT = 0.05  # [m] radius of the links where all joints are at one place
SHARE = 0.01  # mass of a link without one that carries others with theirs, relative to them
WEIGHTS, ACCELERATION = 2.0, 10.0  # an effort limit in place of 0 carries this many weights, and accelerates so much
WEAKEST = 0.02  # smallest effort limit in place of 0, relative to the largest one
LEAST_EFFORT = 1e-3  # [N*m | N] of an arm that needs none
ROTOR_ACCELERATION = 1e5  # [rad/s^2 | m/s^2] that the effort limit gives a rotor in place of no inertia
ROTOR_TIME = 1e-3  # [s] in which damping stops such a rotor


@dataclass(frozen=True, slots=True)
class Completed:
    """A description in which placeholders are replaced.

    Attributes:
        text: URDF text, with a comment that names the assumptions.
        assumed: a text for every assumption; empty if there is none.
        needed: whether the description cannot be simulated without; rotors may only be useful.
    """

    text: str
    assumed: tuple[str, ...] = ()
    needed: bool = False


def complete(text: str, name: str, tool_frame: str = "", held: dict[str, float] | None = None) -> Completed:
    """Replace the placeholders of the arm in a description; parts that belong to no joint of the arm stay.

    Args:
        text: URDF text.
        name: name of the robot, if it has none.
        tool_frame: tool link; empty: as :func:`find_arm` finds it.
        held: positions of joints that are held in any case, by name [rad | m].

    Returns:
        The description; the given one where nothing can be assumed.
    """
    try:
        element = read_robot_xml(text, name, complete=False)
        trial = read_robot_xml(text, name, complete=False)
        _complete_names(trial)
        _add_limits(trial)
        _complete_joints(trial, None)  # to see which joints belong to the arm
        _, description = _read(trial, tool_frame, held)
        moving = {joint.name for joint in description.joints.values() if joint.kind != "fixed"}
        unlimited = _add_limits(element, description.actuated)
        assumed = [] if _has_name(text) else [f"the robot has no name: it is '{name}'"]
        assumed += _complete_names(element)
        assumed += _complete_joints(element, moving, unlimited)
        assumed += _complete_masses(element, _read(element, tool_frame, held)[1])
        arm, description = _read(element, tool_frame, held)
        limits, rotors = _complete_drives(element, ArmModel(description, arm.tool_frame), unlimited)
        needed, assumed = bool(assumed or limits), [*assumed, *limits, *rotors]
    except FlexarmError:
        return Completed(text)
    if not assumed:
        return Completed(text)
    remark = f" assumed by flexarm check: {'; '.join(assumed)} ".replace("--", "- -")
    element.insert(0, ElementTree.Comment(remark))
    return Completed(ElementTree.tostring(element, encoding="unicode") + "\n", tuple(assumed), needed)


def _has_name(text: str) -> bool:
    return bool(ElementTree.fromstring(text).get("name"))


def _read(element: Element, tool_frame: str, held: dict[str, float] | None) -> tuple[Arm, RobotDescription]:
    text = ElementTree.tostring(element, encoding="unicode")
    arm = find_arm(text, tool_frame, held)
    return arm, parse_robot_description(text, massless=True, held=arm.held)


def _complete_names(element: Element) -> list[str]:
    """Correct ``<mimic>`` of joints that do not exist, where one is meant without its prefix."""
    assumed, joints = [], [joint.get("name", "") for joint in element.findall("joint")]
    for joint in element.findall("joint"):
        for tag in joint.findall("mimic"):
            follower, wanted = joint.get("name", ""), tag.get("joint", "")
            meant = [
                other
                for other in joints
                if other != follower and other.endswith(wanted) and follower.startswith(other.removesuffix(wanted))
            ]
            if wanted and wanted not in joints and len(meant) == 1:
                tag.set("joint", meant[0])
                assumed.append(f"joint '{follower}' mimics '{wanted}', which does not exist: '{meant[0]}' is meant")
    return assumed


def _add_limits(element: Element, driven: Collection[str] = ()) -> dict[str, set[str]]:
    """Write 0 where a ``<limit>`` or a limit is missing, and return what was, by joint; ``driven``: of the arm."""
    added: dict[str, set[str]] = {}
    for joint in element.findall("joint"):
        name, kind, limit = joint.get("name", ""), joint.get("type"), joint.find("limit")
        if limit is None and (kind == "revolute" or (name in driven and kind in MOVABLE[:2])):
            limit = ElementTree.SubElement(joint, "limit")
        for key in ("velocity", "effort"):
            if limit is not None and not limit.get(key):
                limit.set(key, "0")
                added.setdefault(name, set()).add(key)
    return added


def _complete_joints(
    element: Element, moving: set[str] | None, unlimited: Mapping[str, Collection[str]] = MappingProxyType({})
) -> list[str]:
    """Replace limits of joints that could not move.

    Args:
        element: root element of the description.
        moving: joints of the arm; None: all.
        unlimited: limits that were missing, by joint.
    """
    assumed = [
        f"joint '{name}' has no {' and no '.join(sorted(missing))} limit: not of the arm, it has 0"
        for name, missing in unlimited.items()
        if moving is not None and name not in moving
    ]
    for joint in element.findall("joint"):
        name, kind, limit = joint.get("name", ""), joint.get("type"), joint.find("limit")
        if kind not in MOVABLE[:3] or limit is None or (moving is not None and name not in moving):
            continue
        slides = kind == "prismatic"
        if kind == "revolute" and all(float(limit.get(side, 0.0)) == 0.0 for side in ("lower", "upper")):
            joint.set("type", "continuous")
            wrong = "limits from 0 to 0" if {"lower", "upper"} & {*limit.keys()} else "no position limits"
            for side in ("lower", "upper"):
                limit.attrib.pop(side, None)
            assumed.append(f"joint '{name}' has {wrong}: it turns without end (continuous)")
        if "velocity" in limit.attrib and float(limit.get("velocity", 0.0)) == 0.0:
            speed, unit = (SLIDE_SPEED, "m/s") if slides else (TURN_SPEED, "rad/s")
            limit.set("velocity", repr(speed))
            wrong = "no velocity limit" if "velocity" in unlimited.get(name, ()) else "a velocity limit of 0"
            assumed.append(f"joint '{name}' has {wrong}: it is {speed:g} {unit}")
    return assumed


def _complete_masses(element: Element, description: RobotDescription) -> list[str]:
    """Give masses to links that need one, and bodies the nearest inertia that is possible."""
    assumed, links = [], {link.get("name", ""): link for link in element.findall("link")}
    lengths = _lengths(description)
    for joint in massless_joints(description):
        mass, center, inertia, why = _estimate(description, joint.child, lengths)
        for old in links[joint.child].findall("inertial"):
            links[joint.child].remove(old)
        tag = ElementTree.SubElement(links[joint.child], "inertial")
        ElementTree.SubElement(tag, "origin", xyz=" ".join(f"{value + 0.0:.4g}" for value in center))
        ElementTree.SubElement(tag, "mass", value=f"{mass:.3g}")
        values = {key: f"{inertia[at] + 0.0:.6g}" for key, at in ENTRIES.items()}
        ElementTree.SubElement(tag, "inertia", values)
        assumed.append(f"link '{joint.child}' has no mass: it is {mass:.3g} kg, {why}")
    for error in dynamics_errors(description):
        for name in _rigid_with(description, error.link) if error.link in links else []:
            for tag in links[name].findall("./inertial/inertia"):
                if wrong := impossible_inertia(inertia_of(tag)):
                    share = set_nearest_inertia(tag)
                    assumed.append(f"link '{name}': {wrong}: it has the nearest of a body, changed by {share:.2g} %")
    return assumed


def _rigid_with(description: RobotDescription, link: str) -> list[str]:
    """Return a link and those that fixed joints hang on it: their inertias count together."""
    found = [link]
    for one in found:
        found += [joint.child for joint in description.joints.values() if joint.parent == one and joint.kind == "fixed"]
    return found


def _lengths(description: RobotDescription) -> dict[str, Array]:
    """Return the vector from each link that moves to the farthest joint on it; zero at a tip [m]."""
    lengths = {joint.child: np.zeros(3) for joint in description.joints.values() if joint.kind != "fixed"}
    for joint in description.joints.values():
        offset = joint.transform_child_to_parent[:3, 3]
        if joint.parent in lengths and np.linalg.norm(offset) > np.linalg.norm(lengths[joint.parent]):
            lengths[joint.parent] = offset
    return lengths


def _estimate(description: RobotDescription, link: str, lengths: dict[str, Array]) -> tuple[float, Array, Array, str]:
    """Return mass [kg], center of mass [m], inertia [kg*m^2] of a link, and what it is taken for."""
    sizes = {name: float(np.linalg.norm(one)) for name, one in lengths.items()}
    way, size = lengths[link], sizes[link]
    reaching = [one for one in sizes.values() if one > 0.0]
    radius = max(size, float(np.mean(reaching))) / SLIMNESS if reaching else STOUT
    length = max(size, 2.0 * radius)
    carried = _carried_mass(description, link)
    if carried > 0.0:
        mass = SHARE * carried
        ball = 0.4 * mass * radius**2 * np.eye(3)
        return mass, np.zeros(3), ball, f"a ball of {100.0 * SHARE:g} % of what it carries"
    mass = DENSITY * math.pi * radius**2 * length
    along, across = 0.5 * mass * radius**2, mass * (radius**2 / 4.0 + length**2 / 12.0)
    axis = way / size if size > 0.0 else np.array([0.0, 0.0, 1.0])
    inertia = across * np.eye(3) + (along - across) * np.outer(axis, axis)
    return mass, 0.5 * way, inertia, f"a cylinder of {length:.3g} m with the density of water"


def _carried_mass(description: RobotDescription, link: str) -> float:
    """Return the mass of all that a link carries [kg]."""
    carried = [link]
    for one in carried:
        carried += [joint.child for joint in description.joints.values() if joint.parent == one]
    return sum(description.links[one].mass for one in carried)


def _complete_drives(
    element: Element, model: ArmModel, unlimited: Mapping[str, Collection[str]]
) -> tuple[list[str], list[str]]:
    """Give drives an effort limit in place of 0, and a rotor to a joint that moves next to no inertia."""
    if massless_joints(model.description):
        return [], []
    blocks = [model.blocks(state_at(model, q)) for q in random_postures(model, POSTURES)]
    weight = np.max([np.abs(block.c_m) for block in blocks], axis=0)
    inertia = np.array([np.diag(block.H_m) for block in blocks])
    tags = {joint.get("name", ""): joint for joint in element.findall("joint")}
    needed = WEIGHTS * weight + ACCELERATION * inertia.max(axis=0)
    largest = max(needed.max(), model.effort_limit.max(where=np.isfinite(model.effort_limit), initial=0.0))
    limits, rotors, efforts = [], [], np.where(np.isfinite(model.effort_limit), model.effort_limit, 1.0)
    for i, name in enumerate(model.joint_names):
        slides, limit = model.description.joints[name].kind == "prismatic", tags[name].find("limit")
        if efforts[i] == 0.0 and limit is not None:
            efforts[i] = _rounded_up(max(needed[i], WEAKEST * largest, LEAST_EFFORT))
            limit.set("effort", f"{efforts[i]:g}")
            what = f"{WEIGHTS:g} times its weight and {ACCELERATION:g} {'m' if slides else 'rad'}/s^2, at least"
            what += f" {100.0 * WEAKEST:g} % of the largest"
            unit = "N" if slides else "N*m"
            wrong = "no effort limit" if "effort" in unlimited.get(name, ()) else "an effort limit of 0"
            limits.append(f"joint '{name}' has {wrong}: it is {efforts[i]:g} {unit}, for {what}")
        least = inertia[:, i].min()
        if efforts[i] > MOST_ACCELERATION * least or model.D_m[i] * FASTEST_DAMPING > least:
            armature = _rounded_up(max(efforts[i] / ROTOR_ACCELERATION, model.D_m[i] * ROTOR_TIME))
            _set_armature(element, name, armature)
            what = "for its effort" if efforts[i] > MOST_ACCELERATION * least else "for its damping"
            unit = "kg" if slides else "kg*m^2"
            rotors.append(f"joint '{name}' moves next to no inertia {what}: its rotor has {armature:g} {unit}")
    return limits, rotors


def _set_armature(element: Element, name: str, armature: float) -> None:
    control = element.find("ros2_control")
    if control is None:
        control = ElementTree.SubElement(element, "ros2_control", name="assumed", type="system")
    joint = next((tag for tag in control.findall("joint") if tag.get("name") == name), None)
    if joint is None:
        joint = ElementTree.SubElement(control, "joint", name=name)
    for old in joint.findall("./param[@name='armature']"):
        joint.remove(old)
    ElementTree.SubElement(joint, "param", name="armature").text = f"{armature:g}"


def _rounded_up(value: float) -> float:
    """Round up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")
