"""Joints outside of the arm: gripper fingers, heads and wheels ride along as rigid parts of the arm."""

from __future__ import annotations

import re

import numpy as np
import pinocchio as pin
import pytest
import robots

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.held_tags import place_held, taken_from_arm
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState

GRIPPER = """
  <link name="palm"><inertial><mass value="0.4"/><origin xyz="0 0.01 0.03"/>
    <inertia ixx="1e-3" iyy="2e-3" izz="1.5e-3" ixy="1e-4" ixz="0" iyz="0"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="{tool}"/><child link="palm"/><origin rpy="0.1 0.2 0.3"/></joint>
  {finger_1}{finger_2}
  <joint name="finger_1" type="prismatic"><parent link="palm"/><child link="f1"/><origin xyz="0 0 0.1" rpy="0.3 0 1"/>
    <axis xyz="0 2 1"/><limit lower="0.01" upper="0.08" velocity="0" effort="0"/></joint>
  <joint name="finger_2" type="revolute"><parent link="palm"/><child link="f2"/>
    <origin rpy="1.5707963267948966 0.4 -2"/><axis xyz="1 -1 2"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
    <mimic joint="finger_1" multiplier="-7" offset="0.2"/></joint>"""
FINGER = """<link name="{}"><inertial><mass value="0.2"/><origin xyz="0.01 0.02 0.04"/>
    <inertia ixx="1e-3" iyy="2e-3" izz="1.5e-3" ixy="1e-4" ixz="0" iyz="0"/></inertial></link>"""


def with_gripper(text: str, tool: str = "tool0", extra: str = "") -> str:
    """The robot with a gripper of two coupled fingers, of different kinds, at its tool."""
    parts = GRIPPER.format(tool=tool, finger_1=FINGER.format("f1"), finger_2=FINGER.format("f2"))
    return text.replace("</robot>", f"{parts}{extra}</robot>")


def reduced(text: str, positions: dict[str, float]) -> pin.Model:
    """Pinocchio's own model of the text, with joints locked at positions."""
    whole = pin.buildModelFromXML(text)
    place = pin.neutral(whole)
    for name, position in positions.items():
        joint = whole.joints[whole.getJointId(name)]
        place[joint.idx_q : joint.idx_q + joint.nq] = (
            position if joint.nq == 1 else (np.cos(position), np.sin(position))
        )
    return pin.buildReducedModel(whole, [whole.getJointId(name) for name in positions], place)


def assert_same_dynamics(
    text: str, held: dict[str, float], positions: dict[str, float], tool: str, whole: str = ""
) -> None:
    """Mass matrix, weight and tool pose are those of Pinocchio's reduced model, in random postures.

    ``whole``: the text in which nothing is held, if that is another.
    """
    description = parse_robot_description(text, held=held)
    model, judge = ArmModel(description, tool), reduced(whole or text, positions)
    assert model.n == judge.nv == judge.nq and not set(positions) & set(model.joint_names)
    order = [judge.joints[judge.getJointId(name)].idx_v for name in model.joint_names]
    data, frame = judge.createData(), judge.getFrameId(tool)
    rng = np.random.default_rng(4)
    for _ in range(5):
        q = rng.uniform(np.maximum(model.lower, -3.0), np.minimum(model.upper, 3.0))
        given = np.empty(model.n)
        given[order] = q
        H = pin.crba(judge, data, given)
        H = np.triu(H) + np.triu(H, 1).T
        weight = pin.computeGeneralizedGravity(judge, data, given)
        pin.framesForwardKinematics(judge, data, given)
        state = ArmState(0, q, np.zeros(model.n), np.zeros(0), np.zeros(0))
        blocks = model.blocks(state)
        assert np.allclose(blocks.H_m, H[np.ix_(order, order)], rtol=1e-9, atol=1e-10)
        assert np.allclose(blocks.c_m, weight[order], rtol=1e-9, atol=1e-9)
        pose = model.tool_kinematics(state, model.world_frame)
        assert np.allclose(pose.position, data.oMf[frame].translation, atol=1e-12)
        assert np.allclose(pose.rotation, data.oMf[frame].rotation, atol=1e-12)


def test_a_gripper_rides_along_as_pinocchio_locks_it() -> None:
    text = with_gripper(robots.find("arm_7r")[0])
    assert_same_dynamics(text, {}, {"finger_1": 0.01, "finger_2": 0.13}, "palm")
    assert_same_dynamics(text, {"finger_1": 0.05}, {"finger_1": 0.05, "finger_2": -0.15}, "palm")
    assert_same_dynamics(text, {"finger_1": 0.05}, {"finger_1": 0.05, "finger_2": -0.15}, "f2")


