"""A maker's floating or planar root as an elastic or measured base, without an edit of the file."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import robots

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.pipeline.base_odometry_stage import BaseOdometryConfig, BaseOdometryStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.added_springs import with_springs
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, FlexibleSample

WAYS = ("x", "y", "z", "rx", "ry", "rz")
FREE = {f"virtual_{way}": (0.0, 0.0) for way in ("x", "y", "rz")}
SPRINGS = {f"virtual_{way}": (1000.0 * (i + 1), 10.0 + i) for i, way in enumerate(WAYS)}


def on(kind: str, more: str = "") -> tuple[str, str]:
    """An arm whose first link is moved by such a root joint: its text and tool."""
    text, tool = robots.find("arm_7r")
    base = parse_robot_description(text).root
    body = """<link name="chassis"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="50"/>
      <inertia ixx="3" iyy="4" izz="5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial></link>"""
    root = f"""<link name="odom"/>{body}<joint name="virtual" type="{kind}"><parent link="odom"/><child link="chassis"/>
      <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>{more}</joint>
      <joint name="bolts" type="fixed"><parent link="chassis"/><child link="{base}"/></joint>"""
    return text.replace("</robot>", f"{root}</robot>"), tool


def test_a_floating_root_is_pinocchios_free_flyer() -> None:
    """Inertia, weight and tool in random states: twists of the free flyer are those of the row of joints."""
    text, tool = on("floating")
    model = ArmModel(parse_robot_description(text, added_springs=SPRINGS), tool)
    assert model.elastic_joint_names == tuple(SPRINGS) and model.world_frame == "odom"
    assert np.allclose(np.diag(model.K_b), [k for k, _ in SPRINGS.values()])
    assert np.allclose(np.diag(model.D_b), [d for _, d in SPRINGS.values()])
    whole, rng = pin.buildModelFromXML(text), np.random.default_rng(5)
    data, root, arm = whole.createData(), whole.joints[whole.getJointId("virtual")], np.arange(6, whole.nv)
    assert root.nq == 7 and root.idx_v == 0 and list(whole.names)[2:] == list(model.joint_names)
    for _ in range(5):
        q, x = rng.uniform(np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0)), rng.uniform(-0.4, 0.4, 6)
        a, b, c = (pin.exp3(angle * axis) for angle, axis in zip(x[3:], np.eye(3), strict=True))
        turn = a @ b @ c
        J = np.zeros((6, 6))  # of the twist of the chassis in its own axes
        J[:3, :3], J[3:, 3:] = turn.T, turn.T @ np.column_stack(([1, 0, 0], a[:, 1], (a @ b)[:, 2]))
        place = np.concatenate((pin.SE3ToXYZQUAT(pin.SE3(turn, x[:3])), q))
        H = pin.crba(whole, data, place)
        H = np.triu(H) + np.triu(H, 1).T
        weight = pin.computeGeneralizedGravity(whole, data, place)
        blocks = model.blocks(ArmState(0, q, np.zeros(7), x, np.zeros(6)))
        for ours, theirs in (
            (blocks.H_b, J.T @ H[:6, :6] @ J),
            (blocks.H_bm, J.T @ H[:6, arm]),
            (blocks.H_m, H[np.ix_(arm, arm)]),
            (blocks.c_b, J.T @ weight[:6]),
            (blocks.c_m, weight[arm]),
        ):
            assert np.abs(ours - theirs).max() < 1e-4 * np.abs(theirs).max()  # five links of a gram
        pin.framesForwardKinematics(whole, data, place)
        pose = model.tool_kinematics(ArmState(0, q, np.zeros(7), x, np.zeros(6)), "odom")
        assert np.allclose(pose.position, data.oMf[whole.getFrameId(tool)].translation, atol=1e-12)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0), (1.0, -2.0, 0.5)])
