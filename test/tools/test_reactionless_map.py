"""`flexarm map`: postures that are where they are said to be, a picture that can be read, numbers in a file."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from robots import PinocchioChain

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.motion import reactionless_map
from flexarm_tools.motion.reactionless_map import map_workspace

URDF = Path(__file__).resolve().parents[2] / "urdf"
SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: Path) -> str:
    """What can be read in a picture."""
    return " | ".join(node.text or "" for node in ElementTree.parse(picture).iter(f"{SVG}text"))


def test_the_best_postures_bring_the_tool_where_the_text_says():
    text = map_workspace(URDF / "boom_7r.urdf.xacro", postures=400)
    assert "leaves mode 1, mode 2, mode 3 of the base at rest" in text and "3 of xyz" in text
    urdf = load_robot_description(URDF / "boom_7r.urdf.xacro")
    arm = PinocchioChain(urdf, build_chain(parse_robot_description(urdf), "tool0"))
    rows = [[float(x) for x in row.split(",")] for row in re.findall(r"\[([^]]+)\]", text)]
    assert len(rows) == 10
    for tool, joints in zip(rows[::2], rows[1::2], strict=True):
        assert np.allclose(arm.pose(np.array(joints))[0], tool, atol=3e-3)


def test_the_picture_of_an_arm_in_space_has_two_slices_through_the_point_asked_for(tmp_path):
    picture = tmp_path / "map.svg"
    map_workspace(URDF / "boom_7r.urdf.xacro", postures=400, at=(0.3, 0.22, 0.41), picture=picture)
    shown = texts(picture)
    assert "x-z at y = 0.2 m" in shown and "x-y at z = 0.4 m" in shown and "boom_7r" in shown
    assert "slowest tool speed" in shown and "var(" not in picture.read_text(encoding="utf-8")


def test_the_picture_of_an_arm_with_one_free_direction_has_its_paths_beside_the_map(tmp_path, monkeypatch):
    monkeypatch.setattr(reactionless_map, "FAMILY", 2)
    picture, data = tmp_path / "map.svg", tmp_path / "map.npz"
    map_workspace(URDF / "trep.urdf.xacro", ("all",), postures=300, picture=picture, data=data)
    assert "Paths" in texts(picture)
    with np.load(data) as archive:
        assert str(archive["robot"]) == "trep" and archive["freedom"] == 1
        assert archive["posture"].shape == (len(archive["least_speed"]), 2)


def test_integrability_is_said_and_a_surface_is_in_the_file_where_there_is_one(tmp_path):
    data = tmp_path / "map.npz"
    text = map_workspace(URDF / "planar_3r.urdf.xacro", postures=200, data=data)
    assert "2 of 3, integrable" in text
    with np.load(data) as archive:
        middle = len(archive["surface"]) // 2
        assert np.array_equal(archive["surface"][middle, middle], archive["posture"][0])
        assert np.allclose(archive["surface_tool"][middle, middle], archive["tool_position"][0])
    assert "4 of 7, not integrable" in map_workspace(URDF / "boom_7r.urdf.xacro", postures=50, data=data)
    with np.load(data) as archive:
        assert "surface" not in archive


def test_what_cannot_be_mapped_is_refused():
    with pytest.raises(ConfigError, match="no elastic joint"):
        map_workspace(URDF / "arm_7r.urdf.xacro", postures=10)
    with pytest.raises(ConfigError, match="selection is boom"):
        map_workspace(URDF / "boom_7r.urdf.xacro", ("boom",), postures=10)
    with pytest.raises(InputError, match="three finite numbers"):
        map_workspace(URDF / "boom_7r.urdf.xacro", postures=10, at=(0.0, 1.0), picture=Path("none.svg"))