def test_joints_inside_the_arm_are_held_where_they_are_named() -> None:
    text, tool = robots.find("arm_7r")
    (first, *_, last) = parse_robot_description(text).actuated
    assert_same_dynamics(text, {first: 0.7, last: -0.4}, {first: 0.7, last: -0.4}, tool)


def test_panda_with_its_hand_is_an_arm_of_seven_joints() -> None:
    try:
        text, tool = robots.find("panda")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    fingers = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
    assert parse_robot_description(text).outside == fingers
    assert parse_robot_description(text).tool_frame() == tool
    assert_same_dynamics(text, {}, fingers, tool)


def test_the_text_says_what_was_read() -> None:
    """Every node reads the text that the first one wrote, with the same result."""
    first = parse_robot_description(with_gripper(robots.find("arm_7r")[0]), held={"finger_1": 0.03})
    again = parse_robot_description(first.text)
    assert again.text == first.text and again.actuated == first.actuated and again.joints.keys() == first.joints.keys()
    for name, joint in first.joints.items():
        assert again.joints[name].kind == joint.kind
        place = again.joints[name].transform_child_to_parent
        assert np.allclose(place, joint.transform_child_to_parent, atol=1e-15)


def test_ros2_control_says_where_a_gripper_begins() -> None:
    tags = """<ros2_control name="g" type="system"><joint name="finger_1"><param name="armature">0.1</param>
      <state_interface name="position"><param name="initial_value">0.04</param></state_interface>
      </joint></ros2_control>"""
    description = parse_robot_description(with_gripper(robots.find("arm_7r")[0], extra=tags))
    assert description.outside == {"finger_1": 0.04, "finger_2": pytest.approx(-0.08)}


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"finger_2": 0.1}, "joint 'finger_2' follows 'finger_1': hold that one"),
        ({"finger_1": 0.2}, r"joint 'finger_1' cannot be at 0.2, its limits are \[0.01, 0.08\]"),
        ({"finger_1": float("nan")}, "cannot be at nan"),
        ({"mount": 0.0}, "'mount' is not a joint that moves; these do: .*finger_1"),
        ({"base_x": 0.0}, "joint 'base_x' is elastic: remove its <elastic_joint>"),
        ({"joint1": 0.0, "joint2": 0.0, "joint3": 0.0}, "no actuated joint"),
    ],
)
def test_what_cannot_be_held_is_said(planar_3r_text: str, held: dict[str, float], said: str) -> None:
    with pytest.raises(RobotDescriptionError, match=said):
        parse_robot_description(with_gripper(planar_3r_text), held=held)


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [
        ('mimic joint="finger_1"', 'mimic joint="finger_9"', "'finger_2' mimics 'finger_9', which does not exist"),
        ('mimic joint="finger_1"', 'mimic joint="finger_2"', "'finger_2' mimics itself: finger_2 -> finger_2"),
    ],
)
def test_a_wrong_leader_is_named(planar_3r_text: str, pattern: str, replacement: str, said: str) -> None:
    with pytest.raises(RobotDescriptionError, match=said):
        parse_robot_description(with_gripper(planar_3r_text).replace(pattern, replacement))


def test_a_floating_base_is_held_by_name(planar_3r_text: str) -> None:
    text = planar_3r_text.replace(
        "</robot>",
        '<link name="ship"/><joint name="afloat" type="floating"><parent link="ship"/><child link="world"/></joint>'
        "</robot>",
    )
    with pytest.raises(RobotDescriptionError, match="'afloat': type 'floating' is not supported; hold it"):
        parse_robot_description(text)
    description = parse_robot_description(text, held={"afloat": 0.0})
    assert description.root == "ship" and ArmModel(description).n == 3


def test_an_inertia_of_no_body_rides_on_the_link_that_carries_it() -> None:
    """An antenna with a wrong inertia on a large link: the rigid body of both is physical, as Pinocchio sums it."""
    antenna = """<link name="antenna"><inertial><mass value="1e-6"/><origin xyz="0.1 0 0.2" rpy="1 2 3"/>
      <inertia ixx="2e-8" iyy="3e-8" izz="4e-8" ixy="6e-8" ixz="1e-8" iyz="1e-8"/></inertial></link>
      <joint name="glue" type="fixed"><parent link="{}"/><child link="antenna"/><origin rpy="0.4 0.5 0.6"/></joint>"""
    text, tool = robots.find("arm_7r")
    description = parse_robot_description(text)
    link = description.joints[description.actuated[2]].child
    assert_same_dynamics(text.replace("</robot>", f"{antenna.format(link)}</robot>"), {}, {}, tool)
    alone = text.replace("</robot>", f"{antenna.format(tool).replace('e-8', 'e-1')}</robot>")
    with pytest.raises(RobotDescriptionError, match="principal inertia.* is negative|are of no body"):
        parse_robot_description(alone)


