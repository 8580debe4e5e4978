"""RobotDescription -> MJCF, MuJoCo's model text: the rigid bodies, springs and sensors of the simulated plant.

One body per link (``link/NAME``; the root link is MuJoCo's ``world``), fixed links as welded bodies so that a sensor
may sit on any of them. A link whose centre of mass is not at its origin gets a massless welded body ``origin/NAME`` at
that origin: MuJoCo applies external wrenches at a body's centre of mass, and this one's is the link's origin in every
stage of an integration step. Geometry carries neither mass nor contact here and is left out.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import numpy as np

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.robot.description import ElasticJoint, Joint, Link, RobotDescription
from flexarm_core.types import Array
from flexarm_sim.validation import is_number

MINIMUM_INERTIA = 1e-12  # [kg*m^2] MuJoCo refuses moving bodies below 1e-15; stands for the zeros of a point mass
TOOL_SITE = "tool"


def link_body(description: RobotDescription, link: str) -> str:
    """Name of the body that moves with a link and has its frame."""
    return "world" if link == description.root else f"link/{link}"


def wrench_body(description: RobotDescription, link: str) -> str:
    """Name of the body whose centre of mass is the origin of a link: external wrenches act there."""
    return f"origin/{link}" if _needs_origin_body(description, link) else link_body(description, link)


def sensor_site(sensor: str) -> str:
    """Name of the site at which a force/torque sensor measures."""
    return f"sensor/{sensor}"


def build_mjcf(
    description: RobotDescription,
    *,
    tool_frame: str = "",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    timestep: float = 0.00025,
    hard_stops: bool = False,
) -> str:
    """Write the MJCF model of a robot.

    Joint ``<dynamics>`` damping and friction of actuated joints are taken over. Elastic joints get the stiffness and
    damping of their ``<elastic_joint>`` tag, which stands in place of ``<dynamics damping>`` there.

    Args:
        description: the robot.
        tool_frame: link of the tool, empty for ``tool0`` or the only tip.
        gravity: (3,) in axes of the root link [m/s^2].
        timestep: [s].
        hard_stops: whether joints stop at the position limits of the description.

    Returns:
        MJCF text.

    Raises:
        ConfigError: gravity is not three finite numbers, or the timestep is not positive.
        RobotDescriptionError: unknown tool frame, a sensor on the root link, an inertia no body can have.
    """
    if len(gravity) != 3 or not all(is_number(component) for component in gravity):
        raise ConfigError(f"gravity is {gravity}, expected three finite numbers [m/s^2] in axes of the root link")
    if not (is_number(timestep) and timestep > 0.0):
        raise ConfigError(f"timestep is {timestep}, expected a positive number [s]")
    model = ElementTree.Element("mujoco", model=description.name)
    ElementTree.SubElement(model, "compiler", angle="radian", inertiafromgeom="false", autolimits="true")
    option = ElementTree.SubElement(
        model, "option", timestep=_text(timestep), integrator="RK4", gravity=_text(*gravity)
    )
    # a plant that silently starts over after a divergence would hide it
    ElementTree.SubElement(option, "flag", contact="disable", autoreset="disable")
    world = ElementTree.SubElement(model, "worldbody")
    bodies = _add_bodies(description, world, hard_stops)
    ElementTree.SubElement(bodies[description.tool_frame(tool_frame)], "site", name=TOOL_SITE)
    _add_motors(description, model)
    _add_sensors(description, model, bodies)
    ElementTree.indent(model)
    return ElementTree.tostring(model, encoding="unicode")


def _text(*numbers: float) -> str:
    return " ".join(repr(float(number)) for number in numbers)  # repr keeps every digit of a double


def _is_massless(link: Link) -> bool:
    return link.mass == 0.0 and not link.inertia.any()


def _needs_origin_body(description: RobotDescription, name: str) -> bool:
    link = description.links[name]
    return name != description.root and not _is_massless(link) and bool(link.center_of_mass.any())


def _add_bodies(
    description: RobotDescription, world: ElementTree.Element, hard_stops: bool
) -> dict[str, ElementTree.Element]:
    elastic = {joint.name: joint for joint in description.elastic}
    bodies = {description.root: world}
    for joint in description.joints.values():  # parents come before children
        transform = joint.transform_child_to_parent
        body = ElementTree.SubElement(
            bodies[joint.parent],
            "body",
            name=link_body(description, joint.child),
            pos=_text(*transform[:3, 3]),
            quat=_text(*_quaternion(transform[:3, :3])),
        )
        bodies[joint.child] = body
        _add_inertial(description.links[joint.child], body)
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
        axis=_text(*joint.axis),
        damping=_text(spring.damping if spring else joint.damping),
    )
    if spring:
        element.set("stiffness", _text(spring.stiffness))
        element.set("springref", "0")
    if joint.friction > 0.0:
        element.set("frictionloss", _text(joint.friction))
    if hard_stops and np.isfinite(joint.lower) and np.isfinite(joint.upper):
        element.set("range", _text(joint.lower, joint.upper))


def _add_inertial(link: Link, body: ElementTree.Element) -> None:
    """Principal moments and axes: computed here to full precision, where MuJoCo's own reduction stops at 1e-12."""
    if _is_massless(link):
        # said outright: a body without <inertial> gets a centre of mass away from its origin
        ElementTree.SubElement(body, "inertial", pos="0 0 0", mass="0", diaginertia="0 0 0")
        return
    moments, axes = np.linalg.eigh(link.inertia)
    if moments[2] - moments[0] < 1e-12 * moments[2]:
        axes = np.eye(3)  # a sphere has no preferred axes: spare the round-off
    lacking = moments[2] - moments[0] - moments[1]
    if lacking > 1e-6 * moments[2]:
        raise RobotDescriptionError(
            f"link '{link.name}': principal moments of inertia {moments} break the triangle inequality (the largest"
            " exceeds the sum of the others): no body of positive mass has them, correct <inertia>"
        )
    moments = np.maximum(moments, MINIMUM_INERTIA)
    moments[2] = min(moments[2], moments[0] + moments[1])  # flat bodies lie on the bound and round-off puts them beyond
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    ElementTree.SubElement(
        body,
        "inertial",
        pos=_text(*link.center_of_mass),
        mass=_text(link.mass),
        diaginertia=_text(*moments),
        quat=_text(*_quaternion(axes)),
    )


def _quaternion(rotation: Array) -> Array:
    """Unit quaternion ``[w, x, y, z]`` of a rotation matrix, as the eigenvector of Bar-Itzhack's matrix (2000)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation
    matrix = np.array(
        [
            [xx + yy + zz, zy - yz, xz - zx, yx - xy],
            [zy - yz, xx - yy - zz, xy + yx, xz + zx],
            [xz - zx, xy + yx, yy - xx - zz, yz + zy],
            [yx - xy, xz + zx, yz + zy, zz - xx - yy],
        ]
    )
    if np.array_equal(rotation, np.eye(3)):
        return np.array([1.0, 0.0, 0.0, 0.0])
    quaternion: Array = np.linalg.eigh(matrix)[1][:, -1]
    return quaternion if quaternion[0] >= 0.0 else -quaternion


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
