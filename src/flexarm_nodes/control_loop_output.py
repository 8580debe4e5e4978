"""ControlLoopOutput: what stages in one process send, on the topics on which nodes in a chain would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from flexarm_core.pipeline.flexible_stages import FlexibleEstimatorStage
from flexarm_core.pipeline.redundancy_stage import RedundancyStage
from flexarm_core.pipeline.reference_stage import JointMotion, ReferenceStage
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_nodes import topics
from flexarm_nodes.arm_node import ArmNode
from flexarm_nodes.base_wrench_conversions import base_wrench_estimate_to_message
from flexarm_nodes.conversions import (
    base_reaction_to_message,
    cartesian_reference_from_message,
    cartesian_reference_to_message,
    joint_reference_to_message,
)
from flexarm_nodes.flexible_conversions import flexible_state_to_message
from flexarm_nodes.path_conversions import redundancy_state_to_message


class ControlLoopOutput:
    """Publishers of the stages; nothing is made of what nobody listens to."""

    def __init__(self, node: ArmNode, model: ArmModel, modes: tuple[str, ...], stages: Sequence[Stage]) -> None:
        """Create the publishers.

        Args:
            node: that gets them.
            model: of the arm.
            modes: names of the modes that are estimated.
            stages: of the pipeline, the gate left out.
        """
        self._node, self._model, self._modes = node, model, modes
        self._publishers: dict[str, Any] = {}
        self._joints: dict[str, Any] = {}  # by the name of the stage
        self._wrench = next((stage for stage in stages if isinstance(stage, BaseWrenchStage)), None)
        self._solver = next((stage for stage in stages if isinstance(stage, RedundancyStage)), None)
        for stage in stages:
            for topic, kind in _reports(stage):
                self._publishers[topic] = node.create_publisher(kind, topic, topics.CONTROL)
        acting = [stage.name for stage in stages if _acts(stage)]
        for name in acting:
            topic = topics.JOINT_REFERENCE if name == acting[-1] else f"{name}/{topics.JOINT_REFERENCE}"
            self._joints[name] = node.create_publisher(JointReference, topic, topics.CONTROL)
        if topics.DESIRED_JOINT_REFERENCE in self._publishers:
            self._joints[ReferenceStage.name] = self._publishers[topics.DESIRED_JOINT_REFERENCE]
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples."""
        self._weight = 0.0  # of the torque loop's correction when the estimate was made: before it was used

    def close(self) -> None:
        """Take the publishers away."""
        for publisher in {*self._publishers.values(), *self._joints.values()}:
            self._node.destroy_publisher(publisher)

    def carry(self, reference: CartesianReferenceRecord) -> CartesianReferenceRecord:
        """Send a tool reference; what the message says is what the stages get, as where they are separate."""
        message = cartesian_reference_to_message(reference, self._model.tool_frame)
        self._publishers[topics.CARTESIAN_REFERENCE].publish(message)
        return cartesian_reference_from_message(message, self._model.tool_frame)

    def publish(self, tick: Tick) -> None:
        """Send what the stages made of a sample."""
        model = self._model
        for name, joints in tick.given.items():
            if self._joints[name].get_subscription_count():
                self._joints[name].publish(joint_reference_to_message(joints, model.joint_names))
        if tick.reaction is not None and (to := self._heard(topics.BASE_REACTION)):
            to.publish(base_reaction_to_message(tick.reaction, model.base_frame, model.elastic_joint_names))
        if tick.flexible is not None and (to := self._heard(topics.FLEXIBLE_STATE)):
            names = tuple(joint.name for joint in model.description.elastic)
            to.publish(flexible_state_to_message(tick.flexible, names, self._modes))
        if tick.estimate is not None and self._wrench is not None and (to := self._heard(topics.BASE_WRENCH_ESTIMATE)):
            frame = self._wrench.estimator.bodies.sensor_frame
            to.publish(base_wrench_estimate_to_message(tick.estimate, model.joint_names, frame, self._weight))
        if self._wrench is not None and self._wrench.controller is not None:
            self._weight = self._wrench.controller.weight
        if self._solver is not None and (to := self._heard(topics.REDUNDANCY_STATE)):
            status = self._solver.status
            activity = RedundancyState.HOLDING if status is None else RedundancyState.STREAMING
            to.publish(redundancy_state_to_message(tick.stamp, model.base_frame, activity, 0.0, status))

    def _heard(self, topic: str) -> Any:
        """Publisher of a topic to which somebody listens, else None."""
        publisher = self._publishers.get(topic)
        return publisher if publisher is not None and publisher.get_subscription_count() else None


_REPORTS: dict[type, tuple[str, Any]] = {
    FlexibleEstimatorStage: (topics.FLEXIBLE_STATE, FlexibleState),
    RedundancyStage: (topics.REDUNDANCY_STATE, RedundancyState),
    VibrationStage: (topics.BASE_REACTION, BaseReaction),
    BaseWrenchStage: (topics.BASE_WRENCH_ESTIMATE, BaseWrenchEstimate),
}


def _reports(stage: Stage) -> Iterator[tuple[str, Any]]:
    """Topics and message types of what a stage makes beside joint references that answer others."""
    if isinstance(stage, ReferenceStage):
        joints = isinstance(stage.motion, JointMotion)
        yield (
            (topics.DESIRED_JOINT_REFERENCE, JointReference)
            if joints
            else (
                topics.CARTESIAN_REFERENCE,
                CartesianReference,
            )
        )
    elif type(stage) in _REPORTS:
        yield _REPORTS[type(stage)]


def _acts(stage: Stage) -> bool:
    """Whether a stage answers with joint references, other than by making them up."""
    if isinstance(stage, BaseWrenchStage):
        return stage.controller is not None
    return not isinstance(stage, (ReferenceStage, FlexibleEstimatorStage))
