"""Names of frames in TF."""

from __future__ import annotations

import pytest
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from flexarm_nodes.node.frames import in_tf, of_the_arm


@pytest.mark.parametrize("prefix", ["", "left/", "l", "link"])
def test_every_frame_gets_the_prefix_once_whatever_it_begins_with(prefix):
    shared = Header(frame_id="link1")
    markers = MarkerArray(markers=[Marker(header=shared), Marker(header=shared), Marker(header=Header(frame_id="arm"))])
    frames = [marker.header.frame_id for marker in in_tf(markers, prefix).markers]
    assert frames == [f"{prefix}link1", f"{prefix}link1", f"{prefix}arm"]
    assert of_the_arm(Marker(header=Header(frame_id=f"{prefix}link1")), prefix).header.frame_id == "link1"
