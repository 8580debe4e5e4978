"""RobotMarkers: the visual geometry of an arm with exaggerated joint and link deflection, for RViz."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from geometry_msgs.msg import Point, Pose, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.robot.description import Shape
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import rotation_to_quaternion

MESH_REACH = 0.1  # [m] assumed, as meshes are not read
PIECES = 12  # number of rigid pieces of a shape that lies along a flexible link
OVERLAP = 1.05  # length factor of pieces, so that no gap is visible where two pieces meet at an angle
SKELETON, GRAY = 0.01, (0.6, 0.6, 0.65, 1.0)  # [m] width of the line for links without geometry
HIDDEN, CLEAR = 0.0005, 0.005  # [m] displacement up to which a piece is not drawn, and from which it is drawn in full


@dataclass(frozen=True, slots=True)
class _Piece:
    """A marker that is fixed in a link, or in a cross-section of a flexible link."""

    link: str
    pose: Array  # (4, 4) in the link, undeformed
    marker: Marker
    alpha: float
    reach: float  # [m] from the origin of the pose to the farthest end


class RobotMarkers:
    """One marker per visual shape or mesh, a row of markers for a shape along a flexible link, lines without geometry.

    A mesh on a flexible link moves with the link's cross-section at the mesh's origin and stays rigid.

    Attributes:
        opacity: factor on the opacity in the robot description, 0 to 1.
    """

    def __init__(self, arm: DeflectedArm) -> None:
        """Draw this arm."""
        self._arm, self.opacity = arm, 1.0
        self._pieces: list[_Piece] = []
        for name, link in arm.description.links.items():
            for shape in link.shapes:
                self._add_shape(name, shape)
        self._add_meshes(ElementTree.fromstring(arm.description.text))
        drawn = {piece.link for piece in self._pieces}
        joints = arm.description.joints.values()
        self._bones = [(joint.parent, joint.child) for joint in joints if joint.parent not in drawn]

    def markers(
        self,
        header: Header,
        sample: ArmSample,
        placed: dict[str, Array],
        factor: float,
        in_tf: dict[str, Array] | None = None,
    ) -> list[Marker]:
        """Return the markers of a sample; they are valid until the next call.

        Args:
            header: header with the root link's frame.
            sample: state to draw.
            placed: poses (4, 4) of the links in the root link, with the same exaggeration.
            factor: exaggeration of all deflections.
            in_tf: poses (4, 4) of the links where RViz's robot model draws them; pieces that stand there too are left
                out, since both would cover each other in turns. None: all pieces are drawn.
        """
        bends = set(self._arm.flexible_links)
        found = []
        for piece in self._pieces:
            local = piece.pose
            if piece.link in bends:
                local = self._arm.bend_pose(piece.link, local, sample, factor)
            pose, shown = placed[piece.link] @ local, 1.0
            if in_tf is not None:
                away = pose - in_tf[piece.link] @ piece.pose
                moved = np.linalg.norm(away[:3, 3]) + piece.reach * np.linalg.norm(away[:3, :3])
                shown = min(1.0, (float(moved) - HIDDEN) / (CLEAR - HIDDEN))
            piece.marker.header, piece.marker.pose = header, _pose(pose)
            piece.marker.color.a = max(shown, 0.0) * self.opacity * piece.alpha
            if piece.marker.color.a > 0.0:
                found.append(piece.marker)
        if self._bones:
            found.append(self._skeleton(header, placed))
        return found

    def _add(self, link: str, pose: Array, kind: int, size: tuple[float, ...], rgba: tuple[float, ...]) -> Marker:
        marker = Marker(ns=f"robot/{link}", id=len(self._pieces), type=kind, action=Marker.ADD)
        marker.scale = Vector3(x=float(size[0]), y=float(size[1]), z=float(size[2]))
        marker.color = ColorRGBA(r=rgba[0], g=rgba[1], b=rgba[2], a=rgba[3])
        reach = MESH_REACH if kind == Marker.MESH_RESOURCE else 0.5 * max(size)
        self._pieces.append(_Piece(link, pose, marker, rgba[3], reach))
        return marker

    def _add_shape(self, link: str, shape: Shape) -> None:
        kind, size = _marker_shape(shape)
        axis = 2 if shape.kind == "cylinder" else int(np.argmax(size))
        rotation = shape.transform_shape_to_link[:3, :3]
        bends = link in self._arm.flexible_links and shape.kind != "sphere"
        lies_along = bends and int(np.argmax(np.abs(rotation.T @ self._arm.along(link)))) == axis
        count = PIECES if lies_along else 1
        for i in range(count):
            pose, part = shape.transform_shape_to_link.copy(), list(size)
            pose[:3, 3] += size[axis] * ((i + 0.5) / count - 0.5) * rotation[:, axis]
            part[axis] = size[axis] / count * (OVERLAP if count > 1 else 1.0)
            self._add(link, pose, kind, tuple(part), shape.rgba)

    def _add_meshes(self, robot: ElementTree.Element) -> None:
        for link in robot.findall("link"):
            for visual in link.findall("visual"):
                mesh = visual.find("geometry/mesh")
                if mesh is None:
                    continue
                color = visual.find("material/color")
                rgba = _numbers(color.get("rgba") if color is not None else None, GRAY)
                scale = _numbers(mesh.get("scale"), (1.0, 1.0, 1.0))
                marker = self._add(link.get("name", ""), _origin(visual), Marker.MESH_RESOURCE, scale, rgba)
                marker.mesh_resource = mesh.get("filename", "")

    def _skeleton(self, header: Header, placed: dict[str, Array]) -> Marker:
        marker = Marker(header=header, ns="skeleton", type=Marker.LINE_LIST, action=Marker.ADD)
        marker.scale.x, marker.pose.orientation.w = SKELETON, 1.0
        r, g, b, a = GRAY
        marker.color = ColorRGBA(r=r, g=g, b=b, a=a * self.opacity)
        marker.points = [point_of(placed[link][:3, 3]) for bone in self._bones for link in bone]
        return marker


def point_of(values: Array) -> Point:
    """Convert an array (3,) to a Point."""
    x, y, z = (float(value) for value in values)
    return Point(x=x, y=y, z=z)


def _marker_shape(shape: Shape) -> tuple[int, tuple[float, float, float]]:
    """Return kind and size of the marker for a shape."""
    if shape.kind == "box":
        x, y, z = shape.size
        return Marker.CUBE, (x, y, z)
    wide = 2.0 * shape.size[0]
    if shape.kind == "cylinder":
        return Marker.CYLINDER, (wide, wide, shape.size[1])
    return Marker.SPHERE, (wide, wide, wide)


def _pose(transform: Array) -> Pose:
    return Pose(position=point_of(transform[:3, 3]), orientation=rotation_to_quaternion(transform[:3, :3]))


def _origin(element: ElementTree.Element) -> Array:
    """Return the pose (4, 4) in the ``<origin>`` of an element."""
    origin, transform = element.find("origin"), np.eye(4)
    if origin is not None:
        transform[:3, :3] = roll_pitch_yaw_to_rotation(*_numbers(origin.get("rpy"), (0.0, 0.0, 0.0)))
        transform[:3, 3] = _numbers(origin.get("xyz"), (0.0, 0.0, 0.0))
    return transform


def _numbers(text: str | None, default: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(float(word) for word in text.split()) if text else default
