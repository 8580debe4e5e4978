"""Waypoint files: what they say is what is drawn, and every mistake is named where it stands."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.pose_path import PosePath
from flexarm_core.path.waypoint_file import load_waypoint_file

P0, R0 = np.array([0.4, 0.1, 0.3]), Rotation.from_rotvec([0.2, -0.5, 0.9]).as_matrix()
GRID = np.linspace(0.0, 1.0, 40)

EVERYTHING = """
frame: base_link
characteristic_length: 0.3
segments:
  - line: {position: [0.5, 0.1, 0.4], rpy: [0.1, !degrees 30, -0.2]}
  - line: {axis_angle: [0, 0, 2, 0.5]}
  - turn: {axis_angle: [0, 0, 1, !degrees 400]}
  - arc:
      via: [0.5, 0.2, 5e-1]
      position: [0.5, 0.3, 0.4]
  - circle: {center: [0.5, 0.2, 0.4], normal: [1, 0, 0], turns: -1.4, follow: true}
  - circle: {center: [0.5, 0.2, 0.4], normal: [1, 0, 0], angle: 2}
  - spline:
      - {position: [0.4, 0.3, 0.5]}
      - {position: [0.3, 0.2, 0.5], quaternion: [0, 0, 0, 1]}
"""


@pytest.fixture
def load(tmp_path):
    def read(text: str):
        file = tmp_path / "path.yaml"
        file.write_text(text)
        return load_waypoint_file(file)

    return read


def _equal(a: PosePath, b: PosePath) -> bool:
    return np.isclose(a.length, b.length) and all(
        np.allclose(x, y, atol=1e-12) for x, y in zip(a.poses(GRID * a.length), b.poses(GRID * b.length), strict=True)
    )


def test_a_file_draws_what_it_says(load):
    spec = load(EVERYTHING)
    R1 = Rotation.from_euler("xyz", [0.1, np.pi / 6.0, -0.2]).as_matrix()
    path = PosePath(P0, R0, 0.3).line([0.5, 0.1, 0.4], R1)
    path = path.line(None, Rotation.from_rotvec([0.0, 0.0, 0.5]).as_matrix()).turn([0.0, 0.0, np.radians(400.0)])
    path = path.arc([0.5, 0.2, 0.5], [0.5, 0.3, 0.4])
    path = path.circle([0.5, 0.2, 0.4], [1.0, 0.0, 0.0], -2.8 * np.pi, follow=True)
    path = path.circle([0.5, 0.2, 0.4], [1.0, 0.0, 0.0], 2.0)
    path = path.spline([[0.4, 0.3, 0.5], [0.3, 0.2, 0.5]], [path.end[1], np.eye(3)])
    assert spec.frame == "base_link" and _equal(spec.build(P0, R0), path)


def test_the_same_spec_begins_anywhere(load):
    spec = load(EVERYTHING)
    for shift in (0.0, 0.05):
        position, rotation = spec.build(P0 + shift, np.eye(3)).pose(0.0)
        assert np.allclose(position, P0 + shift) and np.allclose(rotation, np.eye(3))


RELATIVE = """
relative: {}
segments:
  - line: {{position: [0.1, 0.0, 0.0], rpy: [0.0, 0.0, 0.3]}}
  - arc: {{via: [0.1, 0.1, 0.1], position: [0.0, 0.1, 0.0]}}
  - circle: {{center: [0.0, 0.0, 0.0], normal: [0, 0, 1], turns: 1}}
  - turn: {{axis_angle: [0, 0, 1, 5]}}
