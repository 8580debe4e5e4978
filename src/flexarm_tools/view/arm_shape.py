"""ArmShape: where every link is drawn, with base deflection and bending exaggerated.

With the factor ``s`` elastic joints stand at ``s x_b`` and node ``j`` of a flexible link (patent 000, modal spatial
influence vectors ``Pi_j``) is displaced by ``s Pi^t_j eta`` and turned by the rotation vector ``s Pi^r_j eta``; what
hangs on the link follows the node nearest to its joint. ``s = 1`` is the arm as it is, ``s = 0`` the arm undeflected.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.description import Joint, RobotDescription
from flexarm_core.types import Array
from flexarm_tools.view.sample import ViewSample


class ArmShape:
    """Forward kinematics of a whole robot for drawing."""

    def __init__(self, description: RobotDescription, tool_frame: str = "") -> None:
        """Read the modes of the flexible links.

        Args:
            description: the robot.
            tool_frame: link that is the tool, empty for the description's own choice.

        Raises:
            RobotDescriptionError: modal data that is not usable, or no such tool frame.
        """
        self.description = description
        self.tool_frame = description.tool_frame(tool_frame)
        self._modal = load_flexible_links(description)
        self._mounts = {
            joint.name: self._modal[joint.parent].nearest_node(joint.transform_child_to_parent[:3, 3])
            for joint in description.joints.values()
            if joint.parent in self._modal
        }

    @property
    def flexible_links(self) -> tuple[str, ...]:
        """Links that bend."""
        return tuple(self._modal)

    def place(self, sample: ViewSample, factor: float) -> dict[str, Array]:
        """Pose (4, 4) of every link in the root link.

        Args:
            sample: the instant.
            factor: exaggeration ``s`` of everything that bends.
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
            placed[joint.child] = placed[joint.parent] @ mount @ _motion(joint, positions.get(joint.name, 0.0))
        return placed

    def bend(self, link: str, vertices: Array, sample: ViewSample, factor: float) -> Array:
        """Points (N, 3) of a flexible link where its bending takes them, in the link's frame [m]."""
        data = self._modal[link]
        eta = factor * self._coordinates(link, sample)
        middle = data.position.mean(axis=0)
        along = np.linalg.svd(data.position - middle)[2][0]  # direction in which the link is longest
        place = (data.position - middle) @ along
        order = np.argsort(place)
        reach = (vertices - middle) @ along
        shift, turn = (
            np.column_stack([np.interp(reach, place[order], column[order]) for column in (influence @ eta).T])
            for influence in (data.translation, data.rotation)
        )
        axis_point = np.column_stack([np.interp(reach, place[order], column[order]) for column in data.position.T])
        turned: Array = axis_point + shift + Rotation.from_rotvec(turn).apply(vertices - axis_point)
        return turned

    def tool(self, sample: ViewSample, factor: float) -> Array:
        """(3,) drawn place of the tool in the root link [m]."""
        tool: Array = self.place(sample, factor)[self.tool_frame][:3, 3]
        return tool

    def reference(self, sample: ViewSample, factor: float) -> Array:
        """(3,) drawn place of the tool's reference in the root link, NaN where there is none [m]."""
        if not sample.reference_in_base or not np.isfinite(sample.reference).all():
            return sample.reference
        base = self.place(sample, factor)[self.description.base_frame]
        moved: Array = base[:3, :3] @ sample.reference + base[:3, 3]
        return moved

    def _coordinates(self, link: str, sample: ViewSample) -> Array:
        return np.array([sample.modes.get(f"{link}/{mode}", 0.0) for mode in self._modal[link].modes])

    def _node(self, link: str, node: int, sample: ViewSample, factor: float) -> tuple[Array, Array]:
        data, eta = self._modal[link], factor * self._coordinates(link, sample)
        return data.translation[node] @ eta, data.rotation[node] @ eta


def _motion(joint: Joint, position: float) -> Array:
    """Transform (4, 4) of a joint: translation along its axis, or rotation about it."""
    motion = np.eye(4)
    if joint.kind == "prismatic":
        motion[:3, 3] = position * joint.axis
    elif joint.kind != "fixed":
        motion[:3, :3] = Rotation.from_rotvec(position * joint.axis).as_matrix()
    return motion
