"""BehaviorReport: publishes status, set-point, markers and diagnostics of the behaviors beside the references."""

from __future__ import annotations

from typing import Any

import numpy as np
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BehaviorStatus, CartesianReference
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_nodes.behavior_impedance.markers import BehaviorMarkers
from flexarm_nodes.messages.behavior import behavior_status_to_message
from flexarm_nodes.messages.conversions import cartesian_reference_to_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN


class BehaviorReport:
    """Publishers for monitoring; a message is only made if its topic has a subscriber."""

    def __init__(self, node: ArmNode, markers: str = topics.MARKERS) -> None:
        """Create the publishers; ``markers`` is the topic of the markers."""
        self._node = node
        self._set_point = node.create_publisher(CartesianReference, topics.SET_POINT, topics.EVERY_SAMPLE)
        self._status = node.create_publisher(BehaviorStatus, topics.BEHAVIOR_STATUS, topics.EVERY_SAMPLE)
        self._markers = node.create_publisher(MarkerArray, markers, topics.CONTROL)
        self.reset()

    def reset(self) -> None:
        """Discard when status and markers were last published."""
        self._shown = {"status": -1, "markers": -1}

    def close(self) -> None:
        """Destroy the publishers."""
        for publisher in (self._set_point, self._status, self._markers):
            self._node.destroy_publisher(publisher)

    def bind(self, stage: BehaviorStage) -> None:
        """Report on this stage."""
        self._stage, self._drawn = stage, BehaviorMarkers(stage.controller)

    def change(self, values: dict[str, Any]) -> None:
        """Apply changed parameters."""
        self._rates = {"status": values["status_rate"], "markers": values["marker_rate"]}
        self._drawn.scale, self._drawn.capsules = values["marker_force_scale"], values["marker_capsules"]

    def publish(self) -> None:
        """Report on the stage's newest sample."""
        stage = self._stage
        stamp, controller, wrench = stage.answered, stage.controller, stage.external
        if self._set_point.get_subscription_count():
            axes, chain = np.array(controller.config.axes, dtype=bool), controller.arm.chain
            record = CartesianReferenceRecord(stamp, chain.base_frame, *controller.set_point(), axes)
            self._set_point.publish(cartesian_reference_to_message(record, chain.tool_frame))
        if self._due("status", stamp) and self._status.get_subscription_count():
            self._status.publish(behavior_status_to_message(stamp, controller, wrench))
        if self._due("markers", stamp) and self._markers.get_subscription_count():
            self._markers.publish(self._drawn.message(stamp, wrench))

    def _due(self, what: str, stamp: int) -> bool:
        """Return whether a message with a limited rate is due at this sample."""
        rate, last = self._rates[what], self._shown[what]
        if rate <= 0.0 or (last >= 0 and stamp - last < (1.0 - 1e-6) * 1e9 / rate):
            return False
        self._shown[what] = stamp
        return True

    def judge(self, refusal: str = "") -> tuple[bytes, str]:
        """Return the diagnostic level and text for the newest sample.

        Args:
            refusal: why an input was rejected recently; empty if none was.
        """
        stage = self._stage
        output, active = stage.controller.output, stage.controller.behaviors
        failures = [f"behavior '{one.spec.name}' has failed: {one.failure}" for one in active if one.failure]
        if stage.trouble or failures:
            return ERROR, "; ".join([stage.trouble] if stage.trouble else failures)
        if refusal:
            return ERROR, refusal
        if output.held:
            return WARN, f"held: {output.held}"
        if output.stalled:
            reason = ", ".join(output.hindered_by) or "nothing that is known"
            return WARN, f"at rest away from the set-point, hindered by: {reason}"
        if stage.external is None and stage.wrenches.sensor:
            return WARN, f"no valid wrench of '{stage.wrenches.sensor}': the law works without"
        names = ", ".join(one.spec.name for one in active) or "none: the tool is held"
        return OK, f"behaviors: {names}"