"""


@pytest.mark.parametrize("relative", ["true", "tool"])
def test_a_relative_path_is_the_path_from_the_origin_moved(load, relative):
    spec = load(RELATIVE.format(relative))
    origin = load(RELATIVE.format("false")).build(np.zeros(3), np.eye(3))
    if relative == "tool":
        assert _equal(spec.build(P0, R0), origin.moved(R0, P0))
    else:
        positions, rotations = spec.build(P0, R0).poses(GRID * origin.length)
        expected = origin.poses(GRID * origin.length)
        assert np.allclose(positions, expected[0] + P0) and np.allclose(rotations, expected[1] @ R0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: must be a mapping with keys of: frame, relative, characteristic_length, segments"),
        ("- 1", ":1: must be a mapping"),
        ("segments: [", ":[12]: not valid YAML"),
        ("a: &x [*x]", "has an alias that contains itself \\(line 1\\)"),
        ("segments: []\nframe: x\nsegments: []", ":3: not valid YAML: a key stands twice"),
        ("!!python/object/apply:os.getcwd []", "not valid YAML"),
        ("segments: 3", "segments: must be a list of at least one of: line, turn, arc, circle, spline"),
        ("segments: []", "segments: must be a list of at least one"),
        ("speed: 3", "unknown key; valid: frame, relative, characteristic_length, segments"),
        ("relative: 1", "relative: must be false, true or tool"),
        ("frame: [a]", "frame: must be the name of a link"),
        ("characteristic_length: 0", "characteristic_length: must be > 0 m/rad"),
        ("segments:\n  - lime: {}", ":2: segments\\[0\\]: unknown key; valid: line, turn, arc, circle, spline"),
        ("segments: [{}]", "segments\\[0\\]: must hold one of: line, turn, arc, circle, spline; got nothing"),
        ("segments: [{line: {}}]", "segments\\[0\\].line: needs a position, an orientation"),
        ("segments: [{line: 3}]", "segments\\[0\\].line: must be a mapping with keys of: position, rpy"),
        ("segments:\n- line: {positon: [0, 0, 0]}", ":2: segments\\[0\\].line: unknown key; valid: position"),
        ("segments: [{line: {position: [0, 0]}}]", "line.position: must be 3 numbers"),
        ("segments: [{line: {position: [0, 0, x]}}]", "line.position\\[2\\]: must be a finite number"),
        ("segments: [{line: {position: [0, 0, .nan]}}]", "line.position\\[2\\]: must be a finite number"),
        ("segments: [{line: {position: [0, 0, true]}}]", "must be a finite number"),
        ("segments: [{line: {rpy: [0, 0, !degrees x]}}]", "!degrees needs a number"),
        ("segments: [{line: {rpy: [0, 0, 1], quaternion: [0, 0, 0, 1]}}]", "more than once: rpy, quaternion"),
        ("segments: [{line: {quaternion: [0, 0, 0, 2]}}]", "must be a unit quaternion \\(x y z w\\)"),
        ("segments: [{line: {axis_angle: [0, 0, 0, 2]}}]", "line.axis_angle: the axis has no length"),
        ("segments: [{turn: {}}]", "segments\\[0\\].turn: needs axis_angle"),
        ("segments: [{arc: {position: [0, 0, 0]}}]", "segments\\[0\\].arc: needs via"),
        ("segments: [{circle: {center: [0, 0, 0], normal: [0, 0, 1]}}]", "circle: needs one of turns and angle"),
        (
            "segments: [{circle: {center: [0, 0, 0], normal: [0, 0, 1], turns: 1, follow: 1}}]",
            "circle.follow: must be true or false",
        ),
        ("segments: [{spline: {position: [0, 0, 0]}}]", "segments\\[0\\].spline: must be a list of poses"),
        ("segments: [{spline: [{rpy: [0, 0, 0]}]}]", "segments\\[0\\].spline\\[0\\]: needs position"),
    ],
)
def test_a_mistake_is_named_where_it_stands(load, text, said):
    with pytest.raises(ConfigError, match=said):
        load(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    for content in (None, b"\xff\xfe\xff"):
        file = tmp_path / "none.yaml"
        if content:
            file.write_bytes(content)
        with pytest.raises(ConfigError, match="waypoint file '.*none.yaml' (cannot be read|is not UTF-8)"):
            load_waypoint_file(file)


def test_a_segment_without_meaning_is_named_when_the_path_is_built(load):
    spec = load("segments:\n  - line: {position: [1, 0, 0]}\n  - line: {position: [1, 0, 0]}")
    with pytest.raises(InputError, match="path.yaml:3: segments\\[1\\].line: line: the end pose is the start pose"):
        spec.build(np.zeros(3), np.eye(3))
