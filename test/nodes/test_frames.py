"""Names of frames in TF."""

from __future__ import annotations

import pytest
from builtin_interfaces.msg import Time
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from flexarm_nodes.node.frames import in_tf, of_the_arm


@pytest.mark.parametrize("prefix", ["", "left/", "l", "link"])
def test_every_frame_gets_the_prefix_once_whatever_it_begins_with(prefix):
    shared = Header(frame_id="link1")
    markers = MarkerArray(markers=[Marker(header=shared), Marker(header=shared), Marker(header=Header(frame_id="arm"))])
    frames = [marker.header.frame_id for marker in in_tf(markers, prefix).markers]
    assert frames == [f"{prefix}link1", f"{prefix}link1", f"{prefix}arm"]
    for slash in ("", "/"):  # which tf2 takes from names, too
        assert of_the_arm(Marker(header=Header(frame_id=f"{slash}{prefix}link1")), prefix).header.frame_id == "link1"


def test_markers_are_placed_by_the_newest_transform():
    """TF comes at its own rate: at the stamp of a sample it has no transform yet, and RViz shows an error."""
    stamp = Time(sec=3, nanosec=7)
    shared = Header(stamp=stamp, frame_id="link1")
    markers = [Marker(header=shared, action=Marker.DELETEALL), Marker(header=shared), Marker(header=shared)]
    placed = [(marker.header.stamp, marker.frame_locked) for marker in in_tf(MarkerArray(markers=markers), "").markers]
    assert placed == [(stamp, False), (Time(), True), (Time(), True)]
