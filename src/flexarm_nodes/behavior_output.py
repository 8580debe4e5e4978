"""What behavior_impedance_controller sends: references, the status of its behaviours, markers, diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BehaviorStatus, CartesianReference, JointReference
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes import topics
from flexarm_nodes.arm_node import ArmNode
from flexarm_nodes.behavior_conversions import behavior_status_to_message
from flexarm_nodes.behavior_markers import BehaviorMarkers
from flexarm_nodes.conversions import cartesian_reference_to_message, joint_reference_to_message
from flexarm_nodes.diagnostics import ERROR, OK, WARN

COMPLAINT = 1_000_000_000  # [ns] for which a refusal stays in the diagnostics


class BehaviorOutput:
    """Publishers of the node, one answer for each stamp."""

    def __init__(self, node: ArmNode) -> None:
        """Create the publishers."""
        self._joints = node.create_publisher(JointReference, topics.JOINT_REFERENCE, topics.CONTROL)
        self._tool = node.create_publisher(CartesianReference, topics.CARTESIAN_REFERENCE, topics.CONTROL)
        self._set_point = node.create_publisher(CartesianReference, topics.SET_POINT, topics.CONTROL)
        self._status = node.create_publisher(BehaviorStatus, topics.BEHAVIOR_STATUS, topics.CONTROL)
        self._markers = node.create_publisher(MarkerArray, topics.MARKERS, topics.CONTROL)
        self._diagnostics = node.diagnostics
        self.reset()

    def reset(self) -> None:
        """Forget what was answered."""
        self.answered = -1  # newest stamp that was answered [ns]
        self._last: tuple[JointReference | None, CartesianReference] | None = None
        self._refused, self._refusal = -1, ""
        self._shown = {"status": -1, "markers": -1}

    def bind(self, model: ArmModel, controller: BehaviorImpedanceController, leads: bool, sensor: str) -> None:
        """Serve this arm.

        Args:
            model: of the arm.
            controller: whose outputs are sent.
            leads: whether joint references go out, not the tool's alone.
            sensor: from which a wrench is expected; empty: none is.
        """
        self._sensor = sensor
        self._names, self._controller, self._leads = model.joint_names, controller, leads
        self._place = np.array([model.joint_names.index(name) for name in controller.arm.chain.joint_names])
        self._drawn = BehaviorMarkers(controller)

    def change(self, values: dict[str, Any]) -> None:
        """Take changed parameters."""
        self._rates = {"status": values["status_rate"], "markers": values["marker_rate"]}
        self._drawn.scale, self._drawn.capsules = values["marker_force_scale"], values["marker_capsules"]

    def hold(self, position: Array) -> None:
        """Joints off the chain stay where they are in ``position`` (all joints of the arm) [rad | m]."""
        self._held = position

    def publish(self, stamp: int, wrench: Array | None, trouble: str = "") -> None:
        """Answer a stamp with what the controller came to.

        Args:
            stamp: of the joint state [ns].
            wrench: (6,) that the law used, None where there was no valid one [N, N*m].
            trouble: why the arm is held for something that is wrong; empty: it is not.
        """
        controller = self._controller
        output, solver, chain = controller.output, controller.solver, controller.arm.chain
        joints = None
        if self._leads:
            still = np.zeros(len(self._names))
            wholes = self._held.copy(), still.copy(), still
            for whole, part in zip(wholes, (solver.position, solver.velocity, solver.acceleration), strict=True):
                whole[self._place] = part
            joints = joint_reference_to_message(JointReferenceRecord(stamp, *wholes), self._names)
        tool = cartesian_reference_to_message(
            CartesianReferenceRecord(
                stamp, chain.base_frame, output.position, output.rotation, output.twist, output.acceleration,
                np.array(controller.config.axes, dtype=bool),
            ),
            chain.tool_frame,
        )  # fmt: skip
        self.answered, self._last = stamp, (joints, tool)
        self.repeat(stamp)
        self._publish_set_point(stamp)
        if self._due("status", stamp):
            self._status.publish(behavior_status_to_message(stamp, controller, wrench))
        if self._due("markers", stamp):
            self._markers.publish(self._drawn.message(stamp, wrench))
        self._report(stamp, trouble, wrench is None)

    def _publish_set_point(self, stamp: int) -> None:
        """Where the tool would be without forces, for who compares."""
        if not self._set_point.get_subscription_count():
            return
        axes, chain = np.array(self._controller.config.axes, dtype=bool), self._controller.arm.chain
        record = CartesianReferenceRecord(stamp, chain.base_frame, *self._controller.set_point(), axes)
        self._set_point.publish(cartesian_reference_to_message(record, chain.tool_frame))

    def repeat(self, stamp: int) -> None:
        """A stamp that comes twice is answered twice: the first answer may have been lost."""
        if self._last is None or stamp != self.answered:
            return
        joints, tool = self._last
        self._tool.publish(tool)
        if joints is not None:
            self._joints.publish(joints)

    def _due(self, what: str, stamp: int) -> bool:
        """Whether something that is sent at a rate is to be sent with this sample."""
        rate, last = self._rates[what], self._shown[what]
        if rate <= 0.0 or (last >= 0 and stamp - last < (1.0 - 1e-6) * 1e9 / rate):
            return False
        self._shown[what] = stamp
        return True

    def refuse(self, stamp: int, reason: str) -> None:
        """Say why an input was refused; it is said for a while, whatever else there is to say."""
        self._refused, self._refusal = stamp, reason
        self._diagnostics.report(ERROR, reason, stamp)

    def _report(self, stamp: int, trouble: str, blind: bool) -> None:
        output, active = self._controller.output, self._controller.behaviors
        failures = [f"behaviour '{one.spec.name}' has failed: {one.failure}" for one in active if one.failure]
        if trouble or failures:
            self._diagnostics.report(ERROR, "; ".join([trouble] if trouble else failures), stamp)
        elif self._refused >= 0 and stamp - self._refused <= COMPLAINT:
            self._diagnostics.report(ERROR, self._refusal, stamp)
        elif output.held:
            self._diagnostics.report(WARN, f"held: {output.held}", stamp)
        elif output.stalled:
            reason = ", ".join(output.hindered_by) or "nothing that is known"
            self._diagnostics.report(WARN, f"at rest away from the set-point, hindered by: {reason}", stamp)
        elif blind and self._sensor:
            self._diagnostics.report(WARN, f"no valid wrench of '{self._sensor}': the law works without", stamp)
        else:
            names = ", ".join(one.spec.name for one in active) or "none: the tool is held"
            self._diagnostics.report(OK, f"behaviours: {names}", stamp)
