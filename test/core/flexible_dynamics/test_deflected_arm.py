"""Where an arm is drawn: every link as Pinocchio has it, bending as the modes say, what hangs on it along with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description

ROOT = Path(__file__).resolve().parents[3]
URDF = ROOT / "urdf"


@pytest.fixture(scope="module")
def bending() -> tuple[DeflectedArm, ArmSample]:
    """The arm of two flexible links with the first mode of its first link deflected."""
    text = load_robot_description(URDF / "flexible_2r.urdf.xacro", {"modes": "2"})
    arm = DeflectedArm(parse_robot_description(text))
    link, data = next(iter(load_flexible_links(arm.description).items()))
    return arm, ArmSample(0.0, {}, {}, {f"{link}/{data.modes[0]}": 0.02})


@pytest.mark.parametrize("robot", ["planar_3r", "trep", "boom_7r"])
@pytest.mark.parametrize("factor", [0.0, 1.0, 7.0])
def test_every_link_stands_where_pinocchio_has_it_with_the_deflection_multiplied(robot, factor):
    text = load_robot_description(URDF / f"{robot}.urdf.xacro")
    description = parse_robot_description(text)
    model = pin.buildModelFromXML(text)
    data = model.createData()
    rng = np.random.default_rng(2)
    position = {name: float(rng.uniform(-2.0, 2.0)) for name in description.actuated}
    deflection = {joint.name: float(rng.uniform(-0.1, 0.1)) for joint in description.elastic}
    q = pin.neutral(model)
    for name, value in (position | {name: factor * value for name, value in deflection.items()}).items():
        joint = model.joints[model.getJointId(name)]
        # Pinocchio has a continuous joint's angle as cosine and sine
        q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    pin.framesForwardKinematics(model, data, q)
    placed = DeflectedArm(description).place(ArmSample(0.0, position, deflection), factor)
    for link in description.links:
        np.testing.assert_allclose(placed[link], data.oMf[model.getFrameId(link)].homogeneous, atol=1e-12)


@pytest.mark.parametrize("factor", [1.0, 5.0])
def test_a_bent_link_carries_the_rest_of_the_arm_as_its_end_node_moves(bending, factor):
    arm, sample = bending
    link, data = next(iter(load_flexible_links(arm.description).items()))
    eta = np.array([sample.modes.get(f"{link}/{mode}", 0.0) for mode in data.modes])
    joint = next(joint for joint in arm.description.joints.values() if joint.parent == link)
    end = data.nearest_node(joint.transform_child_to_parent[:3, 3])
    placed = arm.place(sample, factor)
    offset = np.linalg.inv(placed[link]) @ placed[joint.child]
    expected = joint.transform_child_to_parent[:3, 3] + factor * data.translation[end] @ eta
    np.testing.assert_allclose(offset[:3, 3], expected, atol=1e-12)
    assert np.linalg.norm(data.translation[end] @ eta) > 1e-3  # it does bend
    drawn = arm.bend(link, data.position, sample, factor)
    np.testing.assert_allclose(drawn, data.position + factor * data.translation @ eta, atol=1e-12)


def test_stiff_pieces_of_a_bent_link_stand_on_its_line_and_point_along_it(bending):
    arm, sample = bending
    link, data = next(iter(load_flexible_links(arm.description).items()))
    ends = data.position[[0, -1]]
    for part in (0.2, 0.5, 0.9):
        pose = np.eye(4)
        pose[:3, 3] = ends[0] + part * (ends[1] - ends[0])
        bent = arm.bend_pose(link, pose, sample, 1.0)
        beside = pose[:3, 3] + np.outer((-0.01, 0.01), arm.along(link))
        before, after = arm.bend(link, beside, sample, 1.0)
        np.testing.assert_allclose(bent[:3, 3], (before + after) / 2.0, atol=1e-4)
        way = (after - before) / np.linalg.norm(after - before)
        # sections of a slender beam stay square to its line; nodes in between are joined by straight lines
        np.testing.assert_allclose(bent[:3, :3] @ arm.along(link), way, atol=5e-3)


def test_an_arm_that_is_not_exaggerated_at_all_is_straight(bending):
    arm, sample = bending
    still = replace(sample, modes={})
    for link, pose in arm.place(sample, 0.0).items():
        np.testing.assert_allclose(pose, arm.place(still, 1.0)[link], atol=1e-15)


def test_a_reference_in_the_base_swings_with_the_drawn_base(planar_3r_text):
    arm = DeflectedArm(parse_robot_description(planar_3r_text))
    point = np.array([1.0, 0.5, 0.0])
    sample = ArmSample(0.0, {}, {"base_x": 0.01}, {}, point, reference_in_base=True)
    np.testing.assert_allclose(arm.reference(sample, 20.0), point + [0.2, 0.0, 0.0], atol=1e-14)
    in_root = replace(sample, reference_in_base=False)
    np.testing.assert_allclose(arm.reference(in_root, 20.0), point)


def test_the_sensor_under_the_arm_is_told_from_one_at_the_tool():
    boom = parse_robot_description(load_robot_description(URDF / "boom_7r.urdf.xacro"))
    wall = parse_robot_description(load_robot_description(URDF / "arm_7r.urdf.xacro"))
    arm = DeflectedArm(boom)
    assert (arm.base_sensor, arm.wrench_frame) == ("base_ft_sensor", "base_link")
    sensors = {name: sensor.frame for name, sensor in wall.force_torque_sensors.items()}
    only_tool = replace(
        wall, force_torque_sensors={n: s for n, s in wall.force_torque_sensors.items() if n != "base_ft_sensor"}
    )
    assert "tool_ft_sensor" in sensors and "base_ft_sensor" in sensors
    arm = DeflectedArm(only_tool)
    assert (arm.base_sensor, arm.wrench_frame) == ("", wall.base_frame)
