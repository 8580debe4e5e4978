"""Node ik_redundancy_solver: DECIDE stage, tool poses and paths -> joint references (core: ik_redundancy).

Each joint state results in one joint reference with its stamp. While Cartesian references are streamed, it is the
solution for the Cartesian reference of that stamp; else it is the sample of an action's path, or the joints are brought
to rest and held.
"""

from __future__ import annotations

from flexarm_core.pipeline.redundancy_stage import RedundancyStage
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.ik_redundancy.parameters import IK_PARAMETERS
from flexarm_nodes.ik_redundancy.stage import built_redundancy
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.ports import JOINTS, MOTION, STATES, TOOL, Input, Output, Ports, Role, Use
from flexarm_nodes.node.stage.node import StageNode


class IkRedundancySolver(StageNode):
    """Reads Cartesian references, paths and joint states; publishes joint references that respect all limits."""

    NAME = RedundancyStage.name
    HEARS = ("tool",)
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

    build_stage = staticmethod(built_redundancy)
