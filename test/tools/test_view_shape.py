"""Where the browser view draws the links: kinematics, bending, and what a link looks like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState
from flexarm_tools.view.arm_shape import ArmShape
from flexarm_tools.view.sample import ViewSample

pytest.importorskip("viser", reason="viser is not installed")

from flexarm_tools.view.plots import BUCKETS, envelope
from flexarm_tools.view.run_signals import run_sample
from flexarm_tools.view.solids import link_solids

ROOT = Path(__file__).resolve().parents[2]


def bent(record_bending) -> tuple[ArmShape, ViewSample]:
    """The arm of two flexible links with its first mode deflected."""
    recording = record_bending(lambda t: np.column_stack([0.02 + 0.0 * t, 0 * t, 0 * t, 0 * t]), 0.01)
    text = load_robot_description(ROOT / "urdf" / "flexible_2r.urdf.xacro", {"modes": "2"})
    return ArmShape(parse_robot_description(text)), run_sample(recording, 0)


@pytest.mark.parametrize("robot", ["planar_3r_text", "trep_text"])
def test_unexaggerated_the_tool_is_drawn_where_the_arm_model_has_it(robot, request):
    model = ArmModel(request.getfixturevalue(robot))
    rng = np.random.default_rng(2)
    q, x = rng.uniform(-2.0, 2.0, model.n), rng.uniform(-0.1, 0.1, model.m)
    sample = ViewSample(
        0.0,
        dict(zip(model.joint_names, q.tolist(), strict=True)),
        dict(zip(model.elastic_joint_names, x.tolist(), strict=True)),
    )
    shape = ArmShape(model.description)
    for factor in (0.0, 1.0, 7.0):
        state = ArmState(0, q, np.zeros(model.n), factor * x, np.zeros(model.m))
        expected = model.tool_kinematics(state, model.world_frame).position
        np.testing.assert_allclose(shape.tool(sample, factor), expected, atol=1e-12)


def test_a_bent_link_carries_the_rest_of_the_arm_as_its_end_node_moves(record_bending):
    shape, sample = bent(record_bending)
    link, data = next(iter(load_flexible_links(shape.description).items()))
    eta = np.array([sample.modes[f"{link}/{mode}"] for mode in data.modes])
    joint = next(joint for joint in shape.description.joints.values() if joint.parent == link)
    end = data.nearest_node(joint.transform_child_to_parent[:3, 3])
    for factor in (1.0, 5.0):
        placed = shape.place(sample, factor)
        offset = np.linalg.inv(placed[link]) @ placed[joint.child]
        expected = joint.transform_child_to_parent[:3, 3] + factor * data.translation[end] @ eta
        np.testing.assert_allclose(offset[:3, 3], expected, atol=1e-12)
        assert np.linalg.norm(data.translation[end] @ eta) > 1e-3  # it does bend
        drawn = shape.bend(link, data.position, sample, factor)
        np.testing.assert_allclose(drawn, data.position + factor * data.translation @ eta, atol=1e-12)


def test_an_arm_that_is_not_exaggerated_at_all_is_straight(record_bending):
    shape, sample = bent(record_bending)
    still = replace(sample, modes={})
    for link, pose in shape.place(sample, 0.0).items():
        np.testing.assert_allclose(pose, shape.place(still, 1.0)[link], atol=1e-15)


def test_a_reference_in_the_base_swings_with_the_drawn_base(planar_3r_text):
    shape = ArmShape(parse_robot_description(planar_3r_text))
    point = np.array([1.0, 0.5, 0.0])
    sample = ViewSample(0.0, {}, {"base_x": 0.01}, {}, point, reference_in_base=True)
    np.testing.assert_allclose(shape.reference(sample, 20.0), point + [0.2, 0.0, 0.0], atol=1e-14)
    in_root = replace(sample, reference_in_base=False)
    np.testing.assert_allclose(shape.reference(in_root, 20.0), point)


def test_a_link_shows_its_visuals_else_its_collision_shapes_else_rods_and_lost_meshes_are_named():
    said: list[str] = []
    solids = link_solids(parse_robot_description(TWO_LINKS), said.append)
    np.testing.assert_allclose(np.ptp(solids["upper"][0].vertices, axis=0), [0.4, 0.1, 0.1], atol=1e-12)  # turned box
    rod = solids["base"][0].vertices
    assert rod[:, 2].max() == pytest.approx(0.3)
    assert np.abs(rod[:, :2]).max() < 0.05
    assert solids["upper"][0].color == (0.6, 0.6, 0.65)
    assert len(said) == 1 and "link 'hand'" in said[0] and "no_such_package" in said[0]


def test_long_signals_keep_every_peak():
    time = np.arange(20000) / 1000.0
    values = np.zeros((20000, 2))
    values[12345, 0], values[777, 1] = 5.0, -3.0
    short, kept = envelope(time, values)
    assert len(short) == 2 * BUCKETS and np.all(np.diff(short) > 0.0)
    assert (kept.max(), kept.min()) == (5.0, -3.0)
    assert abs(short[np.argmax(kept[:, 0])] - 12.345) < 20.0 / BUCKETS


TWO_LINKS = """
<robot name="two">
  <link name="base"/>
  <joint name="joint" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="10" velocity="1"/>
  </joint>
  <link name="upper">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><origin rpy="0 0 1.5707963267948966"/><geometry><box size="0.1 0.4 0.1"/></geometry></collision>
  </link>
  <joint name="wrist" type="revolute">
    <parent link="upper"/><child link="hand"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="10" velocity="1"/>
  </joint>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><mesh filename="package://no_such_package/hand.stl"/></geometry></visual>
  </link>
</robot>
"""
