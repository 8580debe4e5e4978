"""RobotDescription: checked content of a robot_description text, as plain dataclasses.

The ArmModel (Pinocchio) and the simulated plant (MuJoCo) are both built from a RobotDescription or its text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.types import Array

DRIVE_TERMS = ("gravity", "coriolis", "friction")  # that drives may add to effort commands, and measured efforts lack


@dataclass(frozen=True, slots=True)
class Shape:
    """A visual shape of a link.

    Attributes:
        kind: ``box`` (size x y z), ``cylinder`` (radius, length along z) or ``sphere`` (radius).
        size: dimensions in the order given for the kind [m].
        transform_shape_to_link: (4, 4) homogeneous transform.
        rgba: color, 0 to 1.
    """

    kind: str
    size: tuple[float, ...]
    transform_shape_to_link: Array
    rgba: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Link:
    """A rigid body.

    Attributes:
        name: link name.
        mass: mass, 0 if the link has no ``<inertial>`` [kg].
        center_of_mass: (3,) center of mass in the link frame [m].
        inertia: (3, 3) inertia about the center of mass, in axes of the link frame [kg*m^2].
        shapes: visual geometry.
    """

    name: str
    mass: float
    center_of_mass: Array
    inertia: Array
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint of the tree.

    Attributes:
        name: joint name.
        kind: ``revolute``, ``continuous``, ``prismatic`` or ``fixed``.
        parent: parent link.
        child: child link.
        transform_child_to_parent: (4, 4) homogeneous transform at zero joint position.
        axis: (3,) unit vector of the joint axis in the joint (= child link) frame.
        lower: lower position limit, -inf if there is none [rad | m].
        upper: upper position limit, inf if there is none [rad | m].
        velocity_limit: velocity limit, inf if there is none [rad/s | m/s].
        effort_limit: effort limit, inf if there is none [N*m | N].
        acceleration_limit: acceleration limit, inf if there is none, as in URDF [rad/s^2 | m/s^2].
        jerk_limit: jerk limit, inf if there is none, as in URDF [rad/s^3 | m/s^3].
        described_velocity: velocity limit of the URDF where :mod:`joint_limits_file` may have narrowed it, else None
            [rad/s | m/s].
        damping: viscous damping ``<dynamics damping>`` [N*m*s/rad | N*s/m].
        friction: static friction ``<dynamics friction>`` [N*m | N].
        armature: rotor inertia reflected through the gear, 0 if ``<ros2_control>`` gives none [kg*m^2 | kg].
        mimic: joint that this joint mimics, ``q = multiplier * q_mimic + offset``; empty if it is independent.
        multiplier, offset: factor, and offset [rad | m], of ``<mimic>``. In the arm (:mod:`coupled_joints`) the joint
            that is mimicked is a driven one, and its limits, damping, friction and rotor are those of both; the offset
            is part of ``transform_child_to_parent``, and 0.
    """

    name: str
    kind: str
    parent: str
    child: str
    transform_child_to_parent: Array
    axis: Array
    lower: float
    upper: float
    velocity_limit: float
    effort_limit: float
    damping: float
    friction: float
    armature: float = 0.0
    mimic: str = ""
    multiplier: float = 1.0
    offset: float = 0.0
    acceleration_limit: float = math.inf
    jerk_limit: float = math.inf
    described_velocity: float | None = None

    @property
    def fastest(self) -> float:
        """Largest velocity that the drive may reach, independent of a file of limits [rad/s | m/s]."""
        return self.velocity_limit if self.described_velocity is None else self.described_velocity

    @property
    def driver(self) -> str:
        """Joint whose coordinate moves this joint: the one that it mimics, or itself."""
        return self.mimic or self.name

    @property
    def endless(self) -> bool:
        """Whether the joint turns and has no position limits: whole turns lead to the same place."""
        return self.kind in ("revolute", "continuous") and self.upper - self.lower == math.inf


@dataclass(frozen=True, slots=True)
class HeldJoint:
    """A held joint. In the text of a description it is a fixed joint; this record keeps its other data.

    Attributes:
        name: name of the joint.
        position: where it is held [rad | m].
        kind: type of the joint that it was.
        axis: (3,) its axis, in the axes of its child link; zero if it has several or none.
        named: whether it is held by name; else it is outside of the arm.
        leader: joint that it follows in the end (``<mimic>``); its own name: none.
        ratio: displacement of the follower per unit displacement of its driver.
        endless: whether it turns without end.
    """

    name: str
    position: float
    kind: str
    axis: tuple[float, ...] = (0.0, 0.0, 0.0)
    named: bool = True
    leader: str = ""
    ratio: float = 1.0
    endless: bool = False


