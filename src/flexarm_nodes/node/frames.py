"""Names of frames in TF: those of links, with the prefix of an arm that shares TF with others."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray


def in_tf(markers: MarkerArray, prefix: str) -> MarkerArray:
    """Return markers whose frames have the prefix, for the newest transform; markers may share their headers.

    TF is published more slowly than the samples that markers show, so it has no transform at their stamps yet: RViz
    would show an error in place of the marker. The stamp 0 means the newest transform, by which RViz places the robot
    too; a marker with ``frame_locked`` moves with its frame until the next one comes. What only deletes markers, which
    each message begins with, keeps the stamp of the sample.
    """
    for marker in markers.markers:
        drawn = marker.action == Marker.ADD
        stamp = Time() if drawn else marker.header.stamp
        marker.header, marker.frame_locked = Header(stamp=stamp, frame_id=prefix + marker.header.frame_id), drawn
    return markers


def own_frame(frame: str, prefix: str) -> str:
    """Return the name of a frame without the prefix, and without the slash that older programs put in front."""
    return frame.lstrip("/").removeprefix(prefix)


def of_the_arm(message: Any, prefix: str) -> Any:
    """Return a message, request or goal whose frame is :func:`own_frame`."""
    header = getattr(message, "header", None)
    if header is not None:
        header.frame_id = own_frame(header.frame_id, prefix)
    return message