def test_an_inertia_of_no_body_stays_outboard_of_its_sensor(planar_3r_text: str) -> None:
    """A force/torque sensor would not feel what was moved to the other side of it."""
    own = re.search('<link name="base_ft">.*?</link>', planar_3r_text, re.DOTALL)[0]
    inertial = """<inertial><mass value="0.1"/><inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial>"""
    text = planar_3r_text.replace(own, f'<link name="base_ft">{inertial}</link>')
    with pytest.raises(RobotDescriptionError, match="link 'base_ft': principal inertias 1, 1, 9"):
        parse_robot_description(text)


def test_a_moved_inertia_is_turned_to_the_axes_of_its_carrier() -> None:
    antenna = """<link name="antenna"><inertial><mass value="1e-6"/><origin rpy="1 2 3"/>
      <inertia ixx="1e-3" iyy="1e-3" izz="5e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="glue" type="fixed"><parent link="{}"/><child link="antenna"/><origin rpy="0.4 0.5 0.6"/></joint>"""
    text, _ = robots.find("arm_7r")
    before = parse_robot_description(text)
    link = before.joints[before.actuated[0]].child
    after = parse_robot_description(text.replace("</robot>", f"{antenna.format(link)}</robot>"))
    turn = pin.rpy.rpyToMatrix(0.4, 0.5, 0.6) @ pin.rpy.rpyToMatrix(1.0, 2.0, 3.0)
    moved = after.links[link].inertia - before.links[link].inertia
    assert np.allclose(moved, turn @ np.diag([1e-3, 1e-3, 5e-3]) @ turn.T, atol=1e-12)
    assert not after.links["antenna"].inertia.any()


def test_what_carries_the_follower_of_a_joint_of_the_arm_is_of_the_arm_too() -> None:
    """`lead` carries the driven joint, so `follow` belongs to the arm with it, and so does `under`, below `follow`."""
    joints = """<joint name="lead" type="revolute"><parent link="a"/><child link="b"/>{0}</joint>
      <joint name="driven" type="revolute"><parent link="b"/><child link="c"/>{0}</joint>
      <joint name="under" type="revolute"><parent link="a"/><child link="d"/>{0}</joint>
      <joint name="follow" type="revolute"><parent link="d"/><child link="e"/>{0}<mimic joint="lead"/></joint>"""
    links = "".join(f'<link name="{name}"/>' for name in "abcde")
    control = '<ros2_control><joint name="driven"><command_interface name="effort"/></joint></ros2_control>'
    limit = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
    with pytest.raises(RobotDescriptionError, match="'lead' moves joints of the arm.*'under' moves joints of the arm"):
        parse_robot_description(f'<robot name="r">{links}{joints.format(limit)}{control}</robot>', massless=True)
    held = parse_robot_description(
        f'<robot name="r">{links}{joints.format(limit)}{control}</robot>', massless=True, held={"lead": 0.5}
    )
    assert held.actuated == ("driven",) and held.outside == {"under": 0.0}


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = re.sub(r"<inertial>.*?</inertial>", "", robots.find("arm_7r")[0], flags=re.DOTALL)
    with pytest.raises(RobotDescriptionError) as error:
        parse_robot_description(text)
    assert str(error.value).count("has no <inertial> with a mass") == 7


def test_the_text_keeps_where_a_joint_is_held_by_name() -> None:
    first = parse_robot_description(with_gripper(robots.find("arm_7r")[0]), held={"finger_1": 0.03})
    again = parse_robot_description(first.text)
    assert first.held == again.held == parse_robot_description(again.text).held
    assert {name: one.position for name, one in first.held.items()} == {
        "finger_1": 0.03,
        "finger_2": pytest.approx(-0.01),
    }
    assert all(one.named and not one.endless for one in first.held.values()) and not again.outside
    beside = parse_robot_description(with_gripper(robots.find("arm_7r")[0]))
    assert parse_robot_description(beside.text).outside == beside.outside == {"finger_1": 0.01, "finger_2": 0.13}
    with pytest.raises(RobotDescriptionError, match="<held_joint name='finger_1'> needs position, which is a number"):
        parse_robot_description(first.text.replace('position="0.03"', 'position="open"'))
    with pytest.raises(RobotDescriptionError, match="<held_joint name='finger_1'> needs an axis of three numbers"):
        parse_robot_description(re.sub(r'(name="finger_1"[^>]*axis=)"[^"]*"', r'\1"0 1"', first.text))


