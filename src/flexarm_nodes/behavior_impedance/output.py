"""Publishers of behavior_impedance_controller: references, reports, diagnostics."""

from __future__ import annotations

from typing import Any

from flexarm.msg import CartesianReference, JointReference
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.behavior_impedance.report import BehaviorReport
from flexarm_nodes.messages.conversions import cartesian_reference_to_message, joint_reference_to_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.diagnostics import ERROR

COMPLAINT = 1_000_000_000  # [ns] time for which a rejection stays in the diagnostics


class BehaviorOutput:
    """Publishers of the node; each stamp has one answer."""

    def __init__(self, node: ArmNode) -> None:
        """Create the publishers."""
        self._node = node
        self._joints: Any = None
        self._tool = node.create_publisher(CartesianReference, topics.CARTESIAN_REFERENCE, topics.EVERY_SAMPLE)
        self._report = BehaviorReport(node)
        self._diagnostics = node.diagnostics
        self.reset()

    def reset(self) -> None:
        """Discard earlier answers."""
        self._last: tuple[int, JointReference | None, CartesianReference] | None = None
        self._refused, self._refusal = -1, ""
        self._report.reset()

    def bind(self, model: ArmModel, stage: BehaviorStage) -> None:
        """Use this arm, and report on this stage."""
        self._model = model
        self._report.bind(stage)
        self._joints = self._node.lead(self._joints, stage.leads)

    def change(self, values: dict[str, Any]) -> None:
        """Apply changed parameters."""
        self._report.change(values)

    def publish(self, tool: CartesianReferenceRecord, joints: JointReferenceRecord | None) -> None:
        """Publish the references of a stamp, and report on it."""
        names, stamp = self._model.joint_names, tool.stamp
        led = None if joints is None else joint_reference_to_message(joints, names)
        self._last = stamp, led, cartesian_reference_to_message(tool, self._model.tool_frame)
        self.repeat(stamp)
        self._report.publish()
        lately = self._refused >= 0 and stamp - self._refused <= COMPLAINT
        self._diagnostics.report(*self._report.judge(self._refusal if lately else ""), stamp)

    def repeat(self, stamp: int) -> None:
        """Publish the last answer again if its stamp is received again: the first answer may have been lost."""
        if self._last is None or stamp != self._last[0]:
            return
        _, joints, tool = self._last
        self._tool.publish(tool)
        if joints is not None and self._joints is not None:
            self._joints.publish(joints)

    def refuse(self, stamp: int, reason: str) -> None:
        """Report why an input was rejected; the report has priority over warnings for a period COMPLAINT."""
        self._refused, self._refusal = stamp, reason
        self._diagnostics.report(ERROR, reason, stamp)
