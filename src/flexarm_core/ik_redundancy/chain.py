"""Chain: joints between the base link and the tool, in the format of the compiled kernels (see ``kinematic_chain``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.entrance import finite
from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import Joint, RobotDescription
from flexarm_core.robot.kinematic_chain import (
    KIND,
    PLACE,
    PRISMATIC,
    RATIO,
    REVOLUTE,
    Rotation,
    end_columns,
    joints_inboard,
    link_rows,
    next_frame,
    put_column,
    put_frame,
    turned_frame,
)
from flexarm_core.turns import Turns
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class Chain:
    """Kinematics of the tool relative to the base link.

    Attributes:
        joint_names: (n) names of the driven joints, in the order of the description.
        moving: (k) names of the joints on the way to the tool, base first; ``k > n`` if some follow others.
        turns: differences of the positions of these joints.
        kinds: (n,) type of these joints (0 revolute, 1 prismatic).
        whole_turns: (n,) whether a whole turn of the joint leads to the same place.
        base_frame: link in whose frame poses are expressed.
        tool_frame: link whose frame is the tool frame.
        links: (k + 1, 15) one row per joint and one for the tool, see :class:`KinematicChain`.
        lower: (n,) lower position limits, infinite if there are none [rad | m].
        upper: (n,) upper position limits, infinite if there are none [rad | m].
        velocity_limit: (n,) velocity limits, infinite if there are none [rad/s | m/s].
        acceleration_limit: (n,) acceleration limits, infinite if there are none [rad/s^2 | m/s^2].
    """

    joint_names: tuple[str, ...]
    moving: tuple[str, ...]
    turns: Turns
    kinds: Array
    whole_turns: NDArray[np.bool_]
    base_frame: str
    tool_frame: str
    links: Array
    lower: Array
    upper: Array
    velocity_limit: Array
    acceleration_limit: Array

    def __repr__(self) -> str:
        return f"Chain('{self.base_frame}' -> '{self.tool_frame}', joints: {', '.join(self.joint_names)})"

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def spread(self) -> Array:
        """(k, n) positions of the moving joints per position of the driven ones, ``q_moving = G q``."""
        rows = np.arange(len(self.moving))
        G = np.zeros((rows.size, self.n))
        G[rows, self.links[:-1, PLACE].astype(int)] = self.links[:-1, RATIO]
        return G

    @property
    def free_links(self) -> Array:
        """(k + 1, 15) links in which every moving joint has a coordinate of its own."""
        rows = self.links.copy()
        rows[:-1, RATIO], rows[:-1, PLACE], rows[-1, RATIO] = 1.0, np.arange(len(self.moving)), 0.0
        return rows

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

    Joints that follow others (``<mimic>``) have no coordinate of their own; the one that they follow may lie elsewhere.

    Args:
        description: description of the robot.
        tool_frame: link to use as tool; empty: ``tool0`` or the only tip link.

    Raises:
        RobotDescriptionError: there is no actuated joint between base and tool.
    """
    tool, base = description.tool_frame(tool_frame), description.base_frame
    path = joints_inboard(description, tool, base)
    drivers = {joint.driver for joint in path if joint.kind != "fixed"}
    joints = [description.joints[name] for name in description.actuated if name in drivers]
    if not joints or path[0].parent != base:
        raise RobotDescriptionError(f"no actuated joint lies between '{base}' and the tool frame '{tool}'")
    coordinates = tuple(joint.name for joint in joints)
    names, links = link_rows(path, coordinates, np.eye(4))
    return Chain(
        joint_names=coordinates,
        moving=tuple(names),
        turns=Turns([joint.endless for joint in joints]),
        kinds=np.array([PRISMATIC if joint.kind == "prismatic" else REVOLUTE for joint in joints]),
        whole_turns=np.array([_returns(joint, description) for joint in joints]),
        base_frame=base,
        tool_frame=tool,
        links=links,
        lower=np.array([joint.lower for joint in joints]),
        upper=np.array([joint.upper for joint in joints]),
        velocity_limit=np.array([joint.velocity_limit for joint in joints]),
        acceleration_limit=np.array([joint.acceleration_limit for joint in joints]),
    )


def _returns(joint: Joint, description: RobotDescription) -> bool:
    """Return whether a whole turn of a driven joint leads to the same place, with all joints that follow it."""
    moved = [other for other in description.joints.values() if other.kind != "fixed" and other.driver == joint.name]
    return all(other.kind != "prismatic" and other.multiplier == round(other.multiplier) for other in moved)


@kernel
def tool_kinematics(links: Array, q: Array, p: Array, R: Array, J: Array) -> None:
    """Write the tool pose to ``p`` (3,), ``R`` (3, 3) and the Jacobian ``[v; w]`` to ``J`` (6, n), axes of the base."""
    k = links.shape[0] - 1
    for i in range(6):
        for j in range(q.shape[0]):
            J[i, j] = 0.0
    frame, px, py, pz = Rotation(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), 0.0, 0.0, 0.0
    for i in range(k + 1):
        (rx, ry, rz), frame = next_frame(links, i, frame)
        px, py, pz = px + rx, py + ry, pz + rz
        if i < k:
            moved = links[i, RATIO] * q[int(links[i, PLACE])]
            put_column(J, links, i, (px, py, pz), frame)
            if links[i, KIND] == PRISMATIC:
                px, py, pz = px + moved * frame.xz, py + moved * frame.yz, pz + moved * frame.zz
            else:
                frame = turned_frame(frame, moved)
    end_columns(J, links, (px, py, pz))
    put_frame((px, py, pz), frame, p, R)