@pytest.mark.parametrize("told", [{}, {"shoulder_roll": 0.4, "finger_1": 0.03}], ids=["moving", "held"])
def test_held_joints_are_placed_where_they_are_measured(told: dict[str, float]) -> None:
    """A joint that carries the arm and fingers, one of which follows, are those that Pinocchio locks there."""
    text = with_gripper(robots.find("arm_7r")[0])
    before = parse_robot_description(text, held=told).text
    first = parse_robot_description(before, read=("shoulder_roll", "finger_1"))
    assert parse_robot_description(first.text).tool_frame() == parse_robot_description(text).tool_frame()
    found = {"shoulder_roll": -0.7, "finger_1": 0.085}  # beyond a limit of 0.08: it is measured
    placed = place_held(place_held(first.text, {"shoulder_roll": 1.0, "finger_1": 0.0}), found)
    where = found | {"finger_2": 0.2 - 7.0 * 0.085}
    assert_same_dynamics(placed, {}, where, "tool0", text)
    assert {name: one.position for name, one in parse_robot_description(placed).held.items()} == pytest.approx(where)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("finger_9", "^read_joints: 'finger_9' is not a joint that moves"),
        ("finger_2", "^read_joints: joint 'finger_2' follows 'finger_1': read that one$"),
        ("afloat", "read_joints: joint 'afloat' is floating, one position does not tell where"),
        ("base_x", "^read_joints: joint 'base_x' is elastic: it is measured as such, and need not be read$"),
        ("tool_joint", "^read_joints: 'tool_joint' is not a joint that moves"),
    ],
)
def test_what_cannot_be_read_is_said(planar_3r_text: str, name: str, said: str) -> None:
    ship = '<link name="ship"/><joint name="afloat" type="floating"><parent link="ship"/><child link="world"/></joint>'
    text = with_gripper(planar_3r_text, extra=ship)
    with pytest.raises(RobotDescriptionError, match=said):
        parse_robot_description(text, held={"afloat": 0.0}, read=(name,))


def test_a_joint_between_arm_and_tool_is_not_taken_from_the_arm_by_reading_it() -> None:
    """It would be left out of all commands. A lift under the arm is, which is told, and fingers always are."""
    arm = with_gripper(robots.find("arm_7r")[0])
    lift = """<link name="floor"/><joint name="lift" type="prismatic"><parent link="floor"/><child link="{}"/>
      <axis xyz="0 0 1"/><limit lower="0" upper="1" velocity="1" effort="100"/></joint><ros2_control name="l"
      type="system"><joint name="lift"><command_interface name="position"/></joint></ros2_control>"""
    text = arm.replace("</robot>", lift.format(parse_robot_description(arm).root) + "</robot>")
    order = parse_robot_description(text, massless=True).actuated
    assert order[:2] == ("lift", "shoulder_yaw") and order[4] == "elbow"

    def taken(text: str, *names: str) -> tuple[str, ...]:
        return taken_from_arm(text, parse_robot_description(text, massless=True, read=names), names, "tool0")

    assert taken(text, "lift", "finger_1") == ("lift",)
    assert taken(text, "lift", "shoulder_yaw") == ("lift", "shoulder_yaw")
    said = "read_joints: 'elbow' is a joint of the arm, between '.*' and 'tool0', and nobody would drive it"
    for names in (("elbow",), ("lift", "elbow")):
        with pytest.raises(RobotDescriptionError, match=said):
            taken(text, *names)
    locked = parse_robot_description(text, massless=True, held={"elbow": -0.5}).text
    assert taken(locked, "elbow") == ()
    with pytest.raises(RobotDescriptionError, match="read_joints names all joints that move, so that none is left"):
        taken(text, *order, "finger_1")


def test_a_leader_that_does_not_exist_hides_nothing_else(planar_3r_text: str) -> None:
    text = with_gripper(planar_3r_text).replace('mimic joint="finger_1"', 'mimic joint="finger_11"')
    wrong = text.replace('joint name="joint2" type="revolute"', 'joint name="joint2" type="hinge"')
    assert wrong != text
    with pytest.raises(RobotDescriptionError) as error:
        parse_robot_description(wrong)
    told = str(error.value)
    assert "'finger_2' mimics 'finger_11', which does not exist: did you mean 'finger_1'?" in told
    assert "joint 'joint2': type 'hinge' is not supported" in told
