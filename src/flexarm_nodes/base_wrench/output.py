"""Publishers of base_wrench_torque_estimator: estimates, joint references, markers, diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BaseWrenchEstimate, JointReference
from flexarm_core.base_wrench.controller import BaseWrenchController
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.types import BaseWrenchEstimate as BaseWrenchEstimateRecord
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.base_wrench.markers import BaseWrenchMarkers
from flexarm_nodes.messages.base_wrench import base_wrench_estimate_to_message
from flexarm_nodes.messages.conversions import joint_reference_to_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN

COMPLAINT = 1_000_000_000  # [ns] time for which a rejection stays in the diagnostics


class BaseWrenchOutput:
    """Publishers of the node: one estimate per joint state and at most one joint reference."""

    def __init__(self, node: ArmNode) -> None:
        """Create the publishers."""
        self._estimates = node.create_publisher(BaseWrenchEstimate, topics.BASE_WRENCH_ESTIMATE, topics.EVERY_SAMPLE)
        self._node = node
        self._references: Any = node.lead(None, True)
        self._markers = node.create_publisher(MarkerArray, topics.MARKERS, topics.CONTROL)
        self._diagnostics = node.diagnostics
        self.reset()

    def reset(self) -> None:
        """Discard what was sent earlier."""
        self._estimate: tuple[int, BaseWrenchEstimate | None] | None = None  # None: no subscriber
        self._reference: tuple[int, JointReference] | None = None
        self._shown: int | None = None  # stamp of the newest markers
        self._complaint: tuple[int, bytes, str] | None = None
        self._leads = False

    def bind(self, controller: BaseWrenchController, bodies: SensedBodies) -> None:
        """Use this arm and sensor."""
        self._controller, self._names, self._frame = controller, controller.model.joint_names, bodies.sensor_frame
        self._drawn = BaseWrenchMarkers(controller.model, bodies.sensor_frame)

    def change(self, values: dict[str, Any]) -> None:
        """Apply changed parameters."""
        self._references = self._node.lead(self._references, values["control"])
        self._reference = self._reference if values["control"] else None
        self._marker_rate, self._drawn.scale = values["marker_rate"], values["marker_scale"]

    @property
    def answered(self) -> int:
        """Stamp of the newest joint reference [ns], -1 before the first."""
        return -1 if self._reference is None else self._reference[0]

    def publish_estimate(self, estimate: BaseWrenchEstimateRecord) -> None:
        """Publish an estimate, and markers if they are due and have a subscriber."""
        if self._estimate is not None:
            self._leads = self.answered == self._estimate[0]
        message = None
        if self._estimates.get_subscription_count():
            message = base_wrench_estimate_to_message(estimate, self._names, self._frame, self._controller.weight)
            self._estimates.publish(message)
        self._estimate = estimate.stamp, message
        if self._marker_rate <= 0.0 or not self._markers.get_subscription_count():
            return
        if self._shown is None or estimate.stamp - self._shown >= (1.0 - 1e-6) * 1e9 / self._marker_rate:
            self._shown = estimate.stamp
            self._markers.publish(self._drawn.message(estimate))

    def publish_reference(self, reference: JointReferenceRecord) -> None:
        """Publish the joint reference of a stamp."""
        self._reference = reference.stamp, joint_reference_to_message(reference, self._names)
        self._references.publish(self._reference[1])

    def repeat(self, stamp: int) -> None:
        """Publish estimate and joint reference again if their stamp is received again: the first may have been lost."""
        if self._estimate is not None and self._estimate[0] == stamp and self._estimate[1] is not None:
            self._estimates.publish(self._estimate[1])
        self.repeat_reference(stamp)

    def repeat_reference(self, stamp: int) -> None:
        """Publish only the joint reference again if it has this stamp."""
        if self._reference is not None and self._reference[0] == stamp:
            self._references.publish(self._reference[1])

    def refuse(self, stamp: int, reason: str, level: bytes = ERROR) -> None:
        """Report why an input was rejected; the report has priority in the diagnostics for a period COMPLAINT."""
        self._complaint = stamp, level, reason
        self._diagnostics.report(level, reason, stamp)

    def report(self, estimate: BaseWrenchEstimateRecord, calibrating: str) -> None:
        """Report the status after a sample.

        Args:
            estimate: estimate of the sample.
            calibrating: text about the running calibration; empty if there is none.
        """
        stamp = estimate.stamp
        values = {
            "correction_weight": f"{self._controller.weight:.3f}",
            "torque_bandwidth": f"{self._controller.config.torque_loop.resolved_bandwidth():.4g} rad/s",
            "contact": "yes" if estimate.contact else "no",
            "bias": " ".join(f"{part:.4g}" for part in estimate.bias),
        }
        if self._complaint is not None and abs(stamp - self._complaint[0]) <= COMPLAINT:
            _, level, message = self._complaint
        elif estimate.left_out:
            level, message = WARN, f"left out: {', '.join(estimate.left_out)}"
        elif np.isnan(estimate.friction).all():
            level, message = WARN, "motor efforts are not known: joint_states report none, and none was commanded here"
        else:
            level, message = OK, calibrating or ("controlling" if self._leads else "estimating")
        self._diagnostics.report(level, message, stamp, values)
