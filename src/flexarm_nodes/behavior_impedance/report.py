"""BehaviorReport: status, set-point, markers and diagnostics of the behaviors beside the references."""

from __future__ import annotations

from typing import Any

from visualization_msgs.msg import MarkerArray

from flexarm.msg import BehaviorStatus, CartesianReference
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_nodes.behavior_impedance.markers import BehaviorMarkers
from flexarm_nodes.messages.behavior import behavior_status_to_message, brief_behavior_status
from flexarm_nodes.messages.conversions import cartesian_reference_form
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Output, Status
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN


class BehaviorReport:
    """Reports on the newest sample of a stage.

    Attributes:
        outputs: topics for monitoring.
    """

    def __init__(self, stage: BehaviorStage) -> None:
        """Report on this stage."""
        self._stage, self._drawn = stage, BehaviorMarkers(stage.controller)
        self.outputs = (
            Output(topics.SET_POINT, CartesianReference, self._set_point),
            Output(
                topics.BEHAVIOR_STATUS,
                BehaviorStatus,
                self._status,
                rate=lambda: self._status_rate,
                brief=lambda tick: brief_behavior_status(stage.controller),
            ),
            Output(topics.MARKERS, MarkerArray, self._markers, topics.CONTROL, rate=lambda: self._marker_rate),
        )

    def change(self, values: dict[str, Any]) -> None:
        """Apply changed parameters."""
        self._status_rate, self._marker_rate = values["status_rate"], values["marker_rate"]
        self._drawn.scale, self._drawn.capsules = values["marker_force_scale"], values["marker_capsules"]

    def _set_point(self, tick: Tick) -> Any:
        controller = self._stage.controller
        chain = controller.arm.chain
        record = CartesianReferenceRecord(tick.stamp, chain.base_frame, *controller.set_point(), controller.axes)
        return cartesian_reference_form(record, chain.tool_frame)

    def _status(self, tick: Tick) -> Any:
        return behavior_status_to_message(tick.stamp, self._stage.controller, self._stage.external)

    def _markers(self, tick: Tick) -> Any:
        return self._drawn.message(tick.stamp, self._stage.external)

    def judge(self) -> Status:
        """Return the status for the newest sample."""
        stage = self._stage
        output, active = stage.controller.output, stage.controller.behaviors
        failures = [f"behavior '{one.spec.name}' has failed: {one.failure}" for one in active if one.failure]
        failures += [f"behavior '{one.spec.name}': {said}" for one in active if (said := one.behavior.complaint())]
        if stage.trouble or failures:
            return ERROR, "; ".join([stage.trouble] if stage.trouble else failures), {}
        if output.held:
            return WARN, f"held: {output.held}", {}
        if output.stalled:
            reason = ", ".join(output.hindered_by) or "nothing that is known"
            return WARN, f"at rest away from the set-point, hindered by: {reason}", {}
        if stage.external is None and stage.wrenches.sensor:
            return WARN, f"no valid wrench of '{stage.wrenches.sensor}': the law works without", {}
        names = ", ".join(one.spec.name for one in active) or "none: the tool is held"
        return OK, f"behaviors: {names}", {}
