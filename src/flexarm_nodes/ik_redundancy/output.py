"""Publishers of ik_redundancy_solver: joint references or trajectories, redundancy state, diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from flexarm.msg import JointReference, RedundancyState
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.planned_path import PlannedPath
from flexarm_core.ik_redundancy.solver import RedundancySolver, RedundancyStatus
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.conversions import joint_reference_to_message
from flexarm_nodes.messages.path import joint_trajectory_to_message, redundancy_state_to_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN
from flexarm_nodes.references.path_follower import PathSample

WORDS = {
    RedundancyState.HOLDING: "holding",
    RedundancyState.STREAMING: "following references",
    RedundancyState.PLANNING: "planning a path",
    RedundancyState.FOLLOWING: "following a path",
    RedundancyState.STOPPING: "leaving a path",
}


class IkOutput:
    """Publishers of the node; each stamp has one answer.

    Attributes:
        answered: newest stamp that was answered [ns]; -1: none.
        leads: whether the arm is commanded by joint references; else by trajectories for a joint trajectory controller.
        complaint: time for which a rejection stays in the diagnostics [s].
    """

    def __init__(self, node: ArmNode) -> None:
        """Create the publishers."""
        self._node = node
        self._reference: Any = node.lead(None, True)
        self._resolution = node.create_publisher(RedundancyState, topics.REDUNDANCY_STATE, topics.EVERY_SAMPLE)
        self._trajectory = node.create_publisher(JointTrajectory, topics.CONTROLLER_TRAJECTORY, topics.CONTROL)
        self._diagnostics = node.diagnostics
        self.leads, self.complaint = True, 0.0
        self.reset()

    def reset(self) -> None:
        """Discard earlier answers."""
        self.answered = -1
        self._last: JointReference | None = None
        self._refused, self._refusal = -1, ""

    def bind(self, model: ArmModel, chain: Chain, leads: bool) -> None:
        """Use this arm."""
        self._names, self._chain, self.leads = model.joint_names, chain, leads
        self._reference = self._node.lead(self._reference, leads)
        self._place = np.array([model.joint_names.index(name) for name in chain.joint_names])

    def hold(self, position: Array) -> None:
        """Hold joints outside the chain at ``position``, which has all joints of the arm [rad | m]."""
        self._held = position

    def publish(
        self,
        stamp: int,
        joints: RedundancySolver | PathSample,
        activity: int,
        status: RedundancyStatus | None = None,
        fraction: float = 0.0,
    ) -> None:
        """Publish the answer for a stamp.

        Args:
            stamp: stamp of the joint state [ns].
            joints: object with ``position``, ``velocity`` and ``acceleration`` (n,) for the joints of the chain.
            activity: activity of the node, a constant of RedundancyState.
            status: status of the redundancy resolution, if a pose is requested.
            fraction: completed fraction of the path, 0 to 1.
        """
        self.answered = stamp
        if self.leads:
            still = np.zeros(len(self._names))
            wholes = self._held.copy(), still.copy(), still
            for whole, part in zip(wholes, (joints.position, joints.velocity, joints.acceleration), strict=True):
                whole[self._place] = part
            self._last = joint_reference_to_message(JointReferenceRecord(stamp, *wholes), self._names)
            self._reference.publish(self._last)
        if self._resolution.get_subscription_count():
            frame = self._chain.base_frame
            self._resolution.publish(redundancy_state_to_message(stamp, frame, activity, fraction, status))
        self._report(stamp, activity, status)

    def repeat(self, stamp: int) -> None:
        """Publish the last answer again if its stamp is received again: the first answer may have been lost."""
        if self._last is not None and stamp == self.answered:
            self._reference.publish(self._last)

    def publish_trajectory(self, path: PlannedPath, begun: int, start: float, rate: float) -> None:
        """Publish a path to the joint trajectory controller, if that controller commands the arm."""
        if not self.leads:
            names = self._chain.joint_names
            self._trajectory.publish(joint_trajectory_to_message(path, names, begun, rate, start))

    def refuse(self, stamp: int, reason: str) -> None:
        """Report why an input was rejected; the report has priority in the diagnostics for the time ``complaint``."""
        self._refused, self._refusal = stamp, reason
        self._diagnostics.report(ERROR, reason, stamp)

    def _report(self, stamp: int, activity: int, status: RedundancyStatus | None) -> None:
        if self._refused >= 0 and (stamp - self._refused) * 1e-9 <= self.complaint:
            self._diagnostics.report(ERROR, self._refusal, stamp)
        elif status is not None and (status.dropped or status.cut):
            parts = (("dropped", status.dropped), ("cut for limits", status.cut), ("limited", status.limited))
            words = "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)
            self._diagnostics.report(WARN, f"{WORDS[activity]}: {words}", stamp)
        else:
            self._diagnostics.report(OK, WORDS[activity], stamp)
