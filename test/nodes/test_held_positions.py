"""Positions of joints outside of the arm in joint states of all kinds."""

from __future__ import annotations

import robots
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.messages.held_positions import PERIOD, HeldPositions


def test_a_joint_whose_first_message_has_no_position_is_heard_later() -> None:
    """A driver may tell efforts, or nothing, before it knows where a lift is: the names are the same."""
    text, tool = robots.find("arm_7r")
    lift = f"""<link name="floor"/><joint name="lift" type="prismatic"><parent link="floor"/>
      <child link="{parse_robot_description(text).root}"/><axis xyz="0 0 1"/>
      <limit lower="0" upper="1" velocity="1" effort="1"/></joint></robot>"""
    description = parse_robot_description(text.replace("</robot>", lift), read=["lift"])
    now = 0.0
    held = HeldPositions(ArmModel(description, tool), ["lift"], lambda: now)
    for position in ([], [0.3]):
        held.look(bytes(serialize_message(JointState(name=["lift"], position=position))))
        now += 2.0 * PERIOD
    assert held.positions() == {"lift": 0.3}


def test_a_wheel_may_roll_and_a_turntable_under_the_arm_may_not() -> None:
    text, tool = robots.find("arm_7r")
    root = parse_robot_description(text).root
    for parent, child, doubted in ((root, "rim", False), ("floor", root, True)):
        turning = f"""<link name="{({parent, child} - {root}).pop()}"/><joint name="turn" type="continuous">
          <parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/></joint></robot>"""
        description = parse_robot_description(text.replace("</robot>", turning), read=["turn"])
        held = HeldPositions(ArmModel(description, tool), ["turn"])
        held.look(bytes(serialize_message(JointState(name=["turn"], position=[2.0]))))
        assert bool(held.doubt) == doubted and held.positions() == {"turn": 2.0}
