"""ArmScene: the arm in the browser's 3D view, with its environment, trails, reference and forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import viser

from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.robot.description import Shape
from flexarm_core.types import Array
from flexarm_tools.report.solids import Solid, shape_solid
from flexarm_tools.view.link_frames import LinkFrames, move_frame

ACTUAL, WANTED = (31, 119, 180), (230, 130, 20)
FORCE, TORQUE, CONTACT = (200, 40, 60), (150, 75, 190), (20, 140, 90)
GHOST_OPACITY, AROUND_OPACITY = 0.22, 0.55
LONGEST = 0.35  # length of the largest vector so far, relative to the robot's size
THICK, HEAD = 0.006, 2.2  # radius of the shaft relative to the robot's size, and of the head relative to the shaft


class VectorArrow:
    """A force or torque as an arrow, scaled relative to the largest so far; hidden if unknown or negligible."""

    def __init__(self, server: viser.ViserServer, name: str, color: tuple[int, int, int]) -> None:
        """Add the arrow to the scene, hidden.

        Args:
            server: server of the page.
            name: name in the scene.
            color: red, green, blue, 0 to 255.
        """
        self._arrow = server.scene.add_arrows(f"/vectors/{name}", np.zeros((1, 2, 3)), color, visible=False)
        self._strongest = 0.0

    def show(self, begin: Array, vector: Array, size: float, wanted: bool) -> None:
        """Draw a vector.

        Args:
            begin: (3,) start point in the root link [m].
            vector: (3,) in axes of the root link [N | N*m].
            size: size of the robot [m].
            wanted: whether the arrow may be visible.
        """
        strength = float(np.linalg.norm(vector))
        if np.isfinite(strength):
            self._strongest = max(self._strongest, strength)
        seen = wanted and np.isfinite(strength) and strength > 3e-3 * self._strongest
        if seen:
            way = LONGEST * size / self._strongest * vector
            radius = THICK * size
            self._arrow.points = np.array([[begin, begin + way]], dtype=np.float32)
            self._arrow.shaft_radius, self._arrow.head_radius = radius, HEAD * radius
            self._arrow.head_length = min(6.0 * radius, float(np.linalg.norm(way)))
        if self._arrow.visible != seen:
            self._arrow.visible = seen


class ArmScene:
    """All drawn objects of one robot.

    Attributes:
        frames: frames of the links, to which other objects can be attached.
    """

    def __init__(self, server: viser.ViserServer, arm: DeflectedArm, solids: dict[str, list[Solid]]) -> None:
        """Add a robot to an empty scene.

        Args:
            server: server of the page.
            arm: kinematics of the deflected arm.
            solids: meshes of its links.
        """
        self._server, self._arm = server, arm
        self.frames = LinkFrames(server)
        self._around: list[viser.MeshHandle] = []
        self._carrier = ""  # link that carries the trails
        self._trails: list[viser.SceneNodeHandle] = []
        self._solids = solids
        self._frames: dict[str, viser.FrameHandle] = {}
        self._ghosts: dict[str, viser.FrameHandle] = {}
        self._bent: list[tuple[str, Solid, viser.MeshHandle]] = []
        self._size = 1.0
        for link, found in solids.items():
            self._frames[link] = server.scene.add_frame(f"/arm/{link}", show_axes=False)
            self._ghosts[link] = server.scene.add_frame(f"/undeflected/{link}", show_axes=False)
            for i, solid in enumerate(found):
                color = tuple(round(255 * channel) for channel in solid.color)
                mesh = server.scene.add_mesh_simple(
                    f"/arm/{link}/{i}", solid.vertices, solid.faces, color=color, flat_shading=True, cast_shadow=False
                )
                server.scene.add_mesh_simple(
                    f"/undeflected/{link}/{i}",
                    solid.vertices,
                    solid.faces,
                    color=(150, 155, 165),
                    opacity=GHOST_OPACITY,
                    flat_shading=True,
                    cast_shadow=False,
                    receive_shadow=False,
                )
                if link in arm.flexible_links:
                    self._bent.append((link, solid, mesh))
        self._ghost = server.scene.add_frame("/undeflected", show_axes=False)
        self._force, self._torque, self._contact = (
            VectorArrow(server, name, color)
            for name, color in (("base_force", FORCE), ("base_torque", TORQUE), ("contact_force", CONTACT))
        )
        self._dot = server.scene.add_icosphere("/reference", radius=1.0, color=WANTED, visible=False)

    def look(self, sample: ArmSample) -> None:
        """Point every viewer's camera at the arm and draw a floor under it."""
        placed = self._arm.place(sample, 0.0)
        points = [pose[:3, 3] for pose in placed.values()]
        for link, found in self._solids.items():
            points += [p for solid in found for p in solid.vertices @ placed[link][:3, :3].T + placed[link][:3, 3]]
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        middle, self._size = (low + high) / 2.0, float(np.linalg.norm(high - low))
        self._server.scene.add_grid(
            "/floor", width=4 * self._size, height=4 * self._size, cell_size=0.1, section_size=1.0,
            position=(middle[0], middle[1], low[2] - 0.02 * self._size), fade_distance=3 * self._size,
        )  # fmt: skip
        eye = middle + self._size * np.array([0.62, -0.9, 0.42])
        camera = self._server.initial_camera
        camera.position, camera.look_at = tuple(eye), tuple(middle)
        for client in self._server.get_clients().values():
            client.camera.position, client.camera.look_at = eye, middle

    def surround(self, shapes: Mapping[str, Sequence[Shape]]) -> None:
        """Draw the environment of the robot, by link, and remove the previous one."""
        for handle in self._around:
            handle.remove()
        self._around.clear()
        for link, found in shapes.items():
            for i, shape in enumerate(found):
                solid = shape_solid(shape)
                color = tuple(round(255 * channel) for channel in solid.color)
                self._around.append(
                    self._server.scene.add_mesh_simple(
                        f"{self.frames.path(link)}/around/{i}",
                        solid.vertices,
                        solid.faces,
                        color=color,
                        opacity=AROUND_OPACITY,
                        flat_shading=True,
                        cast_shadow=False,
                    )
                )

    def show(self, sample: ArmSample, factor: float, *, ghost: bool, forces: bool) -> None:
        """Draw one instant.

        Args:
            sample: state of the arm at this instant.
            factor: exaggeration of the deflections.
            ghost: whether to draw the undeflected arm too.
            forces: whether to draw the forces on base and tool.
        """
        placed, still = self._arm.place(sample, factor), self._arm.place(sample, 0.0)
        with self._server.atomic():
            for link, frame in self._frames.items():
                move_frame(frame, placed[link])
                if ghost:
                    move_frame(self._ghosts[link], still[link])
            self.frames.move(placed)
            for link, solid, mesh in self._bent:
                mesh.vertices = self._arm.bend(link, solid.vertices, sample, factor).astype(np.float32)
            _show(self._ghost, ghost)
            base, tool = placed[self._arm.wrench_frame], placed[self._arm.tool_frame]
            for arrow, begin, vector in (
                (self._force, base[:3, 3], base[:3, :3] @ sample.base_wrench[:3]),
                (self._torque, base[:3, 3], base[:3, :3] @ sample.base_wrench[3:]),
                (self._contact, tool[:3, 3], sample.contact_force),
            ):
                arrow.show(begin, vector, self._size, forces)
            self._show_reference(self._arm.reference(sample, factor))

    def trail(self, frame: str, actual: Sequence[Array], wanted: Sequence[Array]) -> None:
        """Draw the paths of tool and reference, (N, 3) each, in the frame of a link, with which they move [m]."""
        for handle in self._trails if frame != self._carrier else ():
            handle.remove()
        self._carrier, self._trails = frame, []
        for name, points, color in (("actual", actual, ACTUAL), ("reference", wanted, WANTED)):
            line = np.reshape(np.asarray(points, dtype=np.float32), (-1, 3))
            pieces = np.stack((line[:-1], line[1:]), axis=1) if len(line) > 1 else np.zeros((0, 2, 3))
            pieces = pieces[np.isfinite(pieces).all(axis=(1, 2))]
            thickness = 2.5 if name == "actual" else 4.0
            self._trails.append(
                self._server.scene.add_line_segments(
                    f"{self.frames.path(frame)}/trail/{name}",
                    pieces,
                    color,
                    thickness=thickness,
                    thickness_units="screen",
                    visible=len(pieces) > 0,
                )
            )

    def _show_reference(self, point: Array) -> None:
        known = bool(np.isfinite(point).all())
        if known:
            self._dot.position, self._dot.scale = point, 0.008 * self._size
        _show(self._dot, known)


def _show(node: viser.SceneNodeHandle, wanted: bool) -> None:
    if node.visible != wanted:
        node.visible = wanted
