"""Stage ik_redundancy_solver: DECIDE, tool poses and paths -> joint references (core: ik_redundancy).

Each joint state results in one joint reference with its stamp. While Cartesian references are streamed, it is the
solution for the Cartesian reference of that stamp; else it is the sample of an action's path, or the joints are brought
to rest and held.
"""

from __future__ import annotations

from typing import Any

from flexarm.action import FollowCartesianPath
from flexarm.msg import RedundancyState
from flexarm.srv import SolveIk
from flexarm_core.pipeline.redundancy_stage import FOLLOWING, HOLDING, PLANNING, STOPPING, STREAMING
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.ik_redundancy.parameters import IK_PARAMETERS
from flexarm_nodes.ik_redundancy.path_follower import PathFollower
from flexarm_nodes.ik_redundancy.resolution import Resolution
from flexarm_nodes.ik_redundancy.service import answer_solve_ik
from flexarm_nodes.messages.path import redundancy_state_form
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Output, Status, Values, joint_output
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.frames import of_the_arm
from flexarm_nodes.node.interfaces import Interfaces
from flexarm_nodes.node.ports import JOINTS, MOTION, STATES, TOOL, Input, Ports, Role, Use
from flexarm_nodes.node.ports import Output as Port
from flexarm_nodes.node.real_time import background_worker
from flexarm_nodes.node.slow_service import SlowService
from flexarm_nodes.node.stage.kind import StageKind

ACTIVITIES = {
    HOLDING: RedundancyState.HOLDING,
    STREAMING: RedundancyState.STREAMING,
    PLANNING: RedundancyState.PLANNING,
    FOLLOWING: RedundancyState.FOLLOWING,
    STOPPING: RedundancyState.STOPPING,
}


class RedundancyInterfaces(Interfaces):
    """Paths (action) and joint positions of poses (service), each computed by a worker thread."""

    def __init__(self, resolution: Resolution) -> None:
        """Offer the action and the service for this redundancy resolution."""
        self._resolution = resolution
        self._follower: PathFollower | None = None

    @property
    def delays(self) -> bool:
        """Whether samples have to wait until a path is planned."""
        return self._follower is not None and self._follower.delays

    def open(self) -> None:
        """Create action and service, and load their compiled code."""
        self._resolution.load_planner()
        self._worker, self._ik_worker = background_worker("planner"), background_worker("ik")
        self._follower = PathFollower(self, self._resolution, self._worker)
        name = self.name(topics.SOLVE_IK)
        self._service = SlowService(self.node, SolveIk, name, self._ik_worker, self._answer)

    def close(self) -> None:
        """Withdraw action and service."""
        assert self._follower is not None
        self._follower.close()
        self._service.close()
        for worker in (self._worker, self._ik_worker):
            worker.shutdown(wait=False)

    def end(self) -> None:
        """End the goal; the gate stops the arm when references cease."""
        assert self._follower is not None
        self._follower.end(FollowCartesianPath.Result.DEACTIVATED, "the node was deactivated")

    def _answer(self, request: SolveIk.Request) -> SolveIk.Response:
        of_the_arm(request.pose, self.node.frame_prefix)
        return answer_solve_ik(request, self._resolution, self._resolution.stage.measured)


def built_redundancy(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage of the redundancy resolution with its outputs.

    Raises:
        ConfigError: a parameter is invalid for this arm.
    """
    resolution = Resolution(values, model)
    stage = resolution.stage

    def make(tick: Tick) -> Any:
        activity = ACTIVITIES[stage.activity]
        return redundancy_state_form(tick.stamp, model.base_frame, activity, stage.fraction, stage.status)

    def status(tick: Tick) -> Status:
        remark, found = tick.remarks.get(stage.name, ""), stage.status
        if not remark and found is not None and (found.dropped or found.cut):
            parts = (("dropped", found.dropped), ("cut for limits", found.cut), ("limited", found.limited))
            words = "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)
            remark = f"{stage.activity}: {words}"
        return (WARN, remark, {}) if remark else (OK, stage.activity, {})

    def waits(stamp: int, newest: int) -> frozenset[str]:
        return stage.needs if stage.streams(stamp, newest) else frozenset()

    outputs = [Output(topics.REDUNDANCY_STATE, RedundancyState, make)]
    if stage.leads:
        outputs.append(joint_output(stage.name, model))
    return BuiltStage(
        stage,
        resolution.change,
        tuple(outputs),
        interfaces=RedundancyInterfaces(resolution),
        status=status,
        waits=waits,
    )


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses with these parameters."""
    leads = values["output"] == "reference"
    use = Use.NEEDED if values["source"] == "stream" else Use.HEARD
    because = f"source '{values['source']}'" if leads else "output 'trajectory'"
    return Ports(
        (STATES, Input(topics.CARTESIAN_REFERENCE, TOOL, use if leads else Use.IGNORED, because)),
        (
            Port(topics.JOINT_REFERENCE, JOINTS, Role.LEADS if leads else Role.SILENT, MOTION),
            Port(topics.REDUNDANCY_STATE, "RedundancyState"),
            Port(topics.CONTROLLER_TRAJECTORY, "JointTrajectory", Role.SILENT if leads else Role.LEADS),
        ),
    )


KIND = StageKind(
    "ik_redundancy_solver", "flexarm", IK_PARAMETERS, built_redundancy, ("tool",), ports_of=_ports, massless=True
)
