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
