"""Stage reactionless_path_controller: ACT, for velocity-controlled arms; follows a reactionless path or a posture.

Core: ``reaction_null_space.velocity_law`` and ``path_motion``.
"""

from __future__ import annotations

from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.ports import JOINTS, MARKERS, STATES, Output, Ports, Role, base_state_input
from flexarm_nodes.node.stage.kind import StageKind
from flexarm_nodes.reaction_null_space.reactionless_parameters import REACTIONLESS_PARAMETERS, built_reactionless


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses with these parameters."""
    return Ports(
        (STATES, base_state_input(values)),
        (
            Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS, frozenset({"position", "velocity"})),
            Output(topics.DESIRED_JOINT_REFERENCE, JOINTS),
            Output(topics.BASE_REACTION, "BaseReaction"),
            MARKERS,
        ),
    )


KIND = StageKind(
    "reactionless_path_controller", "flexarm", REACTIONLESS_PARAMETERS, built_reactionless, (), ports_of=_ports
)
