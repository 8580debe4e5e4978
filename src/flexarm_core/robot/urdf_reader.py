"""Reader that converts a robot_description text to a checked RobotDescription.

Standard URDF elements are read by ``urdf_parser_py``, the parser of ROS. (``urdfpy`` cannot be imported on Python 3.10
or later, because it pins networkx 2.2.) The robot-level tags ``<flexibility>`` and ``<ros2_control>`` are read by
``extensions_reader``.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import replace

import numpy as np
from urdf_parser_py import urdf, xml_reflection

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.added_springs import Springs, with_springs
from flexarm_core.robot.coupled_joints import coupled_joints, uncoupled_joints, write_coupled
from flexarm_core.robot.description import Joint, Link, RobotDescription, Shape
from flexarm_core.robot.dynamics_check import check_dynamics, with_shared_inertia
from flexarm_core.robot.elastic_drives import add_drive_links, read_drives
from flexarm_core.robot.extensions_reader import (
    actuated_joints,
    read_armatures,
    read_commanded_joints,
    read_drive_terms,
    read_elastic_joints,
    read_flexible_links,
    read_force_torque_sensors,
    read_imus,
)
from flexarm_core.robot.held_joints import fixed_joint, held_positions, initial_positions, joints_outside
from flexarm_core.robot.held_tags import check_readable, held_joints, read_told, write_held
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.robot.urdf_parts import ENDLESS, SLIDE, lost_links
from flexarm_core.robot.xml_reader import read_robot_xml, with_prefixes
from flexarm_core.types import Array

GRAY = (0.6, 0.6, 0.65, 1.0)  # color of shapes without a material
FREE_TYPES = ("floating", "planar")  # several degrees of freedom: they can only be held


def parse_robot_description(
    text: str,
    massless: bool = False,
    held: Mapping[str, float] | None = None,
    read: Collection[str] = (),
    added_springs: Springs | None = None,
) -> RobotDescription:
    """Read and check a robot description.

    Args:
        text: URDF text (already expanded, not xacro).
        massless: whether to skip the checks for dynamics (:mod:`dynamics_check`), which kinematics does not need.
        held: positions of joints that are to be read as fixed, by name [rad | m]; a floating or planar joint is held at
            0. Joints outside of the arm need not be named.
        read: names of joints that are to be read as fixed, too, and whose position is measured later
            (:func:`held_tags.place_held`).
        added_springs: stiffness and damping of joints, or of directions of floating and planar ones, that the text
            does not call elastic (:mod:`added_springs`).

    Raises:
        RobotDescriptionError: the text is not valid XML or URDF, fails the checks for dynamics, or has invalid
            ``<flexibility>`` or ``<ros2_control>`` tags.
    """
    text = with_springs(with_prefixes(text), added_springs or {}) if isinstance(text, str) else text
    element = read_robot_xml(text)
    if add_drive_links(element):
        text = ElementTree.tostring(element, encoding="unicode")
    robot = _read_urdf(element)
    colors = {material.name: tuple(material.color.rgba) for material in robot.materials if material.color is not None}
    links = {link.name: _convert_link(link, colors) for link in robot.links}
    joints = _sort_joints(robot)
    root = robot.get_root()
    for name in uncoupled_joints(element):
        joints[name] = replace(joints[name], mimic="", multiplier=1.0, offset=0.0)
    elastic = read_elastic_joints(element, joints)
    commanded = read_commanded_joints(element, joints, elastic)
    springs = [joint.name for joint in elastic]
    initial = initial_positions(element)
    told = read_told(element)
    wanted: dict[str, float | None] = dict(held or {})
    unfixed = [name for name in read if name not in told and name not in wanted]
    if unfixed:
        apart = joints_outside(joints, springs, commanded)
        wanted |= dict.fromkeys(name for name in unfixed if name not in apart)
    named = held_positions(joints, springs, (), wanted, initial, unfixed)
    described = dict(joints)
    joints |= {name: fixed_joint(joints[name], position) for name, position in named.items()}
    outside = joints_outside(joints, springs, [name for name in commanded if joints[name].kind != "fixed"])
    beside = held_positions(joints, springs, outside, {}, initial)
    joints |= {name: fixed_joint(joints[name], position) for name, position in beside.items()}
    positions = named | beside
    if positions:
        new = held_joints(described, positions, named)
        text = write_held(element, joints, new)
        told |= new
    check_readable(told, read)
    if unfixed and all(joint.kind == "fixed" for joint in joints.values()):
        raise RobotDescriptionError(
            "read_joints names all joints that move, so that none is left to drive: name those that are not of the arm;"
            " joints of the arm are always read"
        )
    immovable = [error for joint in joints.values() if (error := _immovable(joint)) is not None]
    if immovable:
        raise RobotDescriptionError("; ".join(map(str, immovable)), joint=immovable[0].joint)
    actuated = actuated_joints(joints, elastic, commanded)
    for name in (spring.name for spring in elastic):  # no motor: an effort limit of 0 means none
        joints[name] = replace(joints[name], effort_limit=joints[name].effort_limit or np.inf)
    following = tuple(name for name, joint in joints.items() if joint.mimic)
    for name, armature in read_armatures(element, actuated, following).items():
        joints[name] = replace(joints[name], armature=armature)
    coupled = coupled_joints(joints, actuated, springs, commanded)
    rotors = [coupled[name] for name in following if joints[name].armature]
    if following:
        text = write_coupled(element, joints, coupled)
    joints |= coupled
    flexible, gauges = read_flexible_links(element, links, root)
    drives, encoders = read_drives(element, joints, actuated, massless)
    for joint in rotors:
        if any(link.drive is not None and link.drive.joint == joint.mimic for link in drives.values()):
            raise RobotDescriptionError(
                f"joint '{joint.name}' follows '{joint.mimic}' (<mimic>), which has an <elastic_drive>, and has an"
                f" armature: add that to the inertia of link '{joint.child}', because it is no rotor of the drive",
                joint=joint.name,
            )
    if taken := [*(flexible.keys() & drives), *(gauges.keys() & encoders)]:
        raise RobotDescriptionError(f"<flexibility>: the name '{taken[0]}' is given twice")
    description = RobotDescription(
        name=robot.name,
        text=text,
        root=root,
        links=links,
        joints=joints,
        actuated=actuated,
        elastic=elastic,
        outside={name: one.position for name, one in told.items() if not one.named},
        held=told,
        force_torque_sensors=read_force_torque_sensors(element, links),
        flexible_links=flexible | drives,
        strain_gauges=gauges | encoders,
        imus=read_imus(element, links),
        drive_adds=read_drive_terms(element, actuated, "drive_adds"),
        efforts_lack=read_drive_terms(element, actuated, "efforts_lack"),
    )
    description = replace(description, links=with_shared_inertia(description))
    if not massless:
        check_dynamics(description)
    _check_elastic_below_arm(description)
    return description


def _read_urdf(element: ElementTree.Element) -> urdf.Robot:
    plain = ElementTree.Element("robot", element.attrib)
    plain.extend(deepcopy(child) for child in element if child.tag in ("link", "joint", "material"))
    for material in plain.iter("material"):
        for texture in material.findall("texture"):  # not shown, and often without the file that the parser asks for
            material.remove(texture)
    problems: list[str] = []
    report = xml_reflection.core.on_error
    xml_reflection.core.on_error = problems.append
    try:
        robot = urdf.Robot.from_xml_string(ElementTree.tostring(plain))
    except Exception as error:  # urdf_parser_py raises bare Exception, AssertionError, KeyError, ValueError, ...
        said = " ".join(str(error).split())[:200]
        raise RobotDescriptionError(f"robot_description is not valid URDF: {said or type(error).__name__}") from error
    finally:
        xml_reflection.core.on_error = report
    ends = [(joint.name, link) for joint in robot.joints for link in (joint.parent, joint.child)]
    if lost := lost_links(ends, robot.link_map):
        raise RobotDescriptionError(
            "; ".join(lost), joint=next(name for name, link in ends if link not in robot.link_map)
        )
    children = Counter(joint.child for joint in robot.joints)
    for child, count in children.items():
        if count > 1:
            raise RobotDescriptionError(
                f"link '{child}' is the child of several joints: a robot must be a tree", link=child
            )
    roots = [name for name in robot.link_map if name not in children]
    if len(roots) != 1:
        raise RobotDescriptionError(f"a robot needs exactly one root link, this one has: {', '.join(roots) or 'none'}")
    return robot


def _transform(pose: urdf.Pose | None) -> Array:
    transform = np.eye(4)
    if pose is None:
        return transform
    transform[:3, :3] = roll_pitch_yaw_to_rotation(*(pose.rpy or (0.0, 0.0, 0.0)))
    transform[:3, 3] = pose.xyz or (0.0, 0.0, 0.0)
    return transform


def _convert_link(link: urdf.Link, colors: dict[str, tuple[float, ...]]) -> Link:
    mass, center, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    if link.inertial is not None:
        transform = _transform(link.inertial.origin)
        mass, center = float(link.inertial.mass or 0.0), transform[:3, 3]
        if link.inertial.inertia is not None:
            rotation = transform[:3, :3]
            inertia = rotation @ np.array(link.inertial.inertia.to_matrix(), dtype=float) @ rotation.T
    return Link(link.name, mass, center, inertia, tuple(_shapes(link, colors)))


def _shapes(link: urdf.Link, colors: dict[str, tuple[float, ...]]) -> list[Shape]:
    shapes = []
    for visual in link.visuals:
        material = visual.material
        own = material.color if material is not None else None
        named = colors.get(material.name, GRAY) if material is not None else GRAY
        red, green, blue, alpha = own.rgba if own is not None else named
        geometry = visual.geometry
        if isinstance(geometry, urdf.Box):
            kind, size = "box", tuple(geometry.size)
        elif isinstance(geometry, urdf.Cylinder):
            kind, size = "cylinder", (geometry.radius, geometry.length)
        elif isinstance(geometry, urdf.Sphere):
            kind, size = "sphere", (geometry.radius,)
        else:
            continue  # meshes are for RViz; reports and the plant show primitive shapes only
        shapes.append(Shape(kind, size, _transform(visual.origin), (red, green, blue, alpha)))
    return shapes


def _convert_joint(joint: urdf.Joint) -> Joint:
    axis = np.array(joint.axis if joint.axis is not None else (1.0, 0.0, 0.0), dtype=float)
    norm = float(np.linalg.norm(axis))
    limit, dynamics = joint.limit, joint.dynamics
    bounded = limit is not None and joint.type in ("revolute", "prismatic")
    lower = float(limit.lower or 0.0) if bounded else -np.inf
    upper = float(limit.upper or 0.0) if bounded else np.inf
    damping, friction = (float(dynamics.damping or 0.0), float(dynamics.friction or 0.0)) if dynamics else (0.0, 0.0)
    velocity, effort = (np.inf, np.inf) if limit is None else (float(limit.velocity), float(limit.effort))
    mimic = joint.mimic if joint.type != "fixed" else None
    return Joint(
        name=joint.name,
        kind=joint.type,
        parent=joint.parent,
        child=joint.child,
        transform_child_to_parent=_transform(joint.origin),
        axis=axis / norm if norm > 1e-9 else np.zeros(3),
        lower=lower,
        upper=upper,
        velocity_limit=velocity,
        effort_limit=effort,
        damping=damping,
        friction=friction,
        mimic="" if mimic is None else str(mimic.joint),
        multiplier=1.0 if mimic is None or mimic.multiplier is None else float(mimic.multiplier),
        offset=0.0 if mimic is None or mimic.offset is None else float(mimic.offset),
    )


def _immovable(joint: Joint) -> RobotDescriptionError | None:
    """Return why a joint of the arm cannot move as it is described; None if it can."""
    if joint.kind in FREE_TYPES:
        return RobotDescriptionError(
            f"joint '{joint.name}': type '{joint.kind}' is not supported; hold it (in a scenario, robot: {{held:"
            f" {{{joint.name}: 0.0}}}}), or make it fixed",
            joint=joint.name,
        )
    if joint.kind == "fixed":
        return None
    if not joint.axis.any():
        return RobotDescriptionError(f"joint '{joint.name}': <axis> has no direction", joint=joint.name)
    if not joint.lower < joint.upper:
        return RobotDescriptionError(
            f"joint '{joint.name}': lower limit {joint.lower} is not below upper limit {joint.upper}; "
            + (SLIDE if joint.kind == "prismatic" else ENDLESS),
            joint=joint.name,
        )
    if joint.velocity_limit == 0.0:
        return RobotDescriptionError(
            f"joint '{joint.name}': <limit velocity> is 0: it could not move; give what the drive can do, or make it"
            " fixed",
            joint=joint.name,
        )
    return None


def _sort_joints(robot: urdf.Robot) -> dict[str, Joint]:
    """Return the joints by name, parents before children, siblings in alphabetical order as in Pinocchio."""
    ordered: dict[str, Joint] = {}
    waiting = [robot.get_root()]
    while waiting:
        link = waiting.pop(0)
        children = sorted(robot.child_map.get(link, []))
        for name, _child in children:
            ordered[name] = _convert_joint(robot.joint_map[name])
        waiting[:0] = [child for _, child in children]  # depth first
    if len(ordered) != len(robot.joints):
        lost = [joint.name for joint in robot.joints if joint.name not in ordered]
        raise RobotDescriptionError(f"joints not reachable from the root link: {', '.join(lost)}")
    return ordered


def _check_elastic_below_arm(description: RobotDescription) -> None:
    """Raise RobotDescriptionError if an elastic joint is outboard of an actuated joint, so not part of the base."""
    names = {elastic.name for elastic in description.elastic}
    inboard = {joint.child: joint for joint in description.joints.values()}
    for name in names:
        link = description.joints[name].parent
        while link in inboard:
            if inboard[link].driver in description.actuated:
                raise RobotDescriptionError(
                    f"elastic joint '{name}' lies outboard of actuated joint '{inboard[link].driver}':"
                    " elastic joints belong under the base",
                    joint=name,
                )
            link = inboard[link].parent
