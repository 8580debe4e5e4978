"""Reader of the robot-level tags ``<flexibility>`` (elastic and flexible parts) and ``<ros2_control>``."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import (
    DRIVE_TERMS,
    Beam,
    ElasticJoint,
    FlexibleLink,
    ForceTorqueSensor,
    ImuSensor,
    Joint,
    Link,
    StrainGauge,
)
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.robot.xml_reader import LARGEST, check_known, read_number
from flexarm_core.types import Array

Element = ElementTree.Element
LINK_PARTS = ("beam", "modal_data", "strain_gauge")
MOST_ELEMENTS, MOST_MODES = 400, 20  # beyond these, beam theory is no longer valid
BEAM_ATTRIBUTES = (
    *("length", "EIy", "EIz", "GJ", "EA", "rho_A", "rho_Ip"),
    *("modes_y", "modes_z", "modes_torsion", "modes_axial"),
    *("damping_ratio", "elements", "tip_mass"),
)


def read_elastic_joints(element: Element, joints: dict[str, Joint]) -> tuple[ElasticJoint, ...]:
    """Return the elastic joints of ``<flexibility>``, in tree order."""
    movable = [name for name, joint in joints.items() if joint.kind != "fixed"]
    by_name: dict[str, ElasticJoint] = {}
    for tag in element.findall("./flexibility"):
        check_known(tag, (), ("elastic_joint", "flexible_link", "elastic_drive"))
    for tag in element.findall("./flexibility/elastic_joint"):
        check_known(tag, ("name", "stiffness", "damping"))
        name = tag.get("name", "")
        if name in by_name:
            raise RobotDescriptionError(f"<flexibility>: elastic joint '{name}' is described twice", joint=name)
        if name not in movable:
            raise RobotDescriptionError(
                f"<flexibility>: elastic joint '{name}' does not exist; movable joints: {', '.join(movable)}",
                joint=name,
            )
        if (kind := joints[name].kind) in ("floating", "planar"):
            raise RobotDescriptionError(
                f"<flexibility>: joint '{name}' is {kind}, and an elastic joint gives way in one direction: write it as"
                f" {'three prismatic and three' if kind == 'floating' else 'two prismatic joints and a'} revolute"
                f"{' joints' if kind == 'floating' else ' one'} in a row, with links of little mass between, as"
                f" urdf/boom_7r.urdf.xacro does, or leave it and name directions in a scenario (robot: {{elastic:"
                f" {{{name}_x: STIFFNESS}}}})",
                joint=name,
            )
        elastic = ElasticJoint(name, read_number(tag, "stiffness"), read_number(tag, "damping", 0.0))
        if elastic.stiffness < 0.0 or elastic.damping < 0.0:
            raise RobotDescriptionError(f"elastic joint '{name}': needs stiffness >= 0 and damping >= 0", joint=name)
        by_name[name] = elastic
    return tuple(by_name[name] for name in movable if name in by_name)


def read_commanded_joints(
    element: Element, joints: dict[str, Joint], elastic: tuple[ElasticJoint, ...]
) -> tuple[str, ...]:
    """Return the names of the joints with a command interface in ``<ros2_control>``, fixed ones among them."""
    springs = {joint.name for joint in elastic}
    commanded = []
    for tag in element.findall("./ros2_control/joint"):
        name = tag.get("name", "")
        if name not in joints:
            raise RobotDescriptionError(
                f"<ros2_control>: joint '{name}' does not exist; joints: {', '.join(joints)}", joint=name
            )
        if tag.find("command_interface") is not None:
            if name in springs:
                raise RobotDescriptionError(
                    f"joint '{name}' is elastic and has a command interface: it can be only one",
                    joint=name,
                )
            commanded.append(name)
    return tuple(commanded)


def actuated_joints(
    joints: dict[str, Joint], elastic: tuple[ElasticJoint, ...], commanded: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names of the actuated joints, in tree order.

    These are the movable joints with a command interface; if no joint has one, all movable joints that are not elastic.
    A joint that follows another one (``<mimic>``) has no motor, independent of its other properties.
    """
    movable = [name for name, joint in joints.items() if joint.kind != "fixed"]
    springs = {joint.name for joint in elastic}
    own = [name for name in movable if name not in springs and not joints[name].mimic]
    actuated = [name for name in own if not commanded or name in commanded]
    if not actuated:
        if not movable:
            raise RobotDescriptionError("no actuated joint: no joint moves; give the robot an arm")
        raise RobotDescriptionError(
            "no actuated joint: every movable joint is elastic or has no command interface; give one to each driven"
            " joint"
        )
    free = [name for name in own if name not in actuated]
    if free:
        raise RobotDescriptionError(
            "; ".join(f"joint '{name}' moves joints of the arm but is neither actuated nor elastic" for name in free)
            + ": give it a <command_interface> in <ros2_control> or an <elastic_joint> in <flexibility>; or hold it at"
            f" a position (robot: {{held: {{{free[0]}: 0.0}}}} in a scenario), let nodes read it (read_joints), or make"
            " it fixed",
            joint=free[0],
        )
    return tuple(actuated)


