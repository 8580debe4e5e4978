"""Chain: joints between the base link and the tool, in the format of the compiled kernels (see ``kinematic_chain``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.entrance import finite
from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.dynamics_check import coupled
from flexarm_core.robot.kinematic_chain import PRISMATIC, joints_inboard, link_rows, next_frame, turned_frame
from flexarm_core.turns import Turns
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class Chain:
    """Kinematics of the tool relative to the base link.

    Attributes:
        joint_names: (n) names of the joints, base first.
        turns: differences of the positions of these joints.
        base_frame: link in whose frame poses are expressed.
        tool_frame: link whose frame is the tool frame.
        links: (n + 1, 13) one row per joint and one for the tool, see :class:`KinematicChain`.
        lower: (n,) lower position limits, infinite if there are none [rad | m].
        upper: (n,) upper position limits, infinite if there are none [rad | m].
        velocity_limit: (n,) velocity limits, infinite if there are none [rad/s | m/s].
    """

    joint_names: tuple[str, ...]
    turns: Turns
    base_frame: str
    tool_frame: str
    links: Array
    lower: Array
    upper: Array
    velocity_limit: Array

    def __repr__(self) -> str:
        return f"Chain('{self.base_frame}' -> '{self.tool_frame}', joints: {', '.join(self.joint_names)})"

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    def pose(self, position: Array) -> tuple[Array, Array]:
        """Compute position (3,) [m] and rotation (3, 3) of the tool at joint positions (n,)."""
        p, R, _ = self.kinematics(position)
        return p, R

    def kinematics(self, position: Array) -> tuple[Array, Array, Array]:
        """Compute position (3,), rotation (3, 3) and Jacobian (6, n) ``[v; w]`` of the tool, axes of the base link."""
        q = finite("position", position, self.n)
        p, R, J = np.empty(3), np.empty((3, 3)), np.empty((6, self.n))
        tool_kinematics(self.links, q, p, R, J)
        return p, R, J


def build_chain(description: RobotDescription, tool_frame: str = "") -> Chain:
    """Build the chain from the link that carries the arm to the tool.

    Args:
        description: description of the robot.
        tool_frame: link to use as tool; empty: ``tool0`` or the only tip link.

    Raises:
        RobotDescriptionError: there is no actuated joint between base and tool, or one that follows another.
    """
    tool, base = description.tool_frame(tool_frame), description.base_frame
    path = joints_inboard(description, tool, base)
    joints = [joint for joint in path if joint.kind != "fixed"]
    if not joints or path[0].parent != base:
        raise RobotDescriptionError(f"no actuated joint lies between '{base}' and the tool frame '{tool}'")
    for joint in joints:
        if joint.mimic:
            raise coupled(joint)
    names, links = link_rows(path, [joint.name for joint in joints], np.eye(4))
    return Chain(
        joint_names=tuple(names),
        turns=Turns([joint.endless for joint in joints]),
        base_frame=base,
        tool_frame=tool,
        links=links,
        lower=np.array([joint.lower for joint in joints]),
        upper=np.array([joint.upper for joint in joints]),
        velocity_limit=np.array([joint.velocity_limit for joint in joints]),
    )


@kernel
def tool_kinematics(links: Array, q: Array, p: Array, R: Array, J: Array) -> None:
    """Write the tool pose to ``p`` (3,), ``R`` (3, 3) and the Jacobian ``[v; w]`` to ``J`` (6, n), axes of the base."""
    n = q.shape[0]
    xx, xy, xz, yx, yy, yz, zx, zy, zz = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    for i in range(n + 1):
        rx, ry, rz, xx, xy, xz, yx, yy, yz, zx, zy, zz = next_frame(links, i, xx, xy, xz, yx, yy, yz, zx, zy, zz)
        px, py, pz = px + rx, py + ry, pz + rz
        if i < n:
            if links[i, 12] == PRISMATIC:
                px, py, pz = px + q[i] * xz, py + q[i] * yz, pz + q[i] * zz
                J[0, i], J[1, i], J[2, i] = xz, yz, zz
                J[3, i], J[4, i], J[5, i] = 0.0, 0.0, 0.0
            else:
                J[0, i], J[1, i], J[2, i] = px, py, pz
                J[3, i], J[4, i], J[5, i] = xz, yz, zz
                xx, xy, yx, yy, zx, zy = turned_frame(q[i], xx, xy, yx, yy, zx, zy)
    for i in range(n):
        if links[i, 12] != PRISMATIC:
            a, b, c = px - J[0, i], py - J[1, i], pz - J[2, i]
            d, e, f = J[3, i], J[4, i], J[5, i]
            J[0, i], J[1, i], J[2, i] = e * c - f * b, f * a - d * c, d * b - e * a
    p[0], p[1], p[2] = px, py, pz
    R[0, 0], R[0, 1], R[0, 2] = xx, xy, xz
    R[1, 0], R[1, 1], R[1, 2] = yx, yy, yz
    R[2, 0], R[2, 1], R[2, 2] = zx, zy, zz
