"""Names of frames in TF: those of links, with the prefix of an arm that shares TF with others."""

from __future__ import annotations

from typing import Any

from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray


def in_tf(markers: MarkerArray, prefix: str) -> MarkerArray:
    """Return markers whose frames have the prefix; markers may share their headers."""
    for marker in markers.markers if prefix else ():
        marker.header = Header(stamp=marker.header.stamp, frame_id=prefix + marker.header.frame_id)
    return markers


def of_the_arm(message: Any, prefix: str) -> Any:
    """Return a message whose frame is the name of a link, without the prefix."""
    header = getattr(message, "header", None) if prefix else None
    if header is not None:
        header.frame_id = header.frame_id.removeprefix(prefix)
    return message
