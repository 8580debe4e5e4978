"""Markers of nodes in the browser view: drawn in their link's frame, sent again only where they changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

pytest.importorskip("viser", reason="viser is not installed")

import viser

from flexarm_tools.view.link_frames import LinkFrames
from flexarm_tools.view.marker_scene import MarkerScene

TOPIC = "/node/markers"


@pytest.fixture
def server() -> Iterator[viser.ViserServer]:
    server = viser.ViserServer("127.0.0.1", 0, verbose=False)
    yield server
    server.stop()


@pytest.fixture
def scene(server) -> MarkerScene:
    """Markers in the frames of two links."""
    frames = LinkFrames(server)
    lifted = np.eye(4)
    lifted[2, 3] = 0.5
    frames.move({"world": np.eye(4), "base": lifted})
    return MarkerScene(server, frames)


def marker(kind: int, number: int = 0, frame: str = "base", **fields: object) -> Marker:
    made = Marker(ns="force", id=number, type=kind, action=Marker.ADD, color=ColorRGBA(r=1.0, a=1.0), **fields)
    made.header.frame_id, made.pose.orientation.w = frame, 1.0
    made.scale.x = made.scale.y = made.scale.z = 0.2
    return made


def arrow(length: float, number: int = 0) -> Marker:
    return marker(Marker.ARROW, number, points=[Point(), Point(x=length)])


def drawn(server: viser.ViserServer) -> dict[str, object]:
    """What is in the scene of markers."""
    nodes = server.scene._handle_from_node_name
    return {name.partition("node.markers.")[2]: node for name, node in nodes.items() if "node.markers." in name}


def test_markers_hang_on_the_frames_of_their_links_and_strange_ones_are_left_out(server, scene):
    line = marker(Marker.LINE_STRIP, 3, points=[Point(), Point(x=1.0), Point(y=1.0)])
    dots = marker(Marker.CUBE_LIST, 4, points=[Point(), Point(x=1.0)])
    solids = [marker(kind, i + 5) for i, kind in enumerate((Marker.CUBE, Marker.SPHERE, Marker.CYLINDER))]
    lost = [marker(Marker.CUBE, 8, "nowhere"), marker(Marker.TEXT_VIEW_FACING, 9)]
    bad = marker(Marker.LINE_STRIP, 10, points=[Point(), Point(x=float("nan"))])
    scene.take(TOPIC, MarkerArray(markers=[arrow(0.3), line, dots, *solids, *lost, bad]))
    assert sorted(drawn(server)) == [f"force.{i}" for i in (0, 3, 4, 5, 6, 7)]
    np.testing.assert_allclose(server.scene._handle_from_node_name["/attached/base"].position, [0.0, 0.0, 0.5])
    assert drawn(server)["force.3"].points.shape == (2, 2, 3)


def test_what_looks_as_before_stays_and_what_is_deleted_goes(server, scene):
    everything = Marker(action=Marker.DELETEALL)
    scene.take(TOPIC, MarkerArray(markers=[everything, arrow(0.3), arrow(0.4, 1), arrow(0.5, 2)]))
    before = drawn(server)
    same = arrow(0.3)
    same.header.stamp.sec = 7
    scene.take(TOPIC, MarkerArray(markers=[everything, same, arrow(0.8, 1)]))
    after = drawn(server)
    assert sorted(after) == ["force.0", "force.1"]
    assert after["force.0"] is before["force.0"] and after["force.1"] is not before["force.1"]
    scene.take(TOPIC, MarkerArray(markers=[Marker(ns="force", id=0, action=Marker.DELETE)]))
    assert sorted(drawn(server)) == ["force.1"]
    scene.keep(())
    assert drawn(server) == {}
