"""SensedBodies: bodies of a robot as arrays for the compiled recursion, with those that a sensor carries.

A body consists of the child link of a movable joint and all links fixed to it; the first body contains the root link.
In the body that holds the sensor, only the links above the sensor have mass: the sensor link and its descendants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.robot.description import Joint, RobotDescription
from flexarm_core.types import Array

# First columns of the quantities in ``links``.
ROTATION, TRANSLATION, AXIS, MASS, CENTER, INERTIA = 0, 9, 12, 15, 16, 19
WEIGHT, FIRST_MOMENT, RATIO, COLUMNS = 28, 29, 32, 33
# Columns of ``structure``.
PARENT, KIND, COORDINATE, ABOVE, SENSED = range(5)
REVOLUTE, PRISMATIC = 0, 1
NOT_SENSED = -1


@dataclass(frozen=True, slots=True)
class SensedBodies:
    """Bodies of a robot, parents before children, each in the frame of its joint.

    Attributes:
        sensor: name of the force/torque sensor.
        sensor_frame: link in whose frame the sensor measures.
        coordinates: (N) joints in the order of ``q``: actuated joints, then the elastic joints under the base.
        n: number of actuated joints.
        sensed: (n,) whether the sensor carries the joint; torques are estimated for these joints only.
        names: (B) child link of the joint of each body; the first is the root link.
        links: (B, 33) one row per body: rotation (9) and translation (3) of the joint frame in the parent body, joint
            axis (3), mass above the sensor (1), its center of mass (3), inertia about the center of mass (9), and, for
            gravity only, mass (1) and first moment ``m c`` (3); motion of the joint per motion of its coordinate, 1
            unless it follows another joint [m, kg, kg*m, kg*m^2].
        structure: (B, 5) parent index, kind (0 revolute, 1 prismatic), coordinate index, whether the body is above the
            sensor, and whether its joint is above the sensor.
        sensor_body: index of the body that holds the sensor.
        transform_sensor_to_body: (4, 4) homogeneous transform from the sensor frame to this body.
    """

    sensor: str
    sensor_frame: str
    coordinates: tuple[str, ...]
    n: int
    sensed: NDArray[np.bool_]
    names: tuple[str, ...]
    links: Array
    structure: NDArray[np.int64]
    sensor_body: int
    transform_sensor_to_body: Array

    @property
    def weighing(self) -> tuple[int, ...]:
        """Indices of the bodies above the sensor, whose weight the sensor measures."""
        return tuple(int(k) for k in np.flatnonzero(self.structure[:, ABOVE]))

    def gravity_parameters(self) -> Array:
        """Return mass and first moment (w, 4) ``[m, m cx, m cy, m cz]`` of each body above the sensor [kg, kg*m]."""
        return self.links[list(self.weighing), WEIGHT:RATIO].copy()

    def with_gravity_parameters(self, parameters: Array) -> SensedBodies:
        """Return a copy with other masses and first moments (w, 4) for gravity; inertial terms are unchanged.

        Raises:
            ConfigError: the parameters have a wrong shape or are not finite.
        """
        wanted = (len(self.weighing), 4)
        if np.shape(parameters) != wanted or not np.isfinite(parameters).all():
            names = ", ".join(self.names[k] for k in self.weighing)
            raise ConfigError(f"gravity parameters must be finite, of shape {wanted} for {names}; got {parameters}")
        links = self.links.copy()
        links[list(self.weighing), WEIGHT:RATIO] = parameters
        return SensedBodies(
            self.sensor,
            self.sensor_frame,
            self.coordinates,
            self.n,
            self.sensed,
            self.names,
            links,
            self.structure,
            self.sensor_body,
            self.transform_sensor_to_body,
        )


def build_sensed_bodies(description: RobotDescription, sensor: str = "base_ft_sensor") -> SensedBodies:
    """Return the bodies of a robot for a force/torque sensor under its base.

    Args:
        description: robot description; flexible links are treated as rigid.
        sensor: name of a force/torque sensor of ``<ros2_control>``.

    Raises:
        ConfigError: the sensor does not exist, or carries no actuated joint.
        RobotDescriptionError: the sensor frame is the root link, which has no parent joint to transmit a wrench.
    """
    if sensor not in description.force_torque_sensors:
        known = ", ".join(description.force_torque_sensors) or "none"
        raise ConfigError(f"robot '{description.name}' has no force/torque sensor '{sensor}'; it has: {known}")
    frame = description.force_torque_sensors[sensor].frame
    if frame == description.root:
        raise RobotDescriptionError(
            f"force/torque sensor '{sensor}' sits on the root link '{frame}': no joint leads to it"
        )
    tree = _Tree(description, frame)
    coordinates = (*description.actuated, *(joint.name for joint in description.elastic))
    structure, links = [], []
    for index, (body, joint) in enumerate(tree.bodies.items()):
        kind = PRISMATIC if joint is not None and joint.kind == "prismatic" else REVOLUTE
        coordinate = NOT_SENSED if joint is None else coordinates.index(joint.driver)
        carried = joint is not None and joint.parent in tree.carried
        above = any(link in tree.carried for link in tree.members[body])
        structure.append([tree.parents[index], kind, coordinate, int(above), int(carried)])
        links.append(tree.row(body, joint))
    n = len(description.actuated)
    table = np.array(structure, dtype=np.int64)
    driven, sensed = table[:, COORDINATE], np.ones(n, dtype=bool)
    for row in table[(driven >= 0) & (driven < n)]:  # the torque of a coordinate is that of all its joints
        sensed[row[COORDINATE]] &= bool(row[SENSED])
    table[np.isin(driven, np.flatnonzero(~sensed)), SENSED] = 0
    if not sensed.any():
        raise ConfigError(f"force/torque sensor '{sensor}' carries no actuated joint: it must lie under the base")
    names = tuple(tree.bodies)
    body = next(name for name in names if frame in tree.members[name])
    return SensedBodies(
        sensor=sensor,
        sensor_frame=frame,
        coordinates=coordinates,
        n=n,
        sensed=sensed,
        names=names,
        links=np.array(links),
        structure=table,
        sensor_body=names.index(body),
        transform_sensor_to_body=tree.members[body][frame],
    )


def build_bodies(description: RobotDescription, frame: str) -> tuple[Array, NDArray[np.int64], int, Array]:
    """Return all bodies of a robot, and where a link is on them.

    Args:
        description: robot description; flexible links are treated as rigid.
        frame: name of the link.

    Returns:
        ``links`` (B, 33) and ``structure`` (B, 5) as in :class:`SensedBodies`, for coordinates in the same order and a
        sensor that carries every body; index of the body of the link; (4, 4) transform from the link to this body.

    Raises:
        ConfigError: there is no such link.
    """
    tree = _Tree(description, description.root)
    coordinates = (*description.actuated, *(joint.name for joint in description.elastic))
    structure, links = [], []
    for parent, (body, joint) in zip(tree.parents, tree.bodies.items(), strict=True):
        kind = PRISMATIC if joint is not None and joint.kind == "prismatic" else REVOLUTE
        coordinate = NOT_SENSED if joint is None else coordinates.index(joint.driver)
        structure.append([parent, kind, coordinate, 1, int(joint is not None)])
        links.append(tree.row(body, joint))
    found = [(k, name) for k, name in enumerate(tree.bodies) if frame in tree.members[name]]
    if not found:
        raise ConfigError(f"there is no link '{frame}'")
    index, body = found[0]
    return np.array(links), np.array(structure, dtype=np.int64), index, tree.members[body][frame]


class _Tree:
    """Links grouped into bodies, and the links that the sensor carries."""

    def __init__(self, description: RobotDescription, sensor_frame: str) -> None:
        self._description = description
        root = description.root
        self.bodies: dict[str, Joint | None] = {root: None}
        self.members: dict[str, dict[str, Array]] = {root: {root: np.eye(4)}}
        self.parents = [NOT_SENSED]
        self.carried = {root} if sensor_frame == root else set()
        self._placed: dict[str, Array] = {}
        owner = {root: root}
        for joint in description.joints.values():  # parents before children
            body = owner[joint.parent]
            transform = self.members[body][joint.parent] @ joint.transform_child_to_parent
            if joint.kind == "fixed":
                owner[joint.child] = body
                self.members[body][joint.child] = transform
            else:
                owner[joint.child] = joint.child
                self.bodies[joint.child] = joint
                self.members[joint.child] = {joint.child: np.eye(4)}
                self.parents.append(list(self.bodies).index(body))
                self._placed[joint.child] = transform
            if joint.child == sensor_frame or joint.parent in self.carried:
                self.carried.add(joint.child)

    def row(self, body: str, joint: Joint | None) -> Array:
        """Return the row of ``links`` for a body."""
        row = np.zeros(COLUMNS)
        placed = np.eye(4) if joint is None else self._placed[body]
        row[ROTATION:TRANSLATION], row[TRANSLATION:AXIS] = placed[:3, :3].ravel(), placed[:3, 3]
        if joint is not None:
            row[AXIS:MASS], row[RATIO] = joint.axis, joint.multiplier
        mass, moment = 0.0, np.zeros(3)
        parts = []
        for name, transform in self.members[body].items():
            link = self._description.links[name]
            if name not in self.carried or (link.mass == 0.0 and not link.inertia.any()):
                continue
            center = transform[:3, :3] @ link.center_of_mass + transform[:3, 3]
            mass, moment = mass + link.mass, moment + link.mass * center
            parts.append((link.mass, center, transform[:3, :3] @ link.inertia @ transform[:3, :3].T))
        center = moment / mass if mass > 0.0 else np.zeros(3)
        inertia = np.zeros((3, 3))
        for part, place, about in parts:
            arm = place - center
            inertia += about + part * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        row[MASS], row[CENTER:INERTIA], row[INERTIA:WEIGHT] = mass, center, inertia.ravel()
        row[WEIGHT], row[FIRST_MOMENT:RATIO] = mass, moment
        return row
