"""The capsules of arms: that they cover the shapes, and that they are where Pinocchio says."""

from __future__ import annotations

import numpy as np
import pytest
from collision import CoalArm
from robots import NAMES, chain_or_skip, find

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape, build_arm_shape, place_capsules
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain, build_chain
from flexarm_core.robot.description import Shape
from flexarm_core.robot.urdf_reader import parse_robot_description

BRANCHED = """<robot name="branched"><link name="world"/>
  <joint name="mount" type="fixed"><parent link="world"/><child link="base"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/></joint>
  <link name="base"><visual><geometry><sphere radius="0.2"/></geometry></visual></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0.1 0.2" rpy="0.3 0 0.7"/>
    <axis xyz="1 2 -1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <link name="arm"/>
  <joint name="to_plate" type="fixed"><parent link="arm"/><child link="plate"/>
    <origin xyz="0.3 0 0" rpy="0 1 0"/></joint>
  <link name="plate"><visual><origin xyz="0 0.1 0" rpy="0 0 1"/>
    <geometry><box size="0.1 0.4 0.2"/></geometry></visual></link>
  <joint name="slide" type="prismatic"><parent link="plate"/><child link="carriage"/><origin xyz="0 0 0.2" rpy="1 0 0"/>
    <axis xyz="0 1 0.5"/><limit lower="-0.3" upper="0.5" effort="1" velocity="1"/></joint>
  <link name="carriage"><visual><origin xyz="0 0.1 0"/>
    <geometry><cylinder radius="0.05" length="0.3"/></geometry></visual></link>
  <joint name="finger" type="prismatic"><parent link="carriage"/><child link="tip"/><origin xyz="0 0 0.1" rpy="0 2 0"/>
    <axis xyz="0 1 0"/><limit lower="-0.3" upper="0.5" effort="1" velocity="1"/></joint>
  <link name="tip"><visual><geometry><sphere radius="0.03"/></geometry></visual></link>
  <joint name="to_tool" type="fixed"><parent link="carriage"/><child link="tool0"/>
    <origin xyz="0 0 0.3" rpy="1 1 0"/></joint>
  <link name="tool0"/></robot>"""


def built(text: str, tool: str, **options) -> tuple[Chain, ArmShape]:
    description = parse_robot_description(text, massless=True)
    chain = build_chain(description, tool)
    return chain, build_arm_shape(description, chain, **options)


def placed_by_kernels(chain: Chain, shape: ArmShape, q) -> np.ndarray:
    frames, placed = np.empty((chain.n + 1, 12)), np.empty((len(shape.links), 6))
    arm_kinematics(chain.links, q, frames, np.empty((6, chain.n)))
    place_capsules(shape.capsules, frames, placed)
    return placed.reshape(-1, 2, 3)


def surface(shape: Shape, rng) -> np.ndarray:
    """Points (k, 3) of a shape's surface in the link's frame, edges and corners among them."""
    if shape.kind == "box":
        points = np.clip(2.0 * rng.uniform(-1.0, 1.0, (400, 3)), -1.0, 1.0) * 0.5 * np.array(shape.size)
    elif shape.kind == "cylinder":
        angle = rng.uniform(0.0, 2.0 * np.pi, 400)
        height = np.clip(rng.uniform(-1.0, 1.0, 400) * 2.0, -1.0, 1.0) * 0.5 * shape.size[1]
        points = np.column_stack((shape.size[0] * np.cos(angle), shape.size[0] * np.sin(angle), height))
    else:
        points = rng.normal(size=(400, 3))
        points *= shape.size[0] / np.linalg.norm(points, axis=1)[:, None]
    return points @ shape.transform_shape_to_link[:3, :3].T + shape.transform_shape_to_link[:3, 3]


def distances_to_axis(points, a, b):
    d = b - a
    t = np.clip((points - a) @ d / max(d @ d, 1e-30), 0.0, 1.0)
    return np.linalg.norm(points - a - t[:, None] * d, axis=1)


@pytest.mark.parametrize("name", NAMES)
def test_shapes_lie_within_their_capsules_and_touch_them_wherever_the_arm_is(name):
    chain_or_skip(name)
    text, tool = find(name)
    check_cover(text, tool, np.random.default_rng(1))


