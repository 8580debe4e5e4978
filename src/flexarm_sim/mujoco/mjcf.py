"""Convert a RobotDescription to MJCF, MuJoCo's model text: rigid bodies, springs and sensors of the simulated plant.

There is one body per link (``link/NAME``; the root link is MuJoCo's ``world``). Fixed links are welded bodies, so that
a sensor may be on any of them. A link whose center of mass is not at its origin gets a massless welded body
``origin/NAME`` at that origin: MuJoCo applies external wrenches at the center of mass of a body, and for this body that
is the origin of the link in every stage of an integration step. Geometry has neither mass nor contact here and is left
out, except for the tool tip if there are surfaces (see ``mjcf_contact``). A flexible link is a chain of bodies;
``link/NAME`` is the inboard one (see ``mjcf_beam``).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence

import numpy as np

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.robot.description import ElasticJoint, Joint, Link, RobotDescription
from flexarm_sim.beam_chain import BeamChain
from flexarm_sim.mujoco.mjcf_beam import add_chain, add_dampers
from flexarm_sim.mujoco.mjcf_contact import add_surfaces
from flexarm_sim.mujoco.mjcf_text import add_inertial, number_text, quaternion
from flexarm_sim.surfaces import Surface, check_surfaces
from flexarm_sim.validation import is_number

TOOL_SITE = "tool"


def link_body(description: RobotDescription, link: str) -> str:
    """Return the name of the body that moves with a link and has its frame."""
    return "world" if link == description.root else f"link/{link}"


def wrench_body(description: RobotDescription, link: str) -> str:
    """Return the name of the body whose center of mass is the origin of a link: external wrenches act there."""
    return f"origin/{link}" if _needs_origin_body(description, link) else link_body(description, link)


def sensor_site(sensor: str) -> str:
    """Return the name of the site at which a force/torque sensor measures."""
    return f"sensor/{sensor}"


def imu_site(imu: str) -> str:
    """Return the name of the site at which an IMU measures."""
    return f"imu/{imu}"


def build_mjcf(
    description: RobotDescription,
    *,
    tool_frame: str = "",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    timestep: float = 0.00025,
    hard_stops: bool = False,
    chains: Mapping[str, BeamChain] | None = None,
    surfaces: Sequence[Surface] = (),
    tip_radius: float = 0.015,
) -> str:
    """Write the MJCF model of a robot.

    Damping and friction of actuated joints are taken from ``<dynamics>``, together with their armature. Elastic joints
    get the stiffness and damping of their ``<elastic_joint>`` tag, which replaces ``<dynamics damping>`` there.

    Args:
        description: the robot.
        tool_frame: link of the tool, empty for ``tool0`` or the only tip.
        gravity: (3,) gravity in axes of the root link [m/s^2].
        timestep: integration step [s].
        hard_stops: whether joints stop at the position limits of the description.
        chains: flexible links by name; all others are rigid.
        surfaces: surfaces that the tool tip can touch.
        tip_radius: radius of the sphere around the tool frame's origin that touches them [m].

    Returns:
        MJCF text.

    Raises:
        ConfigError: gravity is not three finite numbers, the timestep is not positive, or two surfaces have one name.
        RobotDescriptionError: unknown tool frame, a sensor on the root link, or an inertia that is not physical.
    """
    if len(gravity) != 3 or not all(is_number(component) for component in gravity):
        raise ConfigError(f"gravity is {gravity}, expected three finite numbers [m/s^2] in axes of the root link")
    if not (is_number(timestep) and timestep > 0.0):
        raise ConfigError(f"timestep is {timestep}, expected a positive number [s]")
    model = ElementTree.Element("mujoco", model=description.name)
    ElementTree.SubElement(model, "compiler", angle="radian", inertiafromgeom="false", autolimits="true")
    option = ElementTree.SubElement(
        model, "option", timestep=number_text(timestep), integrator="RK4", gravity=number_text(*gravity)
    )
    check_surfaces(surfaces, tip_radius)
    # automatic resets would hide a divergence; all contacts belong to one island
    flags = {"contact": "enable", "island": "disable"} if surfaces else {"contact": "disable"}
    ElementTree.SubElement(option, "flag", flags, autoreset="disable")
    world = ElementTree.SubElement(model, "worldbody")
    chains = chains or {}
    bodies = _add_bodies(description, world, hard_stops, chains)
    tool = bodies[description.tool_frame(tool_frame)]
    ElementTree.SubElement(tool, "site", name=TOOL_SITE)
    if surfaces:
        add_surfaces(model, world, tool, surfaces, tip_radius)
    add_dampers(chains, model)
    _add_motors(description, model)
    _add_sensors(description, model, bodies)
    ElementTree.indent(model)
    return ElementTree.tostring(model, encoding="unicode")


def _is_massless(link: Link) -> bool:
    return link.mass == 0.0 and not link.inertia.any()


def _needs_origin_body(description: RobotDescription, name: str) -> bool:
    link = description.links[name]
    if name in description.flexible_links:
        return True  # the center of mass of its inboard piece is not that of the link
    return name != description.root and not _is_massless(link) and bool(link.center_of_mass.any())


def _add_bodies(
    description: RobotDescription,
    world: ElementTree.Element,
    hard_stops: bool,
    chains: Mapping[str, BeamChain],
) -> dict[str, ElementTree.Element]:
    elastic = {joint.name: joint for joint in description.elastic}
    pieces: dict[str, list[ElementTree.Element]] = {}
    bodies = {description.root: world}
    for joint in description.joints.values():  # parents come before children
        transform = joint.transform_child_to_parent
        carrier, position = bodies[joint.parent], transform[:3, 3]
        if joint.parent in chains:
            chain = chains[joint.parent]
            piece = chain.piece_at(position)
            carrier, position = pieces[joint.parent][piece], position - chain.start_of(piece)
        body = ElementTree.SubElement(
            carrier,
            "body",
            name=link_body(description, joint.child),
            pos=number_text(*position),
            quat=number_text(*quaternion(transform[:3, :3])),
        )
        bodies[joint.child] = body
        link = description.links[joint.child]
        if link.name in chains:
            pieces[link.name] = add_chain(chains[link.name], link, body)
        else:
            add_inertial(body, link.name, link.mass, link.center_of_mass, link.inertia)
        if joint.kind != "fixed":
            _add_joint(joint, elastic.get(joint.name), body, hard_stops)
        if _needs_origin_body(description, joint.child):
            ElementTree.SubElement(body, "body", name=wrench_body(description, joint.child))
    return bodies


def _add_joint(joint: Joint, spring: ElasticJoint | None, body: ElementTree.Element, hard_stops: bool) -> None:
    element = ElementTree.SubElement(
        body,
        "joint",
        name=joint.name,
        type="slide" if joint.kind == "prismatic" else "hinge",
        axis=number_text(*joint.axis),
        damping=number_text(spring.damping if spring else joint.damping),
    )
    if spring:
        element.set("stiffness", number_text(spring.stiffness))
        element.set("springref", "0")
    if joint.armature > 0.0:
        element.set("armature", number_text(joint.armature))
    if joint.friction > 0.0:
        element.set("frictionloss", number_text(joint.friction))
    if hard_stops and np.isfinite(joint.lower) and np.isfinite(joint.upper):
        element.set("range", number_text(joint.lower, joint.upper))


def _add_motors(description: RobotDescription, model: ElementTree.Element) -> None:
    actuator = ElementTree.SubElement(model, "actuator")
    for name in description.actuated:
        ElementTree.SubElement(actuator, "motor", name=name, joint=name)


def _add_sensors(
    description: RobotDescription, model: ElementTree.Element, bodies: dict[str, ElementTree.Element]
) -> None:
    group = ElementTree.SubElement(model, "sensor")
    for sensor in description.force_torque_sensors.values():
        if sensor.frame == description.root:
            raise RobotDescriptionError(
                f"sensor '{sensor.name}' sits on the root link '{sensor.frame}', through which no wrench passes:"
                " name a link that is the child of a joint"
            )
        site = sensor_site(sensor.name)
        ElementTree.SubElement(bodies[sensor.frame], "site", name=site)
        ElementTree.SubElement(group, "force", name=f"force/{sensor.name}", site=site)
        ElementTree.SubElement(group, "torque", name=f"torque/{sensor.name}", site=site)
    for imu in description.imus.values():
        site = imu_site(imu.name)
        ElementTree.SubElement(bodies[imu.frame], "site", name=site)
        ElementTree.SubElement(group, "accelerometer", name=f"accelerometer/{imu.name}", site=site)
        ElementTree.SubElement(group, "gyro", name=f"gyro/{imu.name}", site=site)
