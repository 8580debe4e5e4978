r"""BentTool: how far bent links displace the tool from where rigid links would hold it.

A flexible link turns and shifts all that it carries, at the node where its next joint is mounted. With the modal
influences ``Pi^t``, ``Pi^r`` of this node at ``p_node`` in the link's frame ``R``, and the rigid tool at ``p_tool``, to
first order in the modal coordinates ``eta``, summed over the flexible links under the tool::

    d = R (Pi^t eta + (Pi^r eta) x (p_tool - p_node))

A follower of a joint with an elastic drive also rotates its outboard links by the drive's deflection.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocating_kernel, pack, views
from flexarm_core.entrance import finite
from flexarm_core.flexible_dynamics.flexible_links import drive_modes, load_flexible_links
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.kinematic_chain import COLUMNS, joints_inboard, kinematic_chain, link_pose
from flexarm_core.types import Array


class BentLink(NamedTuple):
    """A flexible link under the tool."""

    first: int  # index of its first mode
    modes: int
    joints: int  # inboard of the link
    chain: Annotated[Array, "joints + 1", COLUMNS]  # to the link, see KinematicChain
    node: Annotated[Array, 3]  # where the next joint is mounted, frame of the link [m]
    influence: Annotated[Array, 6, "modes"]  # of the modes on the node


view_bent_link = views(BentLink)


class BentTool:
    """Displacement of the tool by the modes of flexible links.

    Attributes:
        modes: names ``<link>/<mode>`` of the K modes, of all flexible links in tree order.
    """

    def __init__(self, description: RobotDescription, tool_frame: str = "") -> None:
        """Read the modes of the flexible links.

        Args:
            description: the robot.
            tool_frame: link that is the tool; empty: the default of the description.

        Raises:
            RobotDescriptionError: modal data is not usable, or there is no such tool frame.
        """
        tool, names = description.tool_frame(tool_frame), description.actuated
        still, flexible = np.zeros(len(names)), load_flexible_links(description)
        position, rotation, *_ = kinematic_chain(description, description.base_frame, names).motion(still, still)
        begin = np.eye(4)
        begin[:3, :3], begin[:3, 3] = rotation.T, -rotation.T @ position
        self._still, self._tool = still, kinematic_chain(description, tool, names, begin)
        carriers = {joint.parent: joint for joint in joints_inboard(description, tool, description.root)}
        self._links: list[Array] = []
        modes: list[str] = []
        for link in (joint.child for joint in description.joints.values() if joint.child in flexible):
            data, first = flexible[link], len(modes)
            modes += [f"{link}/{mode}" for mode in data.modes]
            if link in carriers:
                node = data.nearest_node(carriers[link].transform_child_to_parent[:3, 3])
                influence = np.vstack((data.translation[node], data.rotation[node]))
                chain = kinematic_chain(description, link, names, begin).links
                count, joints = len(modes) - first, len(chain) - 1
                self._links.append(pack(BentLink(first, count, joints, chain, data.position[node], influence)))
        drives = drive_modes(description)
        for joint in joints_inboard(description, tool, description.root):
            if joint.mimic in drives:  # it follows the link, not the motor
                turn = joint.multiplier * joint.axis.reshape(3, 1)
                influence = np.vstack((turn, 0.0 * turn) if joint.kind == "prismatic" else (0.0 * turn, turn))
                chain = kinematic_chain(description, joint.child, names, begin).links
                first = modes.index(drives[joint.mimic])
                self._links.append(pack(BentLink(first, 1, len(chain) - 1, chain, np.zeros(3), influence)))
        self.modes = tuple(modes)

    def shift(self, position: Array, modal_position: Array, tool: Array | None = None) -> Array:
        """Return the displacement d (3,) of the tool in axes of the base link [m].

        Args:
            position: (n,) joint positions.
            modal_position: (K,) modal coordinates eta [sqrt(kg)*m].
            tool: (3,) where these positions would hold it with rigid links, if that is known already [m].

        Raises:
            InputError: an array has the wrong length or is not finite.
        """
        position = finite("position", position, len(self._still))
        eta, shift = finite("modal_position", modal_position, len(self.modes)), np.zeros(3)
        tool = self._tool.pose_of(position)[0] if tool is None else finite("tool", tool, 3)
        for link in self._links:
            _displace(link, position, eta, tool, shift)
        return shift


@allocating_kernel
def _displace(link: Array, q: Array, eta: Array, tool: Array, shift: Array) -> None:
    """Add what a link does to the displacement (3,) of the tool, which is at ``tool`` (3,); see :class:`BentLink`."""
    b, origin, R = view_bent_link(link), np.empty(3), np.empty((3, 3))
    link_pose(b.chain, q, origin, R)
    moved = np.dot(b.influence, eta[b.first : b.first + b.modes])
    tx, ty, tz, rx, ry, rz = moved[0], moved[1], moved[2], moved[3], moved[4], moved[5]
    lever = np.dot(tool - origin, R) - b.node
    x, y, z = lever[0], lever[1], lever[2]
    shift += np.dot(R, np.array((tx + ry * z - rz * y, ty + rz * x - rx * z, tz + rx * y - ry * x)))
