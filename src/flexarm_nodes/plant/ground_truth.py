"""GroundTruthOutput: publishes the true state of a simulated plant, for evaluation only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState
from flexarm_nodes.messages.conversions import pose_form, true_joints_form, wrench_form
from flexarm_nodes.messages.flexible import true_flexible_state_form
from flexarm_nodes.messages.form import Form
from flexarm_nodes.node import topics
from flexarm_nodes.node.sender import Sender
from flexarm_sim.backend import PlantState
from flexarm_sim.plant import Plant

Make = Callable[[int, PlantState], Form]  # (stamp [ns], state) -> message


class GroundTruthOutput:
    """Publishers of the true state of joints, tool, elastic joints and modes, contacts and friction."""

    def __init__(self, node: Node) -> None:
        """Create the publishers that every plant has."""
        self._node = node
        self._joints = self._sender(JointState, topics.TRUE_JOINT_STATES)
        self._pose = self._sender(PoseStamped, topics.TRUE_TOOL_POSE)
        self._pose_in_base = self._sender(PoseStamped, topics.TRUE_TOOL_POSE_IN_BASE)

    def open(self, plant: Plant, frames: tuple[str, str], *, touches: bool, friction: bool) -> None:
        """Create the publishers that depend on the plant.

        Args:
            plant: plant whose state is published.
            frames: root link and base link.
            touches: whether there are surfaces.
            friction: whether joints have friction.
        """
        self._plant = plant
        joints, elastic, modes, (world, base) = plant.joint_names, plant.elastic_joint_names, plant.modes, frames
        self._outputs: list[tuple[Sender, Make]] = [
            (self._joints, lambda stamp, now: true_joints_form(stamp, now, joints + elastic)),
            (
                self._pose,
                lambda stamp, now: pose_form(stamp, world, now.tool_position_in_world, now.tool_rotation_in_world),
            ),
            (
                self._pose_in_base,
                lambda stamp, now: pose_form(stamp, base, now.tool_position_in_base, now.tool_rotation_in_base),
            ),
        ]
        if modes or elastic:
            self._add(
                FlexibleState,
                topics.TRUE_FLEXIBLE_STATE,
                lambda stamp, now: true_flexible_state_form(stamp, now, elastic, modes),
            )
        if touches:
            self._add(
                WrenchStamped,
                topics.TRUE_CONTACT_WRENCH,
                lambda stamp, now: wrench_form(stamp, world, np.sum(list(now.contacts.values()), axis=0)),
            )
        if friction:
            self._add(
                JointState,
                topics.TRUE_JOINT_FRICTION,
                lambda stamp, now: Form(
                    JointState, {"position": (), "velocity": (), "effort": now.friction}, {"name": joints}, stamp
                ),
            )

    def publish(self, stamp: int) -> None:
        """Publish the true state at a stamp [ns] on every topic that has a subscriber."""
        for sender, make in self._outputs:
            if sender.heard:
                sender.publish(make(stamp, self._plant.state()))

    def _add(self, kind: Any, topic: str, make: Make) -> None:
        self._outputs.append((self._sender(kind, topic), make))

    def _sender(self, kind: Any, topic: str) -> Sender:
        return Sender(self._node, kind, topic, topics.EVERY_SAMPLE)
