"""ControlLoopOutput: publishes the output of stages in one process on the topics of the separate nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from flexarm.msg import (
    BaseReaction,
    BaseWrenchEstimate,
    CartesianReference,
    FlexibleState,
    JointReference,
    RedundancyState,
)
from flexarm_core.pipeline.base_wrench_stage import BaseWrenchStage
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.pipeline.flexible_stages import FlexibleEstimatorStage
from flexarm_core.pipeline.reactionless_stage import ReactionlessStage
from flexarm_core.pipeline.redundancy_stage import RedundancyStage
from flexarm_core.pipeline.reference_stage import JointMotion, ReferenceStage
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.base_wrench import base_wrench_estimate_to_message
from flexarm_nodes.messages.conversions import (
    base_reaction_to_message,
    cartesian_reference_to_message,
    joint_reference_to_message,
    quaternion_to_rotation,
    rotation_to_quaternion,
)
from flexarm_nodes.messages.flexible import flexible_state_to_message
from flexarm_nodes.messages.path import redundancy_state_to_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode

Make = Callable[[Tick], Any]  # makes the message of a tick; None: nothing to publish


class ControlLoopOutput:
    """Publishers of the stages; a message is only made if its topic has a subscriber.

    If several stages publish the same kind of reference, the last stage uses the topic and the others use
    ``STAGE/TOPIC``.
    """

    def __init__(self, node: ArmNode, model: ArmModel, modes: tuple[str, ...], stages: Sequence[Stage]) -> None:
        """Create the publishers.

        Args:
            node: node that publishes.
            model: arm model.
            modes: names of the estimated modes.
            stages: stages of the pipeline without the gate.
        """
        self._node, self._model, self._modes = node, model, modes
        self._wrench = next((stage for stage in stages if isinstance(stage, BaseWrenchStage)), None)
        self._senders: list[tuple[Any, Make]] = []
        last = {topic: stage.name for stage in stages for topic, kind, _ in self._sent(stage) if kind in REFERENCES}
        for stage in stages:
            for topic, kind, make in self._sent(stage):
                name = topic if last.get(topic, stage.name) == stage.name else f"{stage.name}/{topic}"
                self._senders.append((node.create_publisher(kind, name, topics.EVERY_SAMPLE), make))
        self.reset()

    def reset(self) -> None:
        """Discard the state of earlier samples."""
        self._weight = 0.0  # weight of the torque loop's correction before this tick's update

    def close(self) -> None:
        """Destroy the publishers."""
        for publisher, _ in self._senders:
            self._node.destroy_publisher(publisher)

    @staticmethod
    def carry(reference: CartesianReferenceRecord) -> CartesianReferenceRecord:
        """Return a tool reference as a message carries it: the quaternion changes the last digits of the rotation."""
        return replace(reference, rotation=quaternion_to_rotation(rotation_to_quaternion(reference.rotation)))

    def publish(self, tick: Tick) -> None:
        """Publish the output of the stages for a sample."""
        for publisher, make in self._senders:
            if publisher.get_subscription_count():
                message = make(tick)
                if message is not None:
                    publisher.publish(message)
        if self._wrench is not None and self._wrench.controller is not None:
            self._weight = self._wrench.controller.weight

    def _sent(self, stage: Stage) -> Iterator[tuple[str, Any, Make]]:
        """Yield topic, message type and message maker of each output of a stage."""
        joints, name = topics.JOINT_REFERENCE, stage.name
        if isinstance(stage, ReferenceStage):
            if isinstance(stage.motion, JointMotion):
                joints = topics.DESIRED_JOINT_REFERENCE
            else:
                yield topics.CARTESIAN_REFERENCE, CartesianReference, partial(self._tool, name)
                return
        elif isinstance(stage, BehaviorStage):
            yield topics.CARTESIAN_REFERENCE, CartesianReference, partial(self._tool, name)
            if not stage.leads:
                return
        elif isinstance(stage, FlexibleEstimatorStage):
            yield topics.FLEXIBLE_STATE, FlexibleState, self._flexible
            return
        elif isinstance(stage, RedundancyStage):
            yield topics.REDUNDANCY_STATE, RedundancyState, partial(self._redundancy, stage)
        elif isinstance(stage, VibrationStage):
            yield topics.BASE_REACTION, BaseReaction, self._reaction
        elif isinstance(stage, ReactionlessStage):
            yield topics.BASE_REACTION, BaseReaction, self._reaction
            yield topics.DESIRED_JOINT_REFERENCE, JointReference, lambda _: self._joint_message(stage.wanted)
        elif isinstance(stage, BaseWrenchStage):
            yield topics.BASE_WRENCH_ESTIMATE, BaseWrenchEstimate, partial(self._estimate, stage)
            if stage.controller is None:
                return
        yield joints, JointReference, lambda tick: self._joint_message(tick.given.get(name))

    def _joint_message(self, joints: JointReferenceRecord | None) -> Any:
        return None if joints is None else joint_reference_to_message(joints, self._model.joint_names)

    def _tool(self, stage: str, tick: Tick) -> Any:
        tool = tick.given_tools.get(stage)
        return None if tool is None else cartesian_reference_to_message(tool, self._model.tool_frame)

    def _reaction(self, tick: Tick) -> Any:
        if tick.reaction is None:
            return None
        return base_reaction_to_message(tick.reaction, self._model.base_frame, self._model.elastic_joint_names)

    def _flexible(self, tick: Tick) -> Any:
        if tick.flexible is None:
            return None
        names = tuple(joint.name for joint in self._model.description.elastic)
        return flexible_state_to_message(tick.flexible, names, self._modes)

    def _estimate(self, stage: BaseWrenchStage, tick: Tick) -> Any:
        if tick.estimate is None:
            return None
        frame = stage.estimator.bodies.sensor_frame
        return base_wrench_estimate_to_message(tick.estimate, self._model.joint_names, frame, self._weight)

    def _redundancy(self, stage: RedundancyStage, tick: Tick) -> Any:
        status = stage.status
        activity = RedundancyState.HOLDING if status is None else RedundancyState.STREAMING
        return redundancy_state_to_message(tick.stamp, self._model.base_frame, activity, 0.0, status)


REFERENCES = (CartesianReference, JointReference)