def test_a_planar_root_slides_across_its_axis_and_turns_about_it(axis: tuple[float, ...]) -> None:
    text, tool = on("planar", f'<axis xyz="{" ".join(map(str, axis))}"/>')
    model = ArmModel(parse_robot_description(text, added_springs=FREE), tool)
    normal = pin.rpy.rpyToMatrix(0.1, 0.2, 0.3) @ np.array(axis) / np.linalg.norm(axis)
    for x in np.random.default_rng(1).uniform(-1.0, 1.0, (5, 3)):
        position, rotation = model.base_pose(x)
        turned = rotation @ model.base_pose(np.zeros(3))[1].T
        slid = position - (1.0, 2.0, 3.0) - turned @ (model.base_pose(np.zeros(3))[0] - (1.0, 2.0, 3.0))
        assert slid @ normal == pytest.approx(0.0, abs=1e-12)
        assert np.linalg.norm(slid) == pytest.approx(np.hypot(*x[:2]))
        assert np.allclose(turned, pin.exp3(x[2] * normal), atol=1e-12)


def test_a_planar_root_is_measured_by_odometry() -> None:
    """A mobile base that drives and turns: its pose and twist tell place and rates of its directions."""
    text, tool = on("planar", '<axis xyz="0 0 1"/>')
    model = ArmModel(parse_robot_description(text, added_springs=FREE), tool)
    stage, origin = (
        BaseOdometryStage(model, BaseOdometryConfig(link="chassis")),
        pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([1.0, 2.0, 3.0])),
    )
    x, rate = np.array([5.0, -3.0, 2.0]), np.array([0.4, 0.2, -0.3])
    turn = pin.exp3(x[2] * np.array([0.0, 0.0, 1.0]))
    pose = origin * pin.SE3(turn, np.array([*x[:2], 0.0]))
    twist = np.concatenate((turn.T @ (*rate[:2], 0.0), (0.0, 0.0, rate[2])))
    stage.take(1_000_000, pose.translation, pose.rotation, twist)
    unknown = np.full(3, np.nan)
    tick = Tick(
        FlexibleSample(1_000_000, np.zeros(7), np.zeros(7), np.full(7, np.nan), unknown, unknown, {}, {}, {}), 3
    )
    stage.update(tick)
    assert np.allclose(tick.flexible.deflection, x, atol=1e-9)
    assert np.allclose(tick.flexible.deflection_rate, rate, atol=1e-9)


def test_directions_that_are_not_named_are_stiff_and_others_joints_can_be_elastic() -> None:
    text, _ = on("floating")
    some = parse_robot_description(text, added_springs={"virtual_z": (9e4, 3.0)})
    assert [joint.name for joint in some.elastic] == ["virtual_z"] and "virtual" not in some.joints
    again = parse_robot_description(some.text)
    assert again.elastic == some.elastic and again.joints.keys() == some.joints.keys()
    lift = """<link name="floor"/><joint name="lift" type="prismatic"><parent link="floor"/><child link="{}"/>
      <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="100"/></joint>"""
    alone, _ = robots.find("arm_7r")
    lifted = alone.replace("</robot>", lift.format(parse_robot_description(alone).root) + "</robot>")
    (one,) = parse_robot_description(lifted, massless=True, added_springs={"lift": (7.0, 0.0)}).elastic
    assert (one.name, one.stiffness, one.damping) == ("lift", 7.0, 0.0)


@pytest.mark.parametrize(
    ("springs", "said"),
    [
        (
            {"virtual": (1.0, 0.0)},
            "joint 'virtual' gives way in several directions: name them, of virtual_x, virtual_y",
        ),
        ({"virtual_q": (1.0, 0.0)}, "elastic: 'virtual_q' is not a joint that moves; these are: .*virtual_rz"),
        ({"virtual_x": (-1.0, 0.0)}, "'virtual_x': needs stiffness >= 0"),
        ({"elbow": (1.0, 0.0)}, "elbow"),
    ],
)
def test_what_cannot_be_elastic_is_said(springs: dict[str, tuple[float, float]], said: str) -> None:
    with pytest.raises(RobotDescriptionError, match=said):
        parse_robot_description(on("floating")[0], added_springs=springs)


def test_without_springs_the_text_is_that_of_the_file() -> None:
    text = on("floating")[0]
    assert with_springs(text, {}) is text
