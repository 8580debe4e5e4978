"""The SDF model of a robot for Gazebo: springs, sensors, flexible links as chains of elastic joints, and a start.

Gazebo's own reading of a URDF drops links without mass with all that they carry, merges fixed links and knows neither
springs nor links that bend. Therefore the model is written here, one SDF link a URDF link, in full precision.

DART integrates springs and dampers by backward Euler: a step ``h`` adds ``h k`` to the damping of a spring ``k``. So
much less damping is given, as far as there is any.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import Joint, Link, RobotDescription, Shape
from flexarm_core.types import Array
from flexarm_nodes.node.topics import imu_topic, wrench_topic
from flexarm_sim.beam_chain import BeamChain, make_chains
from flexarm_sim.mujoco.beam import hinge_joint, piece_inertias
from flexarm_tools.gazebo.names import GazeboNames
from flexarm_tools.gazebo.xml_parts import add, copied, inertial, numbers, pose, shape_tag

Element = ElementTree.Element
SEGMENTS = 6  # rigid segments of a flexible link
DRIVE_BANDWIDTH = 200.0  # [rad/s] as in the simulated plant
RATE = 500.0  # [Hz] of sensors, clock and controller manager
TIP_RADIUS = 0.015  # [m] of the sphere at the tool that touches things, as in the simulated plant
BEAM_WIDTH = 0.03  # [m] of a piece of a beam in the picture
WORLD_JOINT = "fixed_to_world"
PLUGIN = {"filename": "gz_ros2_control-system", "name": "gz_ros2_control::GazeboSimROS2ControlPlugin"}
LOADER = {"filename": "gz-sim-python-system-loader-system", "name": "gz::sim::systems::PythonSystemLoader"}
START_SYSTEM = "flexarm_tools.gazebo.start_system"
CLOCK_SYSTEM = "flexarm_tools.gazebo.clock_system"
LINK_PARTS = ("sensor", "light", "gravity", "enable_wind", "kinematic", "particle_emitter")  # of <gazebo reference>


@dataclass(frozen=True, slots=True)
class GazeboStart:
    """Positions at which a robot begins in Gazebo.

    Attributes:
        joints: of actuated and elastic joints, by name; those that are missing begin at zero [rad | m].
        hinges: of the hinges of flexible links, by the name of ``hinge_joint`` [rad | m].
        efforts: efforts that hold the arm there, by actuated joint [N*m | N].
    """

    joints: Mapping[str, float] = field(default_factory=dict)
    hinges: Mapping[str, float] = field(default_factory=dict)
    efforts: Mapping[str, float] = field(default_factory=dict)


def gazebo_model(
    description: RobotDescription,
    step: float,
    start: GazeboStart | None = None,
    *,
    tool_frame: str = "",
    tip_radius: float = TIP_RADIUS,
    controller_files: Sequence[str] = (),
    segments: int = SEGMENTS,
    rate: float = RATE,
    drive_bandwidth: float = DRIVE_BANDWIDTH,
    clock: bool = True,
    names: GazeboNames | None = None,
) -> str:
    """Return the robot as an SDF model with every joint of the description, fixed to the world at its root link.

    A force/torque sensor is in the joint above its frame; it measures the wrench that the robot side exerts on the base
    side, in the frame of its link. Hinges of flexible links have their deflection in the poses, so that Gazebo begins
    with it; joints begin where ``start_system`` and gz_ros2_control (``with_start``) put them.

    Args:
        description: description of the robot.
        step: integration step of the world, for the damping [s].
        start: where the robot begins; by default with undeflected links.
        tool_frame: link of the tool, which gets a sphere that touches things unless it has a collision shape.
        tip_radius: radius of that sphere [m].
        controller_files: parameter files for gz_ros2_control, later ones before earlier ones; the first is that of the
            controllers and is left out where the description names its own.
        segments: rigid segments of a flexible link, at least as many as it has modes of a kind.
        rate: of the sensors and of the clock [Hz].
        drive_bandwidth: bandwidth of the drives in position mode [rad/s].
        clock: whether this robot brings ``/clock`` along; one of a world does.
        names: of model, topics, frames and controller manager; by default those of an arm in the root namespace.

    Raises:
        RobotDescriptionError: a force/torque sensor is in the root link, where nothing can be measured, a joint has a
            name that cannot be used in Gazebo, or one follows another.
    """
    return _Model(description, step, start or GazeboStart(), segments, names or GazeboNames()).write(
        description.tool_frame(tool_frame), tip_radius, controller_files, rate, clock, drive_bandwidth
    )


def with_start(description: RobotDescription, start: GazeboStart) -> str:
    """Return the URDF in which ``<ros2_control>`` says where and with which effort gz_ros2_control begins.

    The effort acts from the activation of an effort controller to its first command: without it, the arm would fall
    during this time.
    """
    robot = ElementTree.fromstring(description.text)
    for joint in robot.iterfind("ros2_control/joint"):
        name = joint.get("name", "")
        values = {"position": start.joints.get(name), "effort": start.efforts.get(name)}
        for state in joint.findall("state_interface"):
            value = values.get(state.get("name", ""))
            if value is None:
                continue
            for given in [one for one in state.findall("param") if one.get("name") == "initial_value"]:
                state.remove(given)
            add(state, "param", repr(float(value))).set("name", "initial_value")
    return ElementTree.tostring(robot, encoding="unicode")


def bendable(description: RobotDescription, segments: int = SEGMENTS) -> dict[str, BeamChain]:
    """Return the chains of the flexible links that Gazebo can bend: those with a beam."""
    description = description.with_rigid_drives()
    most = max(
        (
            max(link.beam.modes_y, link.beam.modes_z, link.beam.modes_torsion, link.beam.modes_axial)
            for link in description.flexible_links.values()
            if link.beam is not None
        ),
        default=0,
    )
    if not most or any(link.beam is None for link in description.flexible_links.values()):
        return {}
    return make_chains(description, max(segments, most))


class _Model:
    def __init__(
        self, description: RobotDescription, step: float, start: GazeboStart, segments: int, said: GazeboNames
    ) -> None:
        self._description, self._step, self._start, self._said = description, step, start, said
        self._chains = bendable(description, segments)
        self._urdf = ElementTree.fromstring(description.text)
        self._taken = {*description.joints, "world", WORLD_JOINT}
        for joint in description.coupled:
            raise RobotDescriptionError(
                f"joint '{joint.name}' follows '{joint.mimic}' (<mimic>), but is free in Gazebo, whose plugin for"
                f" DART couples none: use the simulated plant, or hold '{joint.mimic}' (held)",
                joint=joint.name,
            )
        wrong = [name for name in description.joints if "::" in name or name in ("world", WORLD_JOINT)]
        if wrong:
            raise RobotDescriptionError(f"joint '{wrong[0]}': Gazebo cannot have that name; give it another one")
        self._names = {link: self._free(link) for link in description.links}
        self._sdf = ElementTree.Element("sdf", {"version": "1.9"})
        self._model = ElementTree.SubElement(self._sdf, "model", {"name": said.model(description.name)})
        self._links: dict[str, Element] = {}

    def write(
        self, tool: str, tip_radius: float, controller_files: Sequence[str], rate: float, clock: bool, bandwidth: float
    ) -> str:
        root = self._description.root
        self._link(self._description.links[root], "", np.eye(4))
        self._fix_to_world(self._names[root])
        for joint in self._description.joints.values():
            self._joint(joint)
        self._add_sensors(rate)
        self._add_collisions(tool, tip_radius)
        self._add_own_tags(controller_files, rate, clock, bandwidth)
        self._put_outer_joints_first()
        ElementTree.indent(self._sdf)
        return ElementTree.tostring(self._sdf, encoding="unicode")

    def _put_outer_joints_first(self) -> None:
        """DART hangs one link after the other on its parent; from the root on, round-off doubles with every link."""
        joints = self._model.findall("joint")
        for joint in joints:
            self._model.remove(joint)
        self._model.extend(reversed(joints))

    def _free(self, link: str) -> str:
        """A name of its own: links and joints of a model share their names, and some are Gazebo's."""
        name = link.replace("::", "__")
        while name in self._taken or (name.startswith("__") and name.endswith("__")):
            name = f"{name}_link"
        self._taken.add(name)
        return name

    def _fix_to_world(self, root: str) -> None:
        joint = ElementTree.SubElement(self._model, "joint", {"name": WORLD_JOINT, "type": "fixed"})
        add(joint, "parent", "world")
        add(joint, "child", root)

    def _link(self, link: Link, parent: str, transform: Array) -> None:
        name = self._names[link.name]
        tag = ElementTree.SubElement(self._model, "link", {"name": name})
        self._links[link.name] = tag
        pose(tag, transform, parent)
        if link.name in self._chains:
            self._beam(link, self._chains[link.name], tag)
            return
        inertial(tag, link.mass, link.center_of_mass, link.inertia)
        for shape in link.shapes:
            self._visual(tag, shape)
        urdf = next(one for one in self._urdf.findall("link") if one.get("name") == link.name)
        for place, geometry in copied(urdf, "visual"):
            if geometry.find("mesh") is not None:  # not among the shapes
                visual = ElementTree.SubElement(tag, "visual", {"name": f"visual_{len(tag.findall('visual'))}"})
                pose(visual, place)
                visual.append(geometry)

    def _joint(self, joint: Joint) -> None:
        carrier, transform = self._carried(joint.parent, joint.transform_child_to_parent)
        self._link(self._description.links[joint.child], carrier, transform)
        kind = "revolute" if joint.kind == "continuous" else joint.kind
        tag = ElementTree.SubElement(self._model, "joint", {"name": joint.name, "type": kind})
        add(tag, "parent", carrier)
        add(tag, "child", self._names[joint.child])
        if joint.kind == "fixed":
            return
        spring = next((one for one in self._description.elastic if one.name == joint.name), None)
        axis = ElementTree.SubElement(tag, "axis")
        add(axis, "xyz", numbers(joint.axis))
        limit = ElementTree.SubElement(axis, "limit")
        for name, value in (("lower", joint.lower), ("upper", joint.upper)):
            if np.isfinite(value):
                add(limit, name, numbers(value))
        if spring is None and np.isfinite(joint.effort_limit):
            add(limit, "effort", numbers(joint.effort_limit))
        # a velocity limit would be a wall into which the joint runs; no motor has one
        if spring is None:
            self._dynamics(axis, 0.0, joint.damping, joint.friction)
        else:
            self._dynamics(axis, spring.stiffness, spring.damping, joint.friction)

    def _dynamics(
        self, axis: Element, stiffness: float, damping: float, friction: float = 0.0, reference: float = 0.0
    ) -> None:
        tag = ElementTree.SubElement(axis, "dynamics")
        add(tag, "spring_reference", numbers(reference))
        add(tag, "spring_stiffness", numbers(stiffness))
        add(tag, "damping", numbers(max(0.0, damping - self._step * stiffness)))
        add(tag, "friction", numbers(friction))

    def _carried(self, link: str, transform: Array) -> tuple[str, Array]:
        """Name of what carries a point of a link, a piece of it if it bends, and the transform in that frame."""
        chain = self._chains.get(link)
        if chain is None:
            return self._names[link], transform
        piece = chain.piece_at(transform[:3, 3])
        moved = transform.copy()
        moved[:3, 3] -= chain.start_of(piece)
        return self._piece_name(link, piece), moved

    def _piece_name(self, link: str, piece: int) -> str:
        return self._names[link] if piece == 0 else f"{self._names[link]}__{piece}"

    def _beam(self, link: Link, chain: BeamChain, tag: Element) -> None:
        """Pieces of a beam; a hinge is one joint a direction, with bodies of hardly any mass between them."""
        masses = piece_inertias(chain, link)
        inertial(tag, *masses[0])
        self._piece_visual(tag, chain, 0)
        for i in range(1, len(chain.pieces)):
            offset = chain.start_of(i) - chain.start_of(i - 1)
            parent = self._piece_name(link.name, i - 1)
            for direction in chain.directions:
                last = direction is chain.directions[-1]
                name = self._piece_name(link.name, i) + ("" if last else f"_{direction.name}")
                bent = self._start.hinges.get(hinge_joint(chain, direction, i - 1), 0.0)
                slides = direction.name == "axial"
                transform = np.eye(4)
                transform[:3, 3] = offset + (bent * direction.axis if slides else 0.0)
                piece = ElementTree.SubElement(self._model, "link", {"name": name})
                if not slides:
                    turn = (*(np.sin(0.5 * bent) * direction.axis), np.cos(0.5 * bent))
                    pose(piece, transform, parent, turn)
                else:
                    pose(piece, transform, parent)
                if last:
                    mass, center, inertia = masses[i]
                    inertial(piece, mass, center - chain.start_of(i), inertia)
                    self._piece_visual(piece, chain, i)
                else:
                    inertial(piece, 0.0, np.zeros(3), np.zeros((3, 3)))
                joint = ElementTree.SubElement(
                    self._model,
                    "joint",
                    {
                        "name": f"{self._names[link.name]}__{direction.name}_{i}",
                        "type": "prismatic" if slides else "revolute",
                    },
                )
                add(joint, "parent", parent)
                add(joint, "child", name)
                axis = ElementTree.SubElement(joint, "axis")
                add(axis, "xyz", numbers(direction.axis))
                ElementTree.SubElement(axis, "limit")
                # proportional to the stiffness: what the first mode has
                first = direction.damping.max() / np.sqrt(direction.stiffness) if direction.damping.size else 0.0
                self._dynamics(axis, direction.stiffness, first * np.sqrt(direction.stiffness), reference=-bent)
                parent, offset = name, np.zeros(3)

    def _visual(self, tag: Element, shape: Shape) -> None:
        visual = ElementTree.SubElement(tag, "visual", {"name": f"visual_{len(tag.findall('visual'))}"})
        pose(visual, shape.transform_shape_to_link)
        shape_tag(visual, shape.kind, shape.size)
        material = ElementTree.SubElement(visual, "material")
        for name in ("ambient", "diffuse"):
            add(material, name, numbers(*shape.rgba))

    def _piece_visual(self, tag: Element, chain: BeamChain, index: int) -> None:
        link, piece = self._description.links[chain.link], chain.pieces[index]
        transform = np.eye(4)
        transform[:3, :3], transform[:3, 3] = chain.turn, 0.5 * piece.length * chain.turn[:, 0]
        colors = [shape.rgba for shape in link.shapes] or [(0.6, 0.6, 0.65, 1.0)]
        self._visual(tag, Shape("box", (piece.length, BEAM_WIDTH, BEAM_WIDTH), transform, colors[0]))

    def _add_sensors(self, rate: float) -> None:
        above = {joint.child: joint.name for joint in self._description.joints.values()}
        joints = {tag.get("name"): tag for tag in self._model.findall("joint")}
        for name, sensor in self._description.force_torque_sensors.items():
            if sensor.frame not in above:
                raise RobotDescriptionError(f"force/torque sensor '{name}' sits in the root link '{sensor.frame}'")
            tag = self._sensor(
                joints[above[sensor.frame]], name, "force_torque", sensor.frame, wrench_topic(name), rate
            )
            measured = ElementTree.SubElement(tag, "force_torque")
            add(measured, "frame", "child")
            add(measured, "measure_direction", "child_to_parent")
        for name, imu in self._description.imus.items():
            self._sensor(self._links[imu.frame], name, "imu", imu.frame, imu_topic(name), rate)

    def _sensor(self, carrier: Element, name: str, kind: str, frame: str, topic: str, rate: float) -> Element:
        sensor = ElementTree.SubElement(carrier, "sensor", {"name": name, "type": kind})
        add(sensor, "always_on", "true")
        add(sensor, "update_rate", f"{_sensor_rate(rate):g}")
        add(sensor, "topic", self._said.topic(topic))
        add(sensor, "gz_frame_id", self._said.frame_prefix + frame)  # else it is a scoped name of Gazebo
        return sensor

    def _add_collisions(self, tool: str, tip_radius: float) -> None:
        for link in self._urdf.findall("link"):
            for shape, tag in copied(link, "collision"):
                carrier, transform = self._carried(link.get("name", ""), shape)
                target = next(one for one in self._model.findall("link") if one.get("name") == carrier)
                collision = ElementTree.SubElement(
                    target, "collision", {"name": f"collision_{len(target.findall('collision'))}"}
                )
                pose(collision, transform)
                collision.append(tag)
        if self._links[tool].find("collision") is None:
            collision = ElementTree.SubElement(self._links[tool], "collision", {"name": "tool_tip"})
            shape_tag(collision, "sphere", (tip_radius,))

    def _add_own_tags(self, controller_files: Sequence[str], rate: float, clock: bool, bandwidth: float) -> None:
        """What the URDF's ``<gazebo>`` tags say of the model, of links and of joints; and the controller manager."""
        for tag in self._urdf.findall("gazebo"):
            target = self._target(tag.get("reference"))
            if target is None:
                continue
            for part in tag:
                if tag.get("reference") is None or part.tag in LINK_PARTS:
                    target.append(deepcopy(part))
        if self._start.joints:
            loader = ElementTree.SubElement(self._model, "plugin", LOADER)
            add(loader, "module_name", START_SYSTEM)
            add(loader, "start", json.dumps(dict(self._start.joints)))
        if clock:
            loader = ElementTree.SubElement(self._model, "plugin", LOADER)
            add(loader, "module_name", CLOCK_SYSTEM)
            add(loader, "rate", repr(float(rate)))
        managers = [tag for tag in self._model.findall("plugin") if tag.get("name") == PLUGIN["name"]]
        for plugin in managers or [ElementTree.SubElement(self._model, "plugin", PLUGIN)]:
            for file in controller_files[0 if plugin.find("parameters") is None else 1 :]:
                add(plugin, "parameters", file)
            if plugin.find("position_proportional_gain") is None:  # fraction of an error that a period takes away
                add(plugin, "position_proportional_gain", numbers(-np.expm1(-bandwidth / rate)))
            if self._said.namespace and plugin.find("ros/namespace") is None:
                ros = plugin.find("ros")
                add(ElementTree.SubElement(plugin, "ros") if ros is None else ros, "namespace", self._said.namespace)

    def _target(self, reference: str | None) -> Element | None:
        if reference is None:
            return self._model
        if reference in self._links:
            return self._links[reference]
        return next((tag for tag in self._model.findall("joint") if tag.get("name") == reference), None)


def _sensor_rate(rate: float) -> float:
    """Return what to say to a sensor: gz-sensors 8 cuts its period down to whole milliseconds, and 0 is every step."""
    period = round(1000.0 / rate)
    return rate if period >= 1 and int(1.0 / rate * 1000.0) == period and abs(period * rate - 1000.0) < 1e-6 else 0.0


def gazebo_losses(description: RobotDescription) -> Iterator[str]:
    """Yield a text for each part of a description that Gazebo does not support."""
    urdf = ElementTree.fromstring(description.text)
    moved = [joint.name for joint in description.joints.values() if joint.armature > 0.0]
    if moved:
        yield f"armature of {', '.join(moved)}"
    if drives := description.elastic_drives:
        yield f"elasticity of the drives of {', '.join(drive.joint for drive in drives.values())}"
    rigid = [name for name in description.with_rigid_drives().flexible_links if name not in bendable(description)]
    if rigid:
        yield f"bending of {', '.join(rigid)} (<modal_data> has no pieces)"
    for tag in urdf.findall("gazebo"):
        parts = [part.tag for part in tag if tag.get("reference") is not None and part.tag not in LINK_PARTS]
        if parts:
            yield f'<gazebo reference="{tag.get("reference")}">: {", ".join(parts)}'
