"""ArmScene: the arm in the browser's 3D view, with trails, reference and the force on the base."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import viser
from scipy.spatial.transform import Rotation

from flexarm_core.types import Array
from flexarm_tools.view.arm_shape import ArmShape
from flexarm_tools.view.sample import ViewSample
from flexarm_tools.view.solids import Solid

ACTUAL, WANTED, FORCE = (31, 119, 180), (230, 130, 20), (200, 40, 60)
GHOST_OPACITY = 0.22
LONGEST_ARROW = 0.35  # of the largest force so far, as a part of the robot's size


class ArmScene:
    """Everything that is drawn of one robot."""

    def __init__(self, server: viser.ViserServer, shape: ArmShape, solids: dict[str, list[Solid]]) -> None:
        """Put a robot into an empty scene.

        Args:
            server: of the page.
            shape: where its links are.
            solids: what they look like.
        """
        self._server, self._shape = server, shape
        self._solids = solids
        self._frames: dict[str, viser.FrameHandle] = {}
        self._ghosts: dict[str, viser.FrameHandle] = {}
        self._bent: list[tuple[str, Solid, viser.MeshHandle]] = []
        self._strongest = 0.0
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
                if link in shape.flexible_links:
                    self._bent.append((link, solid, mesh))
        self._ghost = server.scene.add_frame("/undeflected", show_axes=False)
        self._arrow = server.scene.add_arrows("/base_force", np.zeros((1, 2, 3)), FORCE, visible=False)
        self._dot = server.scene.add_icosphere("/reference", radius=1.0, color=WANTED, visible=False)

    def look(self, sample: ViewSample) -> None:
        """Turn every viewer's eye to the arm and lay a floor under it."""
        placed = self._shape.place(sample, 0.0)
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

    def show(self, sample: ViewSample, factor: float, *, ghost: bool, force: bool) -> None:
        """Draw one instant.

        Args:
            sample: the instant.
            factor: exaggeration of what bends.
            ghost: whether the undeflected arm is drawn too.
            force: whether the force on the base is drawn.
        """
        placed, still = self._shape.place(sample, factor), self._shape.place(sample, 0.0)
        with self._server.atomic():
            for link, frame in self._frames.items():
                _move(frame, placed[link])
                if ghost:
                    _move(self._ghosts[link], still[link])
            for link, solid, mesh in self._bent:
                mesh.vertices = self._shape.bend(link, solid.vertices, sample, factor).astype(np.float32)
            _show(self._ghost, ghost)
            self._show_arrow(sample, placed, force)
            self._show_reference(self._shape.reference(sample, factor))

    def trail(self, actual: Sequence[Array], wanted: Sequence[Array]) -> None:
        """Draw where the tool was and where it should have been, (N, 3) each in the root link [m]."""
        for name, points, color in (("actual", actual, ACTUAL), ("reference", wanted, WANTED)):
            line = np.reshape(np.asarray(points, dtype=np.float32), (-1, 3))
            pieces = np.stack((line[:-1], line[1:]), axis=1) if len(line) > 1 else np.zeros((0, 2, 3))
            pieces = pieces[np.isfinite(pieces).all(axis=(1, 2))]
            thickness = 2.5 if name == "actual" else 4.0
            self._server.scene.add_line_segments(
                f"/trail/{name}", pieces, color, thickness=thickness, thickness_units="screen", visible=len(pieces) > 0
            )

    def _show_arrow(self, sample: ViewSample, placed: dict[str, Array], wanted: bool) -> None:
        sensors = list(self._shape.description.force_torque_sensors.values())
        known = bool(sensors) and bool(np.isfinite(sample.base_force).all())
        self._strongest = max(self._strongest, float(np.linalg.norm(sample.base_force))) if known else self._strongest
        arrow = np.zeros((1, 2, 3))
        if known and self._strongest > 0.0:
            frame = placed[sensors[0].frame]
            arrow[0, 0] = frame[:3, 3]
            length = LONGEST_ARROW * self._size / self._strongest
            arrow[0, 1] = frame[:3, 3] + length * (frame[:3, :3] @ sample.base_force)
        long = float(np.linalg.norm(arrow[0, 1] - arrow[0, 0]))
        radius = 0.006 * self._size
        self._arrow.points = arrow.astype(np.float32)
        self._arrow.shaft_radius, self._arrow.head_radius = radius, 2.2 * radius
        self._arrow.head_length = min(6.0 * radius, long)
        _show(self._arrow, wanted and long > 1e-3 * self._size)

    def _show_reference(self, point: Array) -> None:
        known = bool(np.isfinite(point).all())
        if known:
            self._dot.position, self._dot.scale = point, 0.008 * self._size
        _show(self._dot, known)


def _show(node: viser.SceneNodeHandle, wanted: bool) -> None:
    if node.visible != wanted:
        node.visible = wanted


def _move(frame: viser.FrameHandle, pose: Array) -> None:
    x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
    frame.position, frame.wxyz = pose[:3, 3], np.array([w, x, y, z])
