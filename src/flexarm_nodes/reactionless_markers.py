"""ReactionlessMarkers: reactionless paths as the tool would draw them, coloured by conditioning, for RViz."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from flexarm_core.reaction_null_space.reactionless_map import draw
from flexarm_core.reaction_null_space.reactionless_path import ReactionlessPath

FOLLOWED, SHOWN = 0.006, 0.002  # [m] widths of lines
POOR, GOOD = (0.85, 0.15, 0.1), (0.1, 0.6, 0.35)  # colours at conditioning 0 and at the best of all points


def path_markers(followed: ReactionlessPath | None, others: Iterable[ReactionlessPath], frame: str) -> MarkerArray:
    """One line strip a path, a thick one for the path that is followed.

    Args:
        followed: None where a posture is held.
        others: shown beside it.
        frame: the base link's, in which paths are.
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
        marker.colors = [_colour(float(each) / best) for each in picture.conditioning]
        markers.append(marker)
    return MarkerArray(markers=markers)


def _colour(part: float) -> ColorRGBA:
    r, g, b = ((1.0 - part) * np.array(POOR) + part * np.array(GOOD)).tolist()
    return ColorRGBA(r=r, g=g, b=b, a=1.0)
