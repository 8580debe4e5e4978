"""GroundTruthOutput: publishes the true state of a simulated plant, for evaluation only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState
from flexarm_nodes.messages.conversions import doubles, new_wrench, write_pose, write_true_joints, write_wrench
from flexarm_nodes.messages.flexible import write_true_flexible_state
from flexarm_nodes.node import topics
from flexarm_nodes.node.sample_publisher import SamplePublisher
from flexarm_sim.backend import PlantState
from flexarm_sim.plant import Plant


class GroundTruthOutput:
    """Publishers of the true state of joints, tool, elastic joints and modes, contacts and friction."""

    def __init__(self, node: Node) -> None:
        """Create the publishers that every plant has."""
        self._node = node
        self._joints = self._create(JointState(), topics.TRUE_JOINT_STATES, write_true_joints)
        self._pose = self._create(PoseStamped(), topics.TRUE_TOOL_POSE, _write_pose_in_world)
        self._pose_in_base = self._create(PoseStamped(), topics.TRUE_TOOL_POSE_IN_BASE, _write_pose_in_base)

    def open(self, plant: Plant, frames: tuple[str, str], *, touches: bool, friction: bool) -> None:
        """Create the publishers that depend on the plant.

        Args:
            plant: plant whose state is published.
            frames: root link and base link.
            touches: whether there are surfaces.
            friction: whether joints have friction.
        """
        self._plant = plant
        joints, elastic, modes = list(plant.joint_names), list(plant.elastic_joint_names), list(plant.modes)
        self._joints.message.name = joints + elastic
        self._pose.message.header.frame_id, self._pose_in_base.message.header.frame_id = frames
        self._senders = [self._joints, self._pose, self._pose_in_base]
        if modes or elastic:
            bent = FlexibleState(elastic_joints=elastic, modes=modes)
            self._senders.append(self._create(bent, topics.TRUE_FLEXIBLE_STATE, write_true_flexible_state))
        if touches:
            self._senders.append(self._create(new_wrench(frames[0]), topics.TRUE_CONTACT_WRENCH, _write_contact))
        if friction:
            self._senders.append(self._create(JointState(name=joints), topics.TRUE_JOINT_FRICTION, _write_friction))

    def publish(self, stamp: int) -> None:
        """Publish the true state at a stamp [ns] on every topic that has a subscriber."""
        for sender in self._senders:
            if sender.heard:
                sender.publish(stamp, self._plant.state())

    def _create(self, message: Any, topic: str, write: Callable[[Any, PlantState], None]) -> SamplePublisher:
        return SamplePublisher(self._node, message, topic, topics.EVERY_SAMPLE, write)


def _write_pose_in_world(message: PoseStamped, state: PlantState) -> None:
    write_pose(message, state.tool_position_in_world, state.tool_rotation_in_world)


def _write_pose_in_base(message: PoseStamped, state: PlantState) -> None:
    write_pose(message, state.tool_position_in_base, state.tool_rotation_in_base)


def _write_contact(message: WrenchStamped, state: PlantState) -> None:
    write_wrench(message, np.sum(list(state.contacts.values()), axis=0))


def _write_friction(message: JointState, state: PlantState) -> None:
    message.effort = doubles(state.friction)