def read_armatures(element: Element, actuated: tuple[str, ...], following: tuple[str, ...] = ()) -> dict[str, float]:
    """Return the reflected rotor inertias ``<param name="armature">`` of ``<ros2_control>`` by joint [kg*m^2 | kg]."""
    armatures = {}
    for tag in element.findall("./ros2_control/joint"):
        name = tag.get("name", "")
        for param in tag.findall("param"):
            if param.get("name") != "armature":
                continue
            if name not in actuated and name not in following:
                raise RobotDescriptionError(
                    f"joint '{name}' has an armature but no motor: only actuated joints take one:"
                    f" {', '.join(actuated)}",
                    joint=name,
                )
            if name in armatures:
                raise RobotDescriptionError(f"joint '{name}' has two armatures: keep one", joint=name)
            text = (param.text or "").strip()
            try:
                armatures[name] = float(text)
            except ValueError:
                armatures[name] = np.nan
            if not 0.0 <= armatures[name] <= LARGEST:
                raise RobotDescriptionError(
                    f"joint '{name}': armature is '{text}', expected a finite number >= 0 [kg*m^2 | kg]",
                    joint=name,
                )
    return armatures


def read_drive_terms(element: Element, actuated: tuple[str, ...], key: str) -> tuple[str, ...]:
    """Return the terms of a ``<hardware><param>`` of the ``<ros2_control>`` that drive the arm.

    Its name is ``drive_adds`` or ``efforts_lack``.
    """
    found: dict[str, tuple[str, ...]] = {}
    for tag in element.findall("./ros2_control"):
        of_arm = [joint.get("name", "") for joint in tag.findall("joint") if joint.get("name") in actuated]
        words = [param.text or "" for param in tag.findall(f"./hardware/param[@name='{key}']")]
        adds = set(" ".join(words).replace(",", " ").split())
        if unknown := sorted(adds - {*DRIVE_TERMS}):
            raise RobotDescriptionError(
                f"<ros2_control>: {key} has '{unknown[0]}'; drives add {', '.join(DRIVE_TERMS)}"
            )
        found |= dict.fromkeys(of_arm, tuple(name for name in DRIVE_TERMS if name in adds))
    kinds = {found.get(name, ()) for name in actuated}
    if len(kinds) > 1:
        raise RobotDescriptionError(f"<ros2_control>: {key} must be the same for all joints of the arm")
    return kinds.pop()


def read_force_torque_sensors(element: Element, links: dict[str, Link]) -> dict[str, ForceTorqueSensor]:
    """Return the sensors of ``<ros2_control>`` with a force interface and a ``frame_id``, by name."""
    found = _sensors(element, links, "force.")
    return {name: ForceTorqueSensor(name, frame) for name, frame in found.items()}


def read_imus(element: Element, links: dict[str, Link]) -> dict[str, ImuSensor]:
    """Return the sensors of ``<ros2_control>`` with an angular velocity interface and a ``frame_id``, by name."""
    found = _sensors(element, links, "angular_velocity.")
    return {name: ImuSensor(name, frame) for name, frame in found.items()}


