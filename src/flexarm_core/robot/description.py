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
    """

    name: str
    text: str
    root: str
    links: dict[str, Link]
    joints: dict[str, Joint]
    actuated: tuple[str, ...]
    elastic: tuple[ElasticJoint, ...]
    force_torque_sensors: dict[str, ForceTorqueSensor]

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
