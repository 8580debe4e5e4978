"""ReactionlessMarkers: where the tool can move without reaction on the base, for RViz.

Shows reactionless paths as the tool traces them, and a conditioning map of the workspace; red is poor, green is good.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from flexarm_core.reaction_null_space.reactionless.conditioning_map import ConditioningMap
from flexarm_core.reaction_null_space.reactionless.map import draw
from flexarm_core.reaction_null_space.reactionless.path import ReactionlessPath

FOLLOWED, SHOWN = 0.006, 0.002  # [m] line widths
FILLED, CLEAR = 0.5, 0.45  # cube edge relative to the voxel size, and alpha of the cubes
NEEDLE = 0.06  # width of the map's lines relative to the voxel size
POOR, GOOD = (0.85, 0.15, 0.1), (0.1, 0.6, 0.35)  # colors at conditioning 0 and at the maximum


def path_markers(followed: ReactionlessPath | None, others: Iterable[ReactionlessPath], frame: str) -> MarkerArray:
    """Return one line strip per path; the followed path is drawn thicker.

    Args:
        followed: path that is followed; None if a posture is held.
        others: further paths to show.
        frame: base link's frame, in which paths are expressed.
    """
    header = Header(frame_id=frame)
    markers = [Marker(header=header, action=Marker.DELETEALL)]
    drawn = [("followed", FOLLOWED, draw(followed))] if followed is not None else []
    drawn += [("others", SHOWN, draw(path)) for path in others]
    best = max((float(picture.conditioning.max()) for _, _, picture in drawn), default=1.0)
    for number, (name, width, picture) in enumerate(drawn):
        marker = Marker(header=header, ns=name, id=number, type=Marker.LINE_STRIP, action=Marker.ADD)
        marker.scale = Vector3(x=width, y=0.0, z=0.0)
        marker.pose.orientation.w = 1.0
        marker.points = [Point(x=x, y=y, z=z) for x, y, z in picture.tool_position.tolist()]
        marker.colors = [_color(float(each) / best) for each in picture.conditioning]
        markers.append(marker)
    return MarkerArray(markers=markers)


def map_markers(found: ConditioningMap | None, frame: str) -> MarkerArray:
    """Return a cube per voxel, colored by the tool's least reactionless speed, and a line along its fastest direction.

    The length of a line is proportional to the largest speed in that voxel; the longest line is as long as a voxel.
    Voxels whose best posture is singular are left out.

    Args:
        found: conditioning map; None removes an earlier map.
        frame: base link's frame.
    """
    header = Header(frame_id=frame)
    markers = [Marker(header=header, action=Marker.DELETEALL)]
    if found is None or not found.regular.any():
        return MarkerArray(markers=markers)
    shown, size = found.regular, FILLED * found.voxel
    parts = found.least_speed[shown] / found.least_speed[shown].max()
    cubes = _map_marker(header, "slowest_speed", Marker.CUBE_LIST, Vector3(x=size, y=size, z=size))
    cubes.points = [Point(x=x, y=y, z=z) for x, y, z in (found.voxel * found.index[shown]).tolist()]
    cubes.colors = [_color(part, CLEAR) for part in parts.tolist()]
    lines = _map_marker(header, "fastest_way", Marker.LINE_LIST, Vector3(x=NEEDLE * found.voxel, y=0.0, z=0.0))
    length = 0.5 * found.voxel * found.largest_speed[shown] / found.largest_speed[shown].max()
    middle, half = found.tool_position[shown], length[:, None] * found.best_direction[shown]
    ends = np.stack((middle - half, middle + half), axis=1).reshape(-1, 3)
    lines.points = [Point(x=x, y=y, z=z) for x, y, z in ends.tolist()]
    lines.colors = [_color(part) for part in np.repeat(parts, 2).tolist()]
    return MarkerArray(markers=[*markers, cubes, lines])


def _map_marker(header: Header, name: str, kind: int, scale: Vector3) -> Marker:
    marker = Marker(header=header, ns=name, type=kind, action=Marker.ADD, scale=scale)
    marker.pose.orientation.w = 1.0
    return marker


def _color(part: float, alpha: float = 1.0) -> ColorRGBA:
    r, g, b = ((1.0 - part) * np.array(POOR) + part * np.array(GOOD)).tolist()
    return ColorRGBA(r=r, g=g, b=b, a=alpha)
