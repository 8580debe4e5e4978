"""GroundTruthOutput: what a simulated plant knows of itself, on topics that are for evaluation only."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState
from flexarm_nodes import topics
from flexarm_nodes.conversions import (
    pose_to_message,
    true_friction_to_message,
    true_joints_to_message,
    wrench_to_message,
)
from flexarm_nodes.flexible_conversions import true_flexible_state_to_message
from flexarm_sim.backend import PlantState
from flexarm_sim.plant import Plant


class GroundTruthOutput:
    """Publishers of what is true of joints, tool, springs and modes, contacts and friction."""

    def __init__(self, node: Node) -> None:
        """Create the publishers that every plant has."""
        self._node = node
        self._joints = node.create_publisher(JointState, topics.TRUE_JOINT_STATES, topics.EVERY_SAMPLE)
        self._pose = node.create_publisher(PoseStamped, topics.TRUE_TOOL_POSE, topics.EVERY_SAMPLE)
        self._pose_in_base = node.create_publisher(PoseStamped, topics.TRUE_TOOL_POSE_IN_BASE, topics.EVERY_SAMPLE)

    def open(self, plant: Plant, frames: tuple[str, str], *, touches: bool, rubs: bool) -> None:
        """Create those that depend on the plant.

        Args:
            plant: that is told of.
            frames: root link and base link.
            touches: whether there are surfaces.
            rubs: whether joints have friction.
        """
        node, self._frames = self._node, frames
        self._names, self._elastic, self._modes = plant.joint_names, plant.elastic_joint_names, plant.modes
        self._touches, self._rubs = touches, rubs
        if self._modes or self._elastic:
            self._flexible = node.create_publisher(FlexibleState, topics.TRUE_FLEXIBLE_STATE, topics.EVERY_SAMPLE)
        if touches:
            self._contact = node.create_publisher(WrenchStamped, topics.TRUE_CONTACT_WRENCH, topics.EVERY_SAMPLE)
        if rubs:
            self._friction = node.create_publisher(JointState, topics.TRUE_JOINT_FRICTION, topics.EVERY_SAMPLE)

    def publish(self, stamp: int, state: PlantState) -> None:
        """Publish the truth at a stamp [ns]."""
        world, base = self._frames
        self._joints.publish(true_joints_to_message(stamp, self._names, self._elastic, state))
        self._pose.publish(pose_to_message(stamp, world, state.tool_position_in_world, state.tool_rotation_in_world))
        self._pose_in_base.publish(
            pose_to_message(stamp, base, state.tool_position_in_base, state.tool_rotation_in_base)
        )
        if self._modes or self._elastic:
            self._flexible.publish(true_flexible_state_to_message(stamp, self._elastic, self._modes, state))
        if self._touches:
            self._contact.publish(wrench_to_message(stamp, world, np.sum(list(state.contacts.values()), axis=0)))
        if self._rubs:
            self._friction.publish(true_friction_to_message(stamp, self._names, state.friction))
