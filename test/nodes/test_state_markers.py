"""Node state_markers: the arm, its reaction and the tool's way as markers, as large as was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio
import pytest
from geometry_msgs.msg import WrenchStamped
from numpy.random import default_rng
from sensed_arm import wrench_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from flexarm.msg import CartesianReference, FlexibleState
from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.markers.arm_samples import arm_sample
from flexarm_nodes.markers.motion import MotionMarkers
from flexarm_nodes.markers.robot import PIECES, RobotMarkers
from flexarm_nodes.node import topics
from flexarm_nodes.node.input.wrench_frames import named_frames

NODE = "state_markers"
SHOWN = "/state_markers/markers"
ROOT = Path(__file__).resolve().parents[2]


def position(marker: Marker) -> np.ndarray:
    at = marker.pose.position
    return np.array([at.x, at.y, at.z])


def points(marker: Marker) -> np.ndarray:
    return np.array([[at.x, at.y, at.z] for at in marker.points])


def drawn(arm: DeflectedArm, sample: ArmSample, factor: float, drawing: RobotMarkers | MotionMarkers) -> list[Marker]:
    return drawing.markers(Header(frame_id=arm.description.root), sample, arm.place(sample, factor), factor)


@pytest.fixture(scope="module")
def bending() -> DeflectedArm:
    text = load_robot_description(ROOT / "urdf" / "flexible_2r.urdf.xacro", {"modes": "2"})
    return DeflectedArm(parse_robot_description(text))


def test_a_shape_along_a_flexible_link_is_drawn_in_pieces_that_bend_by_the_factor(bending):
    link, data = next(iter(load_flexible_links(bending.description).items()))
    bent = ArmSample(0.0, {}, {}, {f"{link}/{data.modes[0]}": 0.02})
    straight, once, five = (
        np.array(
            [position(m) for m in drawn(bending, sample, factor, RobotMarkers(bending)) if m.ns == f"robot/{link}"]
        )
        for sample, factor in ((ArmSample(0.0, {}), 1.0), (bent, 1.0), (bent, 5.0))
    )
    assert len(straight) >= PIECES
    row = slice(-PIECES, None)
    away = np.linalg.norm((once - straight)[row], axis=1)
    assert away[-1] > 1e-3 and np.all(np.diff(away) > 0.0)  # clamped at its inner end
    # a piece's middle is on the link's axis: turning it does not move it
    np.testing.assert_allclose((five - straight)[row], 5.0 * (once - straight)[row], rtol=1e-6, atol=1e-9)


def test_what_stands_where_tf_shows_it_is_left_out_and_comes_gradually(bending):
    """RViz draws the robot by TF: two shapes at one place would cover each other in turns."""
    link, data = next(iter(load_flexible_links(bending.description).items()))
    header, robot = Header(frame_id=bending.description.root), RobotMarkers(bending)
    rigid = bending.place(ArmSample(0.0, {}), 1.0)

    def alphas(bend: float, factor: float) -> list[float]:
        sample = ArmSample(0.0, {}, {}, {f"{link}/{data.modes[0]}": bend})
        found = robot.markers(header, sample, bending.place(sample, factor), factor, rigid)
        return [marker.color.a for marker in found if marker.ns == f"robot/{link}"]

    assert alphas(0.0, 10.0) == [] and alphas(0.02, 0.0) == []
    row = alphas(0.02, 5.0)[-PIECES:]
    assert len(set(row)) > 2 and row == sorted(row)  # from the clamped end, which stays, to the other
    assert row[-1] == max(shape.rgba[3] for shape in bending.description.links[link].shapes)


def test_meshes_are_shown_by_their_uri_and_links_without_geometry_as_lines():
    description = parse_robot_description(MESH)
    arm = DeflectedArm(description)
    mesh, line = drawn(arm, ArmSample(0.0, {"joint": np.pi / 2}), 1.0, RobotMarkers(arm))
    assert (mesh.type, mesh.mesh_resource) == (Marker.MESH_RESOURCE, "package://my_robot/hand.stl")
    np.testing.assert_allclose(position(mesh), [0.0, 0.1, 0.3], atol=1e-12)
    assert (mesh.scale.x, mesh.color.g) == (0.001, 0.5)
    np.testing.assert_allclose(points(line), [[0.0, 0.0, 0.0], [0.0, 0.0, 0.3]], atol=1e-12)


def test_trails_reach_back_as_long_as_asked_for_and_begin_anew_with_another_run(planar_3r_text):
    arm = DeflectedArm(parse_robot_description(planar_3r_text))
    motion = MotionMarkers(arm)
    motion.trail_duration = 1.0

    def seen(time: float) -> dict[str, np.ndarray]:
        wanted = np.array([time, 0.0, 0.0]) if time != 2.25 else np.full(3, np.nan)
        markers = drawn(arm, ArmSample(time, {"joint1": 0.1 * time}, reference=wanted), 3.0, motion)
        return {marker.ns: points(marker) for marker in markers}

    for tick in range(25):
        trails = seen(0.125 * tick)
    ways = trails["trail/reference"][:, 0].reshape(-1, 2).tolist()
    assert ways == [[2.0, 2.125], [2.375, 2.5], [2.5, 2.625], [2.625, 2.75], [2.75, 2.875], [2.875, 3.0]]
    expected = arm.tool(ArmSample(3.0, {"joint1": 0.3}), 3.0)
    np.testing.assert_allclose(trails["trail/actual"][-1], expected, atol=1e-12)
    assert seen(0.5) == {}  # one point is no line yet


def test_a_wrench_in_the_frame_of_another_link_is_drawn_in_that_of_the_sensor():
    text = load_robot_description(ROOT / "urdf" / "arm_7r.urdf.xacro")
    arm, model, rng = DeflectedArm(parse_robot_description(text)), pinocchio.buildModelFromXML(text), default_rng(7)
    data, names = model.createData(), [*arm.description.actuated]
    own = named_frames(arm.description.links, ["tcp=tool0 0.1 0.0 -0.2 0.0 1.0 0.0", "plain=tool0"])
    for name in (arm.wrench_frame, "tool0", arm.description.root, "tcp", "plain", "left/tool0"):
        frame, pose = own[name][:2] if name in own else (name.rpartition("/")[2], np.eye(4))
        q, wrench = rng.uniform(-1.0, 1.0, model.nq), rng.standard_normal(6)
        joints = [float(q[model.joints[model.getJointId(name)].idx_q]) for name in names]
        sample = arm_sample(
            {
                topics.JOINT_STATES: JointState(name=names, position=joints),
                topics.wrench_topic(arm.base_sensor): wrench_message(0, name, wrench),
            }.get,
            arm,
            own,
        )
        pinocchio.framesForwardKinematics(model, data, q)
        sensor, given = (data.oMf[model.getFrameId(name)] for name in (arm.wrench_frame, frame))
        wanted = (sensor.inverse() * given * pinocchio.SE3(pose)).act(pinocchio.Force(wrench)).vector
        np.testing.assert_allclose(sample.base_wrench, wanted, atol=1e-12)
    messages = {
        topics.JOINT_STATES: JointState(name=names, position=joints),
        topics.wrench_topic(arm.base_sensor): wrench_message(0, "nowhere", wrench),
    }
    assert np.isnan(arm_sample(messages.get, arm, own).base_wrench).all()  # and is not drawn in a wrong frame


def test_it_draws_what_nodes_publish_with_the_factor_of_this_moment_and_says_what_it_waits_for(live):
    text = load_robot_description(ROOT / "urdf" / "boom_7r.urdf.xacro")
    live.start(NODE, {"robot_description": text, "exaggeration": 4.0, "marker_rate": 50.0, "autostart": True}, ())
    states, wrenches, flexible, references = (
        live.publisher(topic, kind)
        for topic, kind in (
            (topics.JOINT_STATES, JointState),
            (topics.wrench_topic("base_ft_sensor"), WrenchStamped),
            (topics.FLEXIBLE_STATE, FlexibleState),
            (topics.CARTESIAN_REFERENCE, CartesianReference),
        )
    )
    live.listen(SHOWN, MarkerArray)
    live.wait_for_diagnostic(NODE, "waits for joint_states")
    description = parse_robot_description(text)

    def publish(stamp: float) -> None:
        message = JointState(name=list(description.actuated), position=[0.1 * stamp] * 7, velocity=[0.0] * 7)
        bent = FlexibleState(elastic_joints=["boom_y"], deflection=[0.01], deflection_rate=[0.0])
        wrench = WrenchStamped()
        wrench.wrench.force.z = -100.0
        wanted = CartesianReference(axes=[True] * 6)
        wanted.header.frame_id, wanted.pose.position.x = "world", stamp
        for publisher, each in ((flexible, bent), (wrenches, wrench), (references, wanted), (states, message)):
            each.header.stamp.sec, each.header.stamp.nanosec = int(stamp), round(stamp % 1.0 * 1e9)
            publisher.publish(each)
        live.spin(0.03)

    def newest(stamp: float) -> dict[str, Marker]:
        """Markers by name, once they show everything of a stamp."""
        found: dict[str, Marker] = {}

        def complete() -> bool:
            publish(stamp)
            if not live.received[SHOWN]:
                return False
            found.clear()
            found.update({f"{marker.ns}/{marker.id}": marker for marker in live.received[SHOWN][-1].markers})
            return found.keys() >= {"robot/boom_tip/0", "base_wrench/force/0"}

        live.until(complete, "markers of everything")
        return found

    newest(1.0)
    live.until(lambda: "trail/reference/0" in newest(2.0), "a trail")
    shown = newest(2.0)
    assert all(marker.header.frame_id == "world" for marker in shown.values())
    tip = next(shape for shape in description.links["boom_tip"].shapes).transform_shape_to_link[:3, 3]
    np.testing.assert_allclose(position(shown["robot/boom_tip/0"]), tip + [0.0, 0.04, 0.0], atol=1e-9)  # 4 x 10 mm
    begin, end = points(shown["base_wrench/force/0"])
    np.testing.assert_allclose(end - begin, [0.0, 0.0, -100.0 * 0.005], atol=1e-9)
    np.testing.assert_allclose(points(shown["trail/reference/0"])[:, 0], [1.0, 2.0])
    live.graph.set_parameters(NODE, {"exaggeration": 0.0}, 5.0)
    live.until(lambda: abs(position(newest(2.0)["robot/boom_tip/0"])[1]) < 1e-12, "another exaggeration")
    assert not any("internal error" in message for _, message in live.said(NODE))


MESH = """
<robot name="one">
  <link name="base"/>
  <joint name="joint" type="revolute">
    <parent link="base"/><child link="hand"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="10" velocity="1"/>
  </joint>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual>
      <origin xyz="0.1 0 0"/>
      <geometry><mesh filename="package://my_robot/hand.stl" scale="0.001 0.001 0.001"/></geometry>
      <material name="green"><color rgba="0 0.5 0 1"/></material>
    </visual>
  </link>
</robot>
"""
