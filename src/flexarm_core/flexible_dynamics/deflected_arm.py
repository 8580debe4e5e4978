"""DeflectedArm: poses of all links for drawing, with exaggerated deflections of base and links.

With the factor ``s``, elastic joints are drawn at ``s x_b``, and node ``j`` of a flexible link (US 5,546,508, modal
spatial influence vectors ``Pi_j``) is displaced by ``s Pi^t_j eta`` and rotated by the rotation vector
``s Pi^r_j eta``. A child link follows the node nearest to its joint. ``s = 1`` shows the true deflection, ``s = 0``
none.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.flexible_links import drive_modes, load_flexible_links
from flexarm_core.robot.description import Joint, RobotDescription
from flexarm_core.types import Array


class DeflectedArm:
    """Forward kinematics of a whole robot for drawing.

    Attributes:
        description: the robot.
        tool_frame: link that is the tool.
        base_sensor: name of the force/torque sensor under the arm, empty if there is none.
        wrench_frame: link in whose frame samples express the wrench on the base.
    """

    def __init__(self, description: RobotDescription, tool_frame: str = "") -> None:
        """Read the modes of the flexible links.

        Args:
            description: the robot.
            tool_frame: link that is the tool; empty: the default of the description.

        Raises:
            RobotDescriptionError: modal data is not usable, or there is no such tool frame.
        """
        self.description = description
        self.tool_frame = description.tool_frame(tool_frame)
        self.base_sensor = _base_sensor(description)
        sensor = description.force_torque_sensors.get(self.base_sensor)
        self.wrench_frame = sensor.frame if sensor is not None else description.base_frame
        self._modal, self._drives = load_flexible_links(description), drive_modes(description)
        self._mounts = {
            joint.name: self._modal[joint.parent].nearest_node(joint.transform_child_to_parent[:3, 3])
            for joint in description.joints.values()
            if joint.parent in self._modal
        }
        self._lines = {link: _Line(data.position) for link, data in self._modal.items()}

    @property
    def flexible_links(self) -> tuple[str, ...]:
        """Names of the flexible links."""
        return tuple(self._modal)

    def along(self, link: str) -> Array:
        """Return the unit vector (3,) along the longest direction of a flexible link, in its frame.

        Raises:
            InputError: the link is not flexible.
        """
        if link not in self._lines:
            raise InputError(f"link '{link}' does not bend; those that do: {', '.join(self._lines) or 'none'}")
        return self._lines[link].along

    def place(self, sample: ArmSample, factor: float) -> dict[str, Array]:
        """Compute the pose (4, 4) of every link in the root link.

        Args:
            sample: state of the arm.
            factor: exaggeration ``s`` of all deflections.
        """
        placed = {self.description.root: np.eye(4)}
        deflected = {name: factor * value for name, value in sample.deflection.items()}
        positions = sample.position | deflected
        for joint in self.description.joints.values():  # parents before children
            mount = joint.transform_child_to_parent
            if joint.name in self._mounts:
                shift, turn = self._node(joint.parent, self._mounts[joint.name], sample, factor)
                bent = np.eye(4)
                bent[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ mount[:3, :3]
                bent[:3, 3] = mount[:3, 3] + shift
                mount = bent
            position = positions.get(joint.driver, 0.0)
            if joint.mimic in self._drives:  # it follows the link, not the motor
                position += factor * sample.modes.get(self._drives[joint.mimic], 0.0)
            position *= joint.multiplier
            placed[joint.child] = placed[joint.parent] @ mount @ _motion(joint, position)
        return placed

    def bend(self, link: str, points: Array, sample: ArmSample, factor: float) -> Array:
        """Compute the deformed positions of points (N, 3) of a flexible link, in the link's frame [m]."""
        axis_point, shift, turn = self._section(link, points, sample, factor)
        bent: Array = axis_point + shift + turn.apply(points - axis_point)
        return bent

    def bend_pose(self, link: str, pose: Array, sample: ArmSample, factor: float) -> Array:
        """Compute the pose (4, 4) of a rigid part of a deformed flexible link, in the link's frame."""
        axis_point, shift, turn = self._section(link, pose[None, :3, 3], sample, factor)
        bent = np.eye(4)
        bent[:3, :3] = turn.as_matrix()[0] @ pose[:3, :3]
        bent[:3, 3] = axis_point[0] + shift[0] + turn.apply(pose[:3, 3] - axis_point[0])[0]
        return bent

    def tool(self, sample: ArmSample, factor: float) -> Array:
        """Compute the drawn position (3,) of the tool in the root link [m]."""
        tool: Array = self.place(sample, factor)[self.tool_frame][:3, 3]
        return tool

    def reference(self, sample: ArmSample, factor: float) -> Array:
        """Compute the drawn position (3,) of the tool's reference in the root link, NaN if there is none [m]."""
        if not sample.reference_in_base or not np.isfinite(sample.reference).all():
            return sample.reference
        base = self.place(sample, factor)[self.description.base_frame]
        moved: Array = base[:3, :3] @ sample.reference + base[:3, 3]
        return moved

    def _coordinates(self, link: str, sample: ArmSample) -> Array:
        return np.array([sample.modes.get(f"{link}/{mode}", 0.0) for mode in self._modal[link].modes])

    def _node(self, link: str, node: int, sample: ArmSample, factor: float) -> tuple[Array, Array]:
        data, eta = self._modal[link], factor * self._coordinates(link, sample)
        return data.translation[node] @ eta, data.rotation[node] @ eta

    def _section(self, link: str, points: Array, sample: ArmSample, factor: float) -> tuple[Array, Array, Rotation]:
        """Compute centers (N, 3), displacements (N, 3) and rotations (N) of the cross sections at points (N, 3)."""
        data, line, eta = self._modal[link], self._lines[link], factor * self._coordinates(link, sample)
        shift, turn = (line.at(points, influence @ eta) for influence in (data.translation, data.rotation))
        return line.at(points, data.position), shift, Rotation.from_rotvec(turn)


class _Line:
    """Nodes of a link, sorted along the longest direction of the link."""

    def __init__(self, nodes: Array) -> None:
        self._middle: Array = nodes.mean(axis=0)
        self.along: Array = np.linalg.svd(nodes - self._middle)[2][0]
        place = (nodes - self._middle) @ self.along
        self._order = np.argsort(place)
        self._place = place[self._order]

    def at(self, points: Array, values: Array) -> Array:
        """Interpolate values (nodes, 3) between the nodes, at points (N, 3)."""
        reach = (points - self._middle) @ self.along
        return np.column_stack([np.interp(reach, self._place, column) for column in values[self._order].T])


def _base_sensor(description: RobotDescription) -> str:
    """Return the first force/torque sensor under the whole arm (in the base link or one of its ancestors), or empty."""
    carrier = {joint.child: joint.parent for joint in description.joints.values()}
    link: str | None = description.base_frame
    below = set()
    while link is not None:
        below.add(link)
        link = carrier.get(link)
    sensors = description.force_torque_sensors.values()
    return next((sensor.name for sensor in sensors if sensor.frame in below), "")


def _motion(joint: Joint, position: float) -> Array:
    """Compute the transform (4, 4) of a joint: translation along its axis, or rotation about it."""
    motion = np.eye(4)
    if joint.kind == "prismatic":
        motion[:3, 3] = position * joint.axis
    elif joint.kind != "fixed":
        motion[:3, :3] = Rotation.from_rotvec(position * joint.axis).as_matrix()
    return motion
