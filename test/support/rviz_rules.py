"""What RViz asks of markers, by its source (rviz_default_plugins 14.1, displays/marker): it shows nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from visualization_msgs.msg import Marker, MarkerArray

SOLID = (Marker.CUBE, Marker.SPHERE, Marker.CYLINDER, Marker.MESH_RESOURCE)
LISTS = (Marker.LINE_STRIP, Marker.LINE_LIST, Marker.CUBE_LIST, Marker.SPHERE_LIST, Marker.POINTS)
WIDTH = 1e-3  # largest deviation of a quaternion's norm from 1


def broken_rules(message: MarkerArray) -> list[str]:
    """What RViz would show as a warning or an error, empty if there is nothing."""
    shown = [marker for marker in message.markers if marker.action == Marker.ADD]
    twice = [name for name, count in Counter((marker.ns, marker.id) for marker in shown).items() if count > 1]
    return [f"{name} is there twice" for name in twice] + [
        f"{marker.ns}/{marker.id}: {fault}" for marker in shown for fault in _faults(marker)
    ]


def _faults(marker: Marker) -> Iterator[str]:
    position, turn, scale, count = marker.pose.position, marker.pose.orientation, marker.scale, len(marker.points)
    size = (scale.x, scale.y, scale.z)
    turned = (turn.x, turn.y, turn.z, turn.w)
    points = [value for point in marker.points for value in (point.x, point.y, point.z)]
    numbers = (position.x, position.y, position.z, *size, *turned, *points)
    if not all(math.isfinite(value) for value in (*numbers, marker.color.a)):
        yield "not finite"
    if abs(math.hypot(*turned) - 1.0) > WIDTH:
        yield f"norm of the quaternion {math.hypot(*turned):.3f}"
    if not marker.header.frame_id:
        yield "no frame"
    if marker.header.stamp.sec or marker.header.stamp.nanosec:
        yield "a stamp, for which TF may have no transform yet"
    if marker.type in SOLID and 0.0 in size:
        yield f"scale {size}"
    if marker.type in LISTS and (scale.x == 0.0 or not count):
        yield f"width {scale.x}, {count} points"
    if marker.type == Marker.ARROW and (count not in (0, 2) or 0.0 in size[:2]):
        yield f"arrow with {count} points and scale {size}"
    if (marker.type == Marker.LINE_LIST and count % 2) or (marker.type == Marker.LINE_STRIP and count < 2):
        yield f"line of {count} points"
    if marker.colors and len(marker.colors) != count:
        yield f"{len(marker.colors)} colors for {count} points"
    if marker.color.a == 0.0 and not marker.colors:
        yield "invisible"
    if marker.type == Marker.MESH_RESOURCE and not marker.mesh_resource:
        yield "no mesh"
