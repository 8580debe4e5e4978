"""Data of the animation: the same kinematics as the arm model's, in little room."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import Shape
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.animation import (
    FRAME_RATE,
    HOLE,
    MAX_FRAMES,
    frame_indices,
    motion_data,
    quantise,
    robot_data,
)
from flexarm_tools.report.camera import choose_view
from flexarm_tools.report.forward_kinematics import link_transforms

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("robot", ["planar_3r_text", "trep_text"])
def test_links_stand_where_the_arm_model_has_them(robot, request):
    model = ArmModel(request.getfixturevalue(robot))
    rng = np.random.default_rng(1)
    position, deflection = rng.uniform(-2.0, 2.0, model.n), rng.uniform(-0.1, 0.1, model.m)
    names = (*model.joint_names, *model.elastic_joint_names)
    values = dict(zip(names, (*position, *deflection), strict=True))
    tool = model.tool_kinematics(
        ArmState(0, position, np.zeros(model.n), deflection, np.zeros(model.m)), model.world_frame
    )
    transform = link_transforms(model.description, values)[model.tool_frame]
    np.testing.assert_allclose(transform[:3, 3], tool.position, atol=1e-12)
    np.testing.assert_allclose(transform[:3, :3], tool.rotation, atol=1e-12)


def test_the_planar_arm_reaches_as_far_as_its_links_are_long(planar_3r_text):
    description = parse_robot_description(planar_3r_text)
    q = np.array([0.4, 0.7, -1.9])
    values = {"joint1": q[0], "joint2": q[1], "joint3": q[2], "base_x": 0.25}
    angles = np.cumsum(q)
    expected = [0.25 + np.cos(angles).sum(), np.sin(angles).sum(), 0.0]
    np.testing.assert_allclose(link_transforms(description, values)["tool0"][:3, 3], expected, atol=1e-14)


def test_a_joint_comes_after_the_one_that_carries_it_and_every_link_is_reached(planar_3r_text):
    tree = robot_data(parse_robot_description(planar_3r_text), "tool0")
    placed = {tree["root"]}
    for joint in tree["joints"]:
        assert joint["parent"] in placed
        placed.add(joint["child"])
    assert placed == set(range(tree["links"]))
    assert sorted(joint["variable"] for joint in tree["joints"] if joint["variable"] >= 0) == [0, 1, 2, 3]
    assert [joint["elastic"] for joint in tree["joints"]].count(True) == 1


@settings(max_examples=30, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(0.0, 1e3), st.integers(0, 2**32 - 1))
def test_sixteen_bits_are_as_fine_as_a_65000th_of_a_channels_range(low, span, seed):
    values = low + span * np.random.default_rng(seed).random((50, 2))
    codes, start, step = quantise(values)
    assert codes.dtype == np.uint16
    np.testing.assert_allclose(start + step * codes, values, atol=span / 65000 + 1e-9)


def test_what_is_not_known_becomes_a_hole():
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]])
    codes, start, step = quantise(values)
    np.testing.assert_array_equal(codes == HOLE, np.isnan(values))
    np.testing.assert_allclose((start + step * codes)[[0, 2], 0], [1.0, 3.0])


@pytest.mark.parametrize(
    ("ticks", "rate"), [(2, 1000.0), (6000, 1000.0), (250 * 60, 250.0), (40000, 1000.0), (30, 10.0)]
)
def test_frames_are_evenly_spaced_and_not_too_many(ticks, rate):
    time = np.arange(ticks) / rate
    frames = frame_indices(time)
    assert frames[0] == 0
    assert frames[-1] == ticks - 1
    assert np.all(np.diff(frames) >= 1)
    assert len(frames) <= min(ticks, MAX_FRAMES, time[-1] * FRAME_RATE + 2)
    assert np.ptp(np.diff(time[frames])) <= 2.0 / rate + 1e-9


def test_forty_seconds_at_1000_hz_take_less_than_100_kilobytes(record):
    data = motion_data(record(lambda t: 0.05 * np.sin(2.0 * t), 40.0))
    assert len(json.dumps(data, allow_nan=False)) < 100_000
    assert max(map(abs, data["timeline"][1])) == pytest.approx(0.05, rel=1e-4)
    codes = np.frombuffer(base64.b64decode(data["frames"]), dtype="<u2").reshape(-1, len(data["low"]))
    deflection = data["low"][3] + data["step"][3] * codes[:, 3]
    times = np.linspace(data["begin"], data["end"], len(codes))
    np.testing.assert_allclose(deflection, 0.05 * np.sin(2.0 * times), atol=2e-4)


def test_a_view_looks_along_the_normal_of_the_plane_of_motion_and_holds_everything(planar_3r_text, record):
    description = parse_robot_description(planar_3r_text)
    position = np.column_stack([np.linspace(0.0, 2.0, 1000)] * 3)
    view = choose_view(description, [record(lambda t: 0.1 * np.sin(t), 1.0, position=position)])
    np.testing.assert_allclose(view.axes.T @ view.axes, np.eye(3), atol=1e-12)
    assert view.axes[2, 2] > 0.7  # mostly from above
    assert view.floor == pytest.approx(-0.18)  # underside of the rail
    for q in (0.0, 1.0, 2.0):
        transforms = link_transforms(description, {"joint1": q, "joint2": q, "joint3": q})
        seen = (transforms["tool0"][:3, 3] - view.center) @ view.axes
        assert np.all(np.abs(seen[:2]) <= view.size / 2 + 0.11)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_view_is_from_the_side_where_a_wall_does_not_hide_the_tool(side):
    description = parse_robot_description(load_robot_description(ROOT / "urdf" / "boom_7r.urdf.xacro"))
    time = np.arange(500) / 500.0
    position = np.outer(np.sin(time), np.linspace(1.0, -1.0, 7))
    recording = Recording.blank(description, time, 0.5, position=position, deflection=np.zeros((500, 6)))
    names = (*description.actuated, *(joint.name for joint in description.elastic))
    values = dict(zip(names, np.hstack((position, recording.deflection)).T, strict=True))
    tool = link_transforms(description, values)["tool0"][:, :3, 3]
    root = description.links[description.root]
    for axis in (0, 1):  # a large wall just behind the tool, on one side or the other
        edge = (tool[:, axis].max() + 0.05) if side > 0.0 else (tool[:, axis].min() - 0.05)
        place, size = np.eye(4), [4.0, 4.0, 4.0]
        place[axis, 3], size[axis] = edge, 0.02
        wall = Shape("box", tuple(size), place, (0.5, 0.5, 0.5, 1.0))
        links = dict(description.links) | {description.root: replace(root, shapes=(*root.shapes, wall))}
        view = choose_view(replace(description, links=links), [recording], {}, "tool0")
        assert side * view.axes[axis, 2] < 0.0  # the eye is on the tool's side


def test_a_view_holds_the_base_as_large_as_its_motion_is_drawn(planar_3r_text, record):
    description = parse_robot_description(planar_3r_text)
    recording = record(lambda t: 0.02 * np.sin(6.0 * t), 2.0)
    plain, exaggerated = (choose_view(description, [recording], exaggeration=factor) for factor in (1.0, 20.0))
    assert exaggerated.size[0] > plain.size[0] + 0.3
    for deflection in (-0.4, 0.4):
        transforms = link_transforms(description, {"base_x": deflection})
        for link in ("base_link", "tool0"):
            seen = (transforms[link][:3, 3] - exaggerated.center) @ exaggerated.axes
            assert np.all(np.abs(seen[:2]) <= exaggerated.size / 2 + 1e-3)


def test_a_base_that_shifts_and_turns_is_measured_in_each_unit_by_itself():
    description = parse_robot_description(load_robot_description(ROOT / "urdf" / "boom_7r.urdf.xacro"))
    time = np.arange(500) / 500.0
    deflection = np.zeros((500, 6))
    deflection[:, 1], deflection[:, 2], deflection[:, 3] = 0.003 * np.sin(time), 0.004 * np.sin(time), 5.0
    recording = Recording.blank(description, time, 0.5, position=np.zeros((500, 7)), deflection=deflection)
    data = motion_data(recording)
    assert data["units"] == ["m", "m", "m", "rad", "rad", "rad"]
    assert (data["timeline_of"], data["timeline_unit"]) == ("Base deflection", "m")
    assert max(data["timeline"][1]) == pytest.approx(0.005 * np.sin(time[-1]), rel=1e-4)  # no radians among meters