@dataclass(frozen=True, slots=True)
class ElasticJoint:
    """A passive joint with a spring: an elastic coordinate of the base (tag ``<elastic_joint>``).

    Attributes:
        name: name of the URDF joint.
        stiffness: stiffness of the spring, 0 for a base that floats freely in this direction [N/m | N*m/rad].
        damping: viscous damping [N*s/m | N*m*s/rad].
    """

    name: str
    stiffness: float
    damping: float


@dataclass(frozen=True, slots=True)
class Beam:
    """A straight, uniform beam along the x axis of its own frame, clamped at x = 0 (tag ``<beam>``).

    Attributes:
        length: length of the beam [m].
        EIy: bending stiffness about the y axis, which resists deflection along z [N*m^2].
        EIz: bending stiffness about the z axis, which resists deflection along y [N*m^2].
        GJ: torsional stiffness, 0 if not given; needed for torsion modes [N*m^2].
        EA: axial stiffness, 0 if not given; needed for axial modes [N].
        rho_A: mass per length [kg/m].
        rho_Ip: polar moment of inertia per length about the x axis [kg*m].
        modes_y: number of bending modes that deflect along y.
        modes_z: number of bending modes that deflect along z.
        modes_torsion: number of torsion modes.
        modes_axial: number of axial modes.
        damping_ratio: damping ratio of every mode.
        elements: number of finite elements.
        tip_mass: point mass at the free end for which the mode shapes are computed; None: the links outboard of the
            beam as a rigid load [kg].
        transform_beam_to_link: (4, 4) homogeneous transform from the beam frame to the link frame.
    """

    length: float
    EIy: float
    EIz: float
    GJ: float
    EA: float
    rho_A: float
    rho_Ip: float
    modes_y: int
    modes_z: int
    modes_torsion: int
    modes_axial: int
    damping_ratio: float
    elements: int
    tip_mass: float | None
    transform_beam_to_link: Array


@dataclass(frozen=True, slots=True)
class StrainGauge:
    """A strain gauge on a flexible link (tag ``<strain_gauge>``): measures the strain of a fiber along x.

    On an elastic drive it is the encoder of the link side, and measures the deflection [rad | m].

    Attributes:
        name: sensor name.
        link: flexible link to which the gauge is bonded.
        position: (3,) position of the fiber in the beam frame, or in the link frame for modal data [m].
    """

    name: str
    link: str
    position: Array


@dataclass(frozen=True, slots=True)
class ElasticDrive:
    """A spring between motor and link of an actuated joint (tag ``<elastic_drive>``): a harmonic drive or a belt.

    Attributes:
        joint: name of the joint, whose position is that of the motor.
        axis: (3,) axis of the joint.
        slides: whether the joint is prismatic.
        stiffness: stiffness of the spring [N*m/rad | N/m].
        damping: viscous damping of the deflection [N*m*s/rad | N*s/m].
    """

    joint: str
    axis: Array
    slides: bool
    stiffness: float
    damping: float


@dataclass(frozen=True, slots=True)
class FlexibleLink:
    """A link with deformation modes: described by a beam, by modal data from a finite-element program, or by a drive.

    Attributes:
        name: link name.
        beam: beam of a ``<flexible_link>``, None if there is none.
        modal_data: URI of the modal data file of a ``<flexible_link>``, empty if there is none.
        drive: elastic drive; the link is then the massless output of the motor (see ``elastic_drives``).
    """

    name: str
    beam: Beam | None = None
    modal_data: str = ""
    drive: ElasticDrive | None = None


@dataclass(frozen=True, slots=True)
class ImuSensor:
    """An inertial measurement unit of ``<ros2_control>``: measures angular velocity and specific force of a link.

    Attributes:
        name: sensor name.
        frame: link at whose origin and in whose axes it measures.
    """

    name: str
    frame: str


@dataclass(frozen=True, slots=True)
class ForceTorqueSensor:
    """A force/torque sensor of ``<ros2_control>``: measures the wrench through the joint whose child is ``frame``.

    Attributes:
        name: sensor name.
        frame: link at whose origin and in whose axes the wrench is reported.
    """

    name: str
    frame: str


