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
from flexarm_nodes.node.output.sender import Sender
from flexarm_sim.backend import PlantState
from flexarm_sim.plant import Plant

Make = Callable[[int, PlantState], Form]  # (stamp [ns], state) -> message


def true_outputs(
    plant: Plant, frames: tuple[str, str], *, touches: bool, friction: bool
) -> dict[str, tuple[Any, Make]]:
    """Return message type and maker of every topic on which the true state of a plant is published.

    Args:
        plant: plant whose state is published.
        frames: root link and base link.
        touches: whether there are surfaces.
        friction: whether joints have friction.
    """
    joints, elastic, modes, (world, base) = plant.joint_names, plant.elastic_joint_names, plant.modes, frames
    found: dict[str, tuple[Any, Make]] = {
        topics.TRUE_JOINT_STATES: (JointState, lambda stamp, now: true_joints_form(stamp, now, joints + elastic)),
        topics.TRUE_TOOL_POSE: (
            PoseStamped,
            lambda stamp, now: pose_form(stamp, world, now.tool_position_in_world, now.tool_rotation_in_world),
        ),
        topics.TRUE_TOOL_POSE_IN_BASE: (
            PoseStamped,
            lambda stamp, now: pose_form(stamp, base, now.tool_position_in_base, now.tool_rotation_in_base),
        ),
    }
    if modes or elastic:
        found[topics.TRUE_FLEXIBLE_STATE] = (
            FlexibleState,
            lambda stamp, now: true_flexible_state_form(stamp, now, elastic, modes),
        )
    if touches:
        found[topics.TRUE_CONTACT_WRENCH] = (
            WrenchStamped,
            lambda stamp, now: wrench_form(stamp, world, sum(now.contacts.values(), np.zeros(6))),
        )
    if friction:
        found[topics.TRUE_JOINT_FRICTION] = (
            JointState,
            lambda stamp, now: Form(
                JointState, {"position": (), "velocity": (), "effort": now.friction}, {"name": joints}, stamp
            ),
        )
    return found


class GroundTruthOutput:
    """Publishers of the true state of joints, tool, elastic joints and modes, contacts and friction."""

    def __init__(self, node: Node) -> None:
        """Create the publishers that every plant has."""
        self._node = node
        self._senders: dict[str, Sender] = {}
        for topic, kind in (
            (topics.TRUE_JOINT_STATES, JointState),
            (topics.TRUE_TOOL_POSE, PoseStamped),
            (topics.TRUE_TOOL_POSE_IN_BASE, PoseStamped),
        ):
            self._senders[topic] = self._sender(kind, topic)

    def open(self, plant: Plant, frames: tuple[str, str], *, touches: bool, friction: bool) -> None:
        """Create the publishers that depend on the plant; arguments as of :func:`true_outputs`."""
        self._plant = plant
        self._outputs: list[tuple[Sender, Make]] = []
        for topic, (kind, make) in true_outputs(plant, frames, touches=touches, friction=friction).items():
            if topic not in self._senders:
                self._senders[topic] = self._sender(kind, topic)
            self._outputs.append((self._senders[topic], make))

    def publish(self, stamp: int) -> None:
        """Publish the true state at a stamp [ns] on every topic that has a subscriber."""
        for sender, make in self._outputs:
            if sender.heard:
                sender.publish(make(stamp, self._plant.state()))

    def _sender(self, kind: Any, topic: str) -> Sender:
        return Sender(self._node, kind, topic, topics.EVERY_SAMPLE)
