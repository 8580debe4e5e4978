"""MarkerScene: markers that nodes publish for RViz, shown in the browser's 3D view."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray
from visualization_msgs.msg import Marker, MarkerArray

from flexarm_core.types import Array
from flexarm_tools.view.link_frames import LinkFrames

Key = tuple[str, int]
HEAD_LENGTH = 0.23  # relative to the arrow's length, if no head length is given, as in RViz


class MarkerScene:
    """Draws markers in the frames of links; unchanged markers are not sent to the browsers again.

    Arrows, boxes, spheres, cylinders and lines are drawn; lists of boxes, spheres and points are drawn as dots. Other
    kinds of markers, and markers in frames that are not links, are ignored, as are lifetimes.
    """

    def __init__(self, server: viser.ViserServer, frames: LinkFrames) -> None:
        """Start without markers."""
        self._scene, self._frames = server.scene, frames
        self._shown: dict[str, dict[Key, tuple[Marker, Any]]] = {}

    def take(self, topic: str, message: MarkerArray) -> None:
        """Update the markers of a topic from a message."""
        shown = self._shown.setdefault(topic, {})
        wanted = {key: marker for key, (marker, _) in shown.items()}
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                wanted.clear()
            elif marker.action == Marker.DELETE:
                wanted.pop((marker.ns, marker.id), None)
            else:
                wanted[(marker.ns, marker.id)] = marker
        for key in [key for key in shown if key not in wanted]:
            _remove(shown.pop(key)[1])
        for key, marker in wanted.items():
            before = shown.get(key)
            if before is None or not _same(before[0], marker):
                if before is not None:
                    _remove(before[1])
                shown[key] = (marker, self._draw(topic, marker))

    def keep(self, topics: Collection[str]) -> None:
        """Remove the markers of other topics."""
        for topic in [topic for topic in self._shown if topic not in topics]:
            for _, handle in self._shown.pop(topic).values():
                _remove(handle)

    def _draw(self, topic: str, marker: Marker) -> Any:
        """Add a marker to the scene; return None if it cannot be shown."""
        link = marker.header.frame_id.rpartition("/")[2]  # without the prefix of frames in a namespace
        if not self._frames.has(link):
            return None
        own = f"{topic}/{marker.ns}/{marker.id}".strip("/").replace("/", ".")  # a slash would create a parent
        name = f"{self._frames.path(link)}/{own}"
        at, turn, size = marker.pose.position, marker.pose.orientation, marker.scale
        place: dict[str, Any] = {"position": (at.x, at.y, at.z), "wxyz": (turn.w, turn.x, turn.y, turn.z)}
        color, opacity = _rgb(marker.color), marker.color.a if marker.color.a < 1.0 else None
        solid: dict[str, Any] = {"color": color, "opacity": opacity, "cast_shadow": False, **place}
        points = np.array([(p.x, p.y, p.z) for p in marker.points], dtype=float).reshape(-1, 3)
        if not np.isfinite(points).all() or not np.isfinite([*place["position"], *place["wxyz"]]).all():
            return None
        if marker.type == Marker.CUBE:
            return self._scene.add_box(name, dimensions=(size.x, size.y, size.z), **solid)
        if marker.type == Marker.SPHERE:
            return self._scene.add_icosphere(name, radius=0.5, scale=(size.x, size.y, size.z), **solid)
        if marker.type == Marker.CYLINDER:
            return self._scene.add_cylinder(name, radius=0.5, height=1.0, scale=(size.x, size.y, size.z), **solid)
        if marker.type == Marker.ARROW:
            return self._arrow(name, marker, points, place)
        if marker.type in (Marker.LINE_STRIP, Marker.LINE_LIST) and len(points) > 1:
            ends, colors = _pairs(points, marker.type), _pairs(_colors(marker, len(points)), marker.type)
            return self._scene.add_line_segments(name, ends, colors, thickness=max(size.x, 1e-3), **place)
        if marker.type in (Marker.CUBE_LIST, Marker.SPHERE_LIST, Marker.POINTS) and len(points):
            colors = _colors(marker, len(points))
            return self._scene.add_point_cloud(name, points, colors, point_size=size.x, point_shape="circle", **place)
        return None

    def _arrow(self, name: str, marker: Marker, points: Array, place: dict[str, Any]) -> Any:
        """Draw an arrow between two points, or along the x axis of its pose."""
        size = marker.scale
        between = len(points) == 2
        ends = points if between else np.array([[0.0, 0.0, 0.0], [size.x, 0.0, 0.0]])
        shaft, head = (size.x, size.y) if between else (size.y, 2.0 * size.y)
        long = float(np.linalg.norm(ends[1] - ends[0]))
        head_length = size.z if between and size.z > 0.0 else HEAD_LENGTH * long
        return self._scene.add_arrows(
            name,
            ends[None],
            _rgb(marker.color),
            shaft_radius=shaft / 2.0,
            head_radius=head / 2.0,
            head_length=min(head_length, long),
            **place,
        )


def _same(one: Marker, other: Marker) -> bool:
    """Return whether two markers look the same, regardless of their stamps."""
    return one.header.frame_id == other.header.frame_id and all(
        getattr(one, field) == getattr(other, field) for field in ("type", "pose", "scale", "color", "points", "colors")
    )


def _pairs(rows: NDArray[Any], kind: int) -> NDArray[Any]:
    """Convert rows (N, 3) to the ends (pieces, 2, 3) of the pieces of a line strip or line list."""
    if kind == Marker.LINE_LIST:
        return rows[: len(rows) // 2 * 2].reshape(-1, 2, 3)
    return np.stack((rows[:-1], rows[1:]), axis=1)


def _colors(marker: Marker, count: int) -> NDArray[np.uint8]:
    """Return the colors (count, 3) of the points, 0 to 255."""
    each = marker.colors if len(marker.colors) == count else [marker.color] * count
    return np.array([_rgb(color) for color in each], dtype=np.uint8)


def _rgb(color: Any) -> tuple[int, int, int]:
    red, green, blue = (round(255 * min(max(channel, 0.0), 1.0)) for channel in (color.r, color.g, color.b))
    return red, green, blue


def _remove(handle: Any) -> None:
    if handle is not None:
        handle.remove()