@dataclass(frozen=True, slots=True)
class RobotDescription:
    """A checked robot description.

    Attributes:
        name: robot name.
        text: URDF text from which the description was read.
        root: fixed root link, whose frame is the inertial frame.
        links: links by name.
        joints: joints by name, parents before children.
        actuated: names of the actuated joints, in tree order.
        elastic: elastic joints of the base, in tree order.
        outside: positions of the joints outside of the arm (:func:`held_joints.joints_outside`), which are fixed joints
            here and in ``text``, by name [rad | m].
        held: joints that are held, by name or outside of the arm, which are fixed joints here and in ``text``.
        force_torque_sensors: force/torque sensors by name.
        flexible_links: flexible links by name.
        strain_gauges: strain gauges by name.
        imus: inertial measurement units by name.
        drive_adds: efforts that the drives add to effort commands by themselves, of ``DRIVE_TERMS``.
        efforts_lack: efforts that the measured efforts do not contain, of ``DRIVE_TERMS``.
    """

    name: str
    text: str
    root: str
    links: dict[str, Link]
    joints: dict[str, Joint]
    actuated: tuple[str, ...]
    elastic: tuple[ElasticJoint, ...]
    outside: dict[str, float]
    force_torque_sensors: dict[str, ForceTorqueSensor]
    flexible_links: dict[str, FlexibleLink]
    strain_gauges: dict[str, StrainGauge]
    imus: dict[str, ImuSensor]
    drive_adds: tuple[str, ...] = ()
    efforts_lack: tuple[str, ...] = ()
    held: dict[str, HeldJoint] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = f"{len(self.actuated)} joints", f"{len(self.elastic)} elastic", f"{len(self.flexible_links)} links bend"
        return f"RobotDescription('{self.name}', {', '.join(parts)})"

    @property
    def elastic_drives(self) -> dict[str, ElasticDrive]:
        """Elastic drives by the name of the flexible link that represents each."""
        return {name: link.drive for name, link in self.flexible_links.items() if link.drive is not None}

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the elastic joints without a spring, in whose directions the base floats freely."""
        return tuple(joint.name for joint in self.elastic if joint.stiffness == 0.0)

    @property
    def beside_arm(self) -> tuple[str, ...]:
        """Names of the elastic joints that carry no joint of the arm: what swings there is no base under it."""
        inboard, under = {joint.child: joint for joint in self.joints.values()}, set()
        for name in self.actuated:
            link = self.joints[name].parent
            while link in inboard:
                under.add(inboard[link].name)
                link = inboard[link].parent
        return tuple(joint.name for joint in self.elastic if joint.name not in under)

    def require_springs(self, what: str) -> None:
        """Raise ConfigError if the base floats freely in a direction, for what needs a position of rest.

        Args:
            what: what needs it, the begin of the message.
        """
        if self.free:
            raise ConfigError(
                f"{what} needs springs under the base, but the stiffness of '{self.free[0]}' is 0: for free-flying"
                " bases there are the plant and rns_vibration_controller with law reactionless or resolved_acceleration"
            )

    def with_rigid_drives(self) -> RobotDescription:
        """Return this robot with rigid drives, and without the encoders of their link sides."""
        links = {name: link for name, link in self.flexible_links.items() if link.drive is None}
        gauges = {name: gauge for name, gauge in self.strain_gauges.items() if gauge.link in links}
        return replace(self, flexible_links=links, strain_gauges=gauges)

    @property
    def base_frame(self) -> str:
        """Base link, which carries the arm: parent of its first joint, outboard of the elastic joints."""
        return next(joint.parent for joint in self.joints.values() if joint.driver in self.actuated)

    @property
    def coupled(self) -> tuple[Joint, ...]:
        """Joints of the arm that follow an actuated one (``<mimic>``), in tree order."""
        return tuple(joint for joint in self.joints.values() if joint.mimic)

    def tip_links(self) -> list[str]:
        """Return the names of the links without children; links on joints outside of the arm are not counted."""
        carried = self._carried_outside()
        parents = {joint.parent for joint in self.joints.values() if joint.child not in carried}
        return [name for name in self.links if name not in parents and name not in carried]

    def _carried_outside(self) -> set[str]:
        """Return the links that joints outside of the arm carry."""
        carried: set[str] = set()
        for joint in self.joints.values():  # parents first
            if joint.name in self.outside or joint.parent in carried:
                carried.add(joint.child)
        return carried

    def tool_frame(self, wanted: str = "") -> str:
        """Return the tool frame: the link ``wanted``, else ``tool0`` (REP-199), else the only tip link.

        Raises:
            RobotDescriptionError: the link does not exist or is outside of the arm; or there is no ``tool0``, but
                several tip links.
        """
        if not isinstance(wanted, str):
            raise RobotDescriptionError(f"the tool frame must be the name of a link, got {type(wanted).__name__}")
        if wanted:
            if wanted not in self.links:
                raise RobotDescriptionError(
                    f"tool frame '{wanted}' is not a link of robot '{self.name}'; links: {', '.join(self.links)}",
                    link=wanted,
                )
            if wanted in self._carried_outside():
                raise RobotDescriptionError(
                    f"tool frame '{wanted}' is moved by joints outside of the arm ({', '.join(self.outside)}), which"
                    " follow others (<mimic>) or have no command interface: choose a link of the arm",
                    link=wanted,
                )
            return wanted
        if "tool0" in self.links:
            return self.tool_frame("tool0")
        tips = self.tip_links()
        if len(tips) == 1:
            return tips[0]
        raise RobotDescriptionError(
            f"robot '{self.name}' has no link 'tool0' and several tips ({', '.join(tips)}): name one with --tool-frame,"
            " in a scenario or node tool_frame"
        )