def sensors_without_frame(element: Element) -> list[str]:
    """Return the names of force/torque sensors and IMUs that say nowhere on which link they are.

    Descriptions of drivers have such sensors: ros2_control itself needs a frame only in the broadcaster's parameters.
    """
    tags = [tag for interface in ("force.", "angular_velocity.") for tag in _tags(element, interface)]
    return [tag.get("name", "") for tag in tags if _frame(tag) is None]


def _sensors(element: Element, links: dict[str, Link], interface: str) -> dict[str, str]:
    sensors = {}
    for tag in _tags(element, interface):
        name, frame = tag.get("name", ""), _frame(tag)
        if frame is None:
            continue
        if frame not in links:
            raise RobotDescriptionError(f"sensor '{name}': <param name=\"frame_id\"> '{frame}' is not a link")
        if not name or name in sensors:
            raise RobotDescriptionError(f"<ros2_control>: sensor '{name}' needs a name of its own")
        sensors[name] = frame
    return sensors


def _tags(element: Element, interface: str) -> list[Element]:
    """Return the sensors with a state interface whose name begins so."""
    return [
        tag
        for tag in element.findall("./ros2_control/sensor")
        if any(state.get("name", "").startswith(interface) for state in tag.findall("state_interface"))
    ]


def _frame(sensor: Element) -> str | None:
    frames = [param.text or "" for param in sensor.findall("param") if param.get("name") == "frame_id"]
    return frames[0].strip() if frames else None


def read_flexible_links(
    element: Element, links: dict[str, Link], root: str
) -> tuple[dict[str, FlexibleLink], dict[str, StrainGauge]]:
    """Return the flexible links of ``<flexibility>`` and the strain gauges on them, by name."""
    flexible: dict[str, FlexibleLink] = {}
    gauges: dict[str, StrainGauge] = {}
    for tag in element.findall("./flexibility/flexible_link"):
        name = tag.get("name", "")
        if name not in links or name == root:
            movable = ", ".join(link for link in links if link != root)
            raise RobotDescriptionError(
                f"<flexibility>: flexible link '{name}' is not a link that moves; links: {movable}",
                link=name,
            )
        if name in flexible:
            raise RobotDescriptionError(f"<flexibility>: flexible link '{name}' is described twice", link=name)
        check_known(tag, ("name",), LINK_PARTS)
        beams, files = tag.findall("beam"), tag.findall("modal_data")
        if len(beams) + len(files) != 1:
            raise RobotDescriptionError(
                f"flexible link '{name}' needs exactly one of <beam> and <modal_data>", link=name
            )
        for file in files:
            check_known(file, ("uri",))
        uri = files[0].get("uri", "") if files else ""
        if files and not uri:
            raise RobotDescriptionError(f"flexible link '{name}': <modal_data> needs a uri", link=name)
        flexible[name] = FlexibleLink(name, _read_beam(name, beams[0]) if beams else None, uri)
        for gauge in tag.findall("strain_gauge"):
            check_known(gauge, ("name", "x", "y", "z"))
            label = gauge.get("name", "")
            if not label or label in gauges:
                raise RobotDescriptionError(
                    f"flexible link '{name}': strain gauge '{label}' needs a name of its own", link=name
                )
            position = np.array([read_number(gauge, axis, 0.0) for axis in "xyz"])
            beam = flexible[name].beam
            if beam is not None and not 0.0 <= position[0] <= beam.length:
                raise RobotDescriptionError(f"strain gauge '{label}': x = {position[0]} m is not on the beam")
            gauges[label] = StrainGauge(label, name, position)
    return flexible, gauges


