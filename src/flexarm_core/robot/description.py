"""RobotDescription: everything a robot_description text says, checked and in plain records.

The ArmModel (Pinocchio) and the simulated plant (MuJoCo) are both built from this one record or its text.
"""

from __future__ import annotations

from dataclasses import dataclass

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class Shape:
    """A visual shape of a link.

    Attributes:
        kind: ``box`` (size x y z), ``cylinder`` (radius, length along z) or ``sphere`` (radius).
        size: the numbers of that kind [m].
        transform_shape_to_link: (4, 4) homogeneous transform.
        rgba: colour, 0 to 1.
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
        mass: [kg], 0 where the link has no ``<inertial>``.
        center_of_mass: (3,) in the link frame [m].
        inertia: (3, 3) about the centre of mass, in axes of the link frame [kg*m^2].
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
        transform_child_to_parent: (4, 4) at zero joint position.
        axis: (3,) unit vector in the joint (= child link) frame.
        lower: position limit [rad | m], -inf where there is none.
        upper: position limit [rad | m], inf where there is none.
        velocity_limit: [rad/s | m/s], inf where there is none.
        effort_limit: [N*m | N], inf where there is none.
        damping: viscous ``<dynamics damping>`` [N*m*s/rad | N*s/m].
        friction: static ``<dynamics friction>`` [N*m | N].
        armature: inertia of motor and gear reflected through the gear, 0 where ``<ros2_control>`` gives none
            [kg*m^2 | kg].
        mimic: joint that it follows (``<mimic>``), empty where it moves by itself.
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


@dataclass(frozen=True, slots=True)
class ElasticJoint:
    """A passive joint with a spring: one elastic coordinate of the base (tag ``<elastic_joint>``).

    Attributes:
        name: name of the URDF joint.
        stiffness: [N/m | N*m/rad].
        damping: [N*s/m | N*m*s/rad].
    """

    name: str
    stiffness: float
    damping: float


@dataclass(frozen=True, slots=True)
class Beam:
    """A straight, uniform beam along the x axis of its own frame, clamped at x = 0 (tag ``<beam>``).

    Attributes:
        length: [m].
        EIy: bending stiffness about the y axis: resists deflection along z [N*m^2].
        EIz: bending stiffness about the z axis: resists deflection along y [N*m^2].
        GJ: torsional stiffness [N*m^2], 0 where there are no torsion modes.
        EA: axial stiffness [N], 0 where there are no axial modes.
        rho_A: mass per length [kg/m].
        rho_Ip: polar moment of inertia per length about the x axis [kg*m].
        modes_y: number of bending modes that deflect along y.
        modes_z: number of bending modes that deflect along z.
        modes_torsion: number of torsion modes.
        modes_axial: number of axial modes.
        damping_ratio: of every mode.
        elements: number of finite elements.
        tip_mass: load at the far end with which the mode shapes are computed [kg]; None: all that hangs outboard.
        transform_beam_to_link: (4, 4) where the beam lies in its link.
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
    """A strain gauge on a flexible link (tag ``<strain_gauge>``): measures the strain along x of one fibre.

    Attributes:
        name: sensor name.
        link: flexible link it is glued to.
        position: (3,) of the fibre in the beam's frame, or in the link's frame for modal data [m].
    """

    name: str
    link: str
    position: Array


@dataclass(frozen=True, slots=True)
class FlexibleLink:
    """A link that bends (tag ``<flexible_link>``): a beam, or modal data of a finite-element program.

    Attributes:
        name: link name.
        beam: the beam, None where a file is given.
        modal_data: URI of a modal data file, empty where a beam is given.
    """

    name: str
    beam: Beam | None
    modal_data: str


@dataclass(frozen=True, slots=True)
class ImuSensor:
    """An inertial measurement unit of ``<ros2_control>``: angular velocity and specific force of a link.

    Attributes:
        name: sensor name.
        frame: link in whose frame, and at whose origin, it measures.
    """

    name: str
    frame: str


@dataclass(frozen=True, slots=True)
class ForceTorqueSensor:
    """A force/torque sensor of ``<ros2_control>``: measures the wrench through the joint whose child is ``frame``.

    Attributes:
        name: sensor name.
        frame: link in whose frame, and at whose origin, the wrench is reported.
    """

    name: str
    frame: str


@dataclass(frozen=True, slots=True)
class RobotDescription:
    """A checked robot description.

    Attributes:
        name: robot name.
        text: the URDF text it was read from.
        root: the fixed root link, the inertial frame.
        links: by name.
        joints: by name, parents before children.
        actuated: names of the actuated joints, in tree order.
        elastic: elastic joints of the base, in tree order.
        force_torque_sensors: by name.
        flexible_links: links that bend, by name.
        strain_gauges: by name.
        imus: inertial measurement units, by name.
    """

    name: str
    text: str
    root: str
    links: dict[str, Link]
    joints: dict[str, Joint]
    actuated: tuple[str, ...]
    elastic: tuple[ElasticJoint, ...]
    force_torque_sensors: dict[str, ForceTorqueSensor]
    flexible_links: dict[str, FlexibleLink]
    strain_gauges: dict[str, StrainGauge]
    imus: dict[str, ImuSensor]

    @property
    def base_frame(self) -> str:
        """Link that carries the arm: parent of the first actuated joint, below the elastic joints."""
        return self.joints[self.actuated[0]].parent

    def tip_links(self) -> list[str]:
        """Links without children."""
        parents = {joint.parent for joint in self.joints.values()}
        return [name for name in self.links if name not in parents]

    def tool_frame(self, wanted: str = "") -> str:
        """Resolve the tool frame: the wanted link, else ``tool0`` (REP-199), else the only tip link.

        Raises:
            RobotDescriptionError: no such link, or several tips and no ``tool0``.
        """
        if not isinstance(wanted, str):
            raise RobotDescriptionError(f"the tool frame must be the name of a link, got {type(wanted).__name__}")
        if wanted:
            if wanted not in self.links:
                raise RobotDescriptionError(
                    f"tool frame '{wanted}' is not a link of robot '{self.name}'; links: {', '.join(self.links)}"
                )
            return wanted
        if "tool0" in self.links:
            return "tool0"
        tips = self.tip_links()
        if len(tips) == 1:
            return tips[0]
        raise RobotDescriptionError(
            f"robot '{self.name}' has no link 'tool0' and several tips ({', '.join(tips)}): name one with tool_frame"
        )
