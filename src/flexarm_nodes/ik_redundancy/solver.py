"""Node ik_redundancy_solver: DECIDE stage, tool poses and paths -> joint references (core: ik_redundancy).

Each joint state results in one joint reference with its stamp. While Cartesian references are streamed, it is the
solution for the Cartesian reference of that stamp; else it is the sample of an action's path, or the joints are brought
to rest and held.
"""

from __future__ import annotations

from typing import Any

from flexarm.action import FollowCartesianPath
from flexarm.srv import SolveIk
from flexarm_core.pipeline.redundancy_stage import RedundancyStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import FlexibleSample
from flexarm_nodes.ik_redundancy.parameters import IK_PARAMETERS
from flexarm_nodes.ik_redundancy.path_follower import PathFollower
from flexarm_nodes.ik_redundancy.service import answer_solve_ik
from flexarm_nodes.ik_redundancy.setup import RedundancySetup, built_redundancy
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.ports import JOINTS, MOTION, STATES, TOOL, Input, Output, Ports, Role, Use
from flexarm_nodes.node.stage_node import StageNode


class IkRedundancySolver(StageNode):
    """Reads Cartesian references, paths and joint states; publishes joint references that respect all limits."""

    NAME = RedundancyStage.name
    HEARS = ("tool",)
    INTEGRATES = True
    PARAMETERS = IK_PARAMETERS
    MASSLESS = True

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        leads = values["output"] == "reference"
        use = Use.NEEDED if values["source"] == "stream" else Use.HEARD
        because = f"source '{values['source']}'" if leads else "output 'trajectory'"
        return Ports(
            (STATES, Input(topics.CARTESIAN_REFERENCE, TOOL, use if leads else Use.IGNORED, because)),
            (
                Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS if leads else Role.SILENT, MOTION),
                Output(topics.REDUNDANCY_STATE, "RedundancyState"),
                Output(topics.CONTROLLER_TRAJECTORY, "JointTrajectory", Role.SILENT if leads else Role.LEADS),
            ),
        )

    def __init__(self) -> None:
        """Create topics, action and service."""
        super().__init__()
        self._setup: RedundancySetup | None = None
        self._follower = PathFollower(self, self.try_again)
        self.create_service(SolveIk, topics.SOLVE_IK, self._on_solve_ik)

    def build_stage(self, values: dict[str, Any], model: ArmModel) -> BuiltStage:
        """Build the solver from parameters; paths of the action lead it."""
        self._setup = setup = RedundancySetup(values, model)
        setup.load_planner()
        self._follower.bind(setup)
        return built_redundancy(setup, model)

    def stop(self) -> None:
        """End the goal; the gate stops the arm when references cease."""
        self._follower.end(FollowCartesianPath.Result.DEACTIVATED, "the node was deactivated")

    def awaited(self, sample: FlexibleSample) -> frozenset[str]:
        """Return what a sample waits for: a path that is planned in lockstep, or the reference of a stream."""
        if self._follower.delays:
            return frozenset({"path"})
        newest = self.newest_stamp("tool")
        return self.stage.needs if self.stage.streams(sample.stamp, newest) else frozenset()

    def refusal(self, name: str) -> str:
        """Return why tool references are not followed at present."""
        refusal: str = self.stage.refusal
        return refusal

    def status(self, tick: Tick) -> tuple[bytes, str, dict[str, str]]:
        """Return what the node does, and what it must give up."""
        remark, status = tick.remarks.get(self.NAME, ""), self.stage.status
        if not remark and status is not None and (status.dropped or status.cut):
            parts = (("dropped", status.dropped), ("cut for limits", status.cut), ("limited", status.limited))
            words = "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)
            remark = f"{self.stage.activity}: {words}"
        return (WARN, remark, {}) if remark else (OK, self.stage.activity, {})

    def _on_solve_ik(self, request: SolveIk.Request, response: SolveIk.Response) -> SolveIk.Response:
        if self._setup is None:
            response.message = "the node is not configured"
            return response
        present = None if self.sample is None else self.sample.position
        return answer_solve_ik(request, self._setup, present)


def main() -> None:
    """Entry point."""
    run(IkRedundancySolver)