def _read_beam(link: str, tag: Element) -> Beam:
    try:
        check_known(tag, BEAM_ATTRIBUTES, ("origin",))
    except RobotDescriptionError as error:
        raise RobotDescriptionError(f"flexible link '{link}': {error}", link=link) from error
    tip_mass = tag.get("tip_mass", "outboard")
    beam = Beam(
        length=read_number(tag, "length"),
        EIy=read_number(tag, "EIy", 0.0),
        EIz=read_number(tag, "EIz", 0.0),
        GJ=read_number(tag, "GJ", 0.0),
        EA=read_number(tag, "EA", 0.0),
        rho_A=read_number(tag, "rho_A"),
        rho_Ip=read_number(tag, "rho_Ip", 0.0),
        modes_y=_count(tag, "modes_y", 0),
        modes_z=_count(tag, "modes_z", 0),
        modes_torsion=_count(tag, "modes_torsion", 0),
        modes_axial=_count(tag, "modes_axial", 0),
        damping_ratio=read_number(tag, "damping_ratio", 0.0),
        elements=_count(tag, "elements", 40),
        tip_mass=None if tip_mass == "outboard" else read_number(tag, "tip_mass"),
        transform_beam_to_link=_origin(tag),
    )
    for condition, wrong in (
        (beam.length > 0.0, "length must be > 0"),
        (beam.rho_A > 0.0, "rho_A must be > 0"),
        (beam.elements >= 4, "elements must be >= 4"),
        (beam.elements <= MOST_ELEMENTS, f"elements must be <= {MOST_ELEMENTS}"),
        (min(beam.EIy, beam.EIz, beam.GJ, beam.EA) >= 0.0, "EIy, EIz, GJ and EA must be >= 0"),
        (0.0 <= beam.damping_ratio < 1.0, "damping_ratio must lie in [0, 1)"),
        (beam.rho_Ip >= 0.0, "rho_Ip must be >= 0"),
        (beam.tip_mass is None or beam.tip_mass >= 0.0, "tip_mass must be >= 0, or 'outboard'"),
        (beam.modes_y == 0 or beam.EIz > 0.0, "modes_y needs EIz > 0 (deflection along y is bending about z)"),
        (beam.modes_z == 0 or beam.EIy > 0.0, "modes_z needs EIy > 0 (deflection along z is bending about y)"),
        (beam.modes_torsion == 0 or min(beam.GJ, beam.rho_Ip) > 0.0, "modes_torsion needs GJ > 0 and rho_Ip > 0"),
        (beam.modes_axial == 0 or beam.EA > 0.0, "modes_axial needs EA > 0"),
        (beam.modes_y + beam.modes_z + beam.modes_torsion + beam.modes_axial > 0, "a flexible link needs a mode"),
        (
            max(beam.modes_y, beam.modes_z, beam.modes_torsion, beam.modes_axial) <= beam.elements // 2,
            "at most elements / 2 modes of a kind are accurate: give more elements or fewer modes",
        ),
        (
            max(beam.modes_y, beam.modes_z, beam.modes_torsion, beam.modes_axial) <= MOST_MODES,
            f"at most {MOST_MODES} modes of a kind",
        ),
    ):
        if not condition:
            raise RobotDescriptionError(f"flexible link '{link}': {wrong}", link=link)
    return beam


def _origin(tag: Element) -> Array:
    transform = np.eye(4)
    origin = tag.find("origin")
    if origin is not None:
        check_known(origin, ("xyz", "rpy"))
        transform[:3, :3] = roll_pitch_yaw_to_rotation(*_triple(origin, "rpy"))
        transform[:3, 3] = _triple(origin, "xyz")
    return transform


def _triple(tag: Element, attribute: str) -> list[float]:
    text = tag.get(attribute, "0 0 0")
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != 3 or not np.isfinite(values).all() or max(map(abs, values)) > 1e6:
        raise RobotDescriptionError(f"<origin>: {attribute} is '{text}', expected three numbers")
    return values


def _count(tag: Element, attribute: str, default: int) -> int:
    value = read_number(tag, attribute, float(default))
    if value != round(value) or value < 0:
        raise RobotDescriptionError(f"<{tag.tag}>: {attribute} is '{tag.get(attribute)}', expected a whole number >= 0")
    return round(value)