def test_shapes_behind_fixed_joints_and_of_branches_move_with_their_joint():
    chain, shape = check_cover(BRANCHED, "tool0", np.random.default_rng(2))
    assert shape.links == ("plate", "carriage", "tip")
    assert shape.capsules[:, 0].tolist() == [0.0, 1.0, 1.0]
    assert chain.joint_names == ("turn", "slide")


def moved_by_first_joint(judge: CoalArm, link: str, body: Shape) -> bool:
    """Whether the axis of a shape is elsewhere after the first joint moved."""
    along = np.zeros(4)
    along[int(np.argmax(body.size)) if body.kind == "box" else 2] = float(body.kind != "sphere")
    axis = body.transform_shape_to_link @ np.column_stack((along, [0.0, 0.0, 0.0, 1.0]))
    still = np.linspace(0.2, 0.9, judge.chain.n)
    moved = still + np.eye(judge.chain.n)[0]
    return not np.allclose(judge.link_frame(still, link) @ axis, judge.link_frame(moved, link) @ axis, atol=1e-9)


def check_cover(text, tool, rng):
    description = parse_robot_description(text, massless=True)
    chain, shape = built(text, tool)
    judge = CoalArm(text, chain, shape, [])
    own: dict[str, list] = {}
    for row, link in enumerate(shape.links):
        own.setdefault(link, []).append(row)
    for _ in range(20):
        q = rng.uniform(np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0))
        placed = placed_by_kernels(chain, shape, q)
        assert np.allclose(placed, judge.placed(q), atol=1e-12)
        for link, rows in own.items():
            shapes = [body for body in description.links[link].shapes if moved_by_first_joint(judge, link, body)]
            frame = judge.link_frame(q, link)
            for row, body in zip(rows, shapes, strict=bool(shapes)):
                points = surface(body, rng) @ frame[:3, :3].T + frame[:3, 3]
                away = distances_to_axis(points, *placed[row]) - shape.capsules[row, 7]
                assert away.max() < 1e-9
                assert away.max() > -2e-3
    return chain, shape


@pytest.mark.parametrize("name", ("panda", "iiwa", "ur5"))
def test_an_arm_of_meshes_gets_a_capsule_from_joint_to_joint_and_to_the_tool(name):
    chain_or_skip(name)
    text, tool = find(name)
    chain, shape = built(text, tool, link_radius=0.05)
    judge, rng = CoalArm(text, chain, shape, []), np.random.default_rng(3)
    rows = shape.capsules[:, 0].astype(int)
    # the first joint of Panda turns about the line to the second
    assert rows.tolist() == list(range(int(name == "panda"), chain.n)) and np.all(shape.capsules[:, 7] == 0.05)
    for _ in range(20):
        q = rng.uniform(np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0))
        origins = [frame[:3, 3] for frame in judge.joint_frames(q)] + [judge.link_frame(q, tool)[:3, 3]]
        placed = placed_by_kernels(chain, shape, q)
        assert np.allclose(placed[:, 0], np.array(origins)[rows], atol=1e-12)
        assert np.allclose(placed[:, 1], np.array(origins)[rows + 1], atol=1e-12)


@pytest.mark.parametrize("length", (0.01, 0.1, 0.3, 2.0))
def test_no_capsule_on_the_same_axis_that_covers_a_cylinder_has_less_volume(length):
    text = BRANCHED.replace('length="0.3"', f'length="{length}"').replace('radius="0.05"', 'radius="0.08"')
    _, shape = built(text, "tool0")
    row = shape.links.index("carriage")
    half, radius = 0.5 * np.linalg.norm(shape.capsules[row, 4:7] - shape.capsules[row, 1:4]), shape.capsules[row, 7]
    s = np.linspace(0.0, 0.5 * length, 20001)
    radii = np.hypot(0.08, s)
    volumes = 2.0 * (0.5 * length - s) * radii**2 + 4.0 / 3.0 * radii**3
    assert 2.0 * half * radius**2 + 4.0 / 3.0 * radius**3 == pytest.approx(volumes.min(), rel=1e-6)
    assert np.hypot(0.5 * length - half, 0.08) <= radius * (1.0 + 1e-12)


@pytest.mark.parametrize("radius", (0.0, -1.0, np.nan, np.inf))
def test_a_link_radius_that_is_none_is_refused(radius):
    with pytest.raises(ConfigError, match="radius"):
        built(BRANCHED, "tool0", link_radius=radius)
